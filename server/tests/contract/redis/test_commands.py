"""Commands and their answers, on Valkey and Redis, one node and a cluster of three."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fixtures.loops import until
from fixtures.redis_cluster import Servers, ask

from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import OutcomeUnknownError, OverloadedError, ServerError
from tidings.platform.redis.keys import Key

Client = Callable[..., Any]
MGET = Script("mget", "return redis.call('MGET', unpack(KEYS))", 2, is_read=True)


def own(redis: RedisClient, user: object = "ann", kind: str = "thing") -> Key:
    return redis.keys.key("acme", str(user), kind)


async def test_a_written_value_is_read(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        key = own(redis)
        assert await redis.read("GET", key) is None
        assert await redis.write("SET", key, b"\x00\xff", "EX", 60) == b"OK"
        assert await redis.read("GET", key) == b"\x00\xff"
        assert await redis.write("DEL", key) == 1
        assert await redis.write("HSET", key, "a", 1, "b", 2.5) == 2
        assert await redis.read("HGETALL", key) == {b"a": b"1", b"b": b"2.5"}


async def test_each_of_a_thousand_concurrent_calls_gets_its_own_answer(
    servers: Servers, client: Client
) -> None:
    # The default time limit is for production. Tests run in parallel on two cores.
    async with client(servers.options, timeout_s=10.0) as redis:
        users = range(1000)
        await asyncio.gather(*(redis.write("SET", own(redis, user), user) for user in users))
        answers = await asyncio.gather(*(redis.read("GET", own(redis, user)) for user in users))
    assert answers == [b"%d" % user for user in users]


async def test_the_commands_of_one_turn_of_the_loop_leave_together(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        key = own(redis)
        port = servers.owner(key).port
        await redis.read("GET", key)
        before = reads_of(port)
        await asyncio.gather(*(redis.write("INCR", key) for _ in range(200)))
        # a few more: pings, and the questions of this test
        assert reads_of(port) - before < 20


def reads_of(port: int) -> int:
    stats = ask(port, "INFO", "stats")
    assert isinstance(stats, bytes)
    return int(
        next(line for line in stats.split() if line.startswith(b"total_reads_processed:")).partition(b":")[2]
    )


async def test_a_cancelled_call_does_not_disturb_the_others(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        key = own(redis)
        await redis.read("LLEN", key)  # connected: what is taken now is written in the next turn
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(redis.write("RPUSH", key, n)) for n in range(300)]
            await asyncio.sleep(0)  # all are taken
            await asyncio.sleep(0)  # all are written
            for task in tasks[::3]:
                task.cancel()
        for n, task in enumerate(tasks):
            assert task.cancelled() if n % 3 == 0 else task.result() == n + 1
        assert await redis.read("LLEN", key) == 300


async def test_a_late_answer_is_an_error_and_the_next_call_gets_its_own(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options, detect_s=20.0) as redis:
        key = own(redis)
        await redis.write("SET", key, 0)
        server = own_servers.owner(key)
        server.freeze()
        with pytest.raises(OutcomeUnknownError, match="no answer in time") as caught:
            await redis.write("INCR", key, timeout_s=0.1)
        server.thaw()
        assert (caught.value.is_late, caught.value.maybe_applied) == (True, True)
        assert await redis.write("INCR", key, timeout_s=5) == 2


async def test_beyond_the_bound_a_call_is_refused_and_the_rest_are_answered(
    servers: Servers, client: Client
) -> None:
    async with client(servers.options, max_commands=10) as redis:
        key = own(redis)
        await redis.read("GET", key)
        outcomes = await asyncio.gather(
            *(redis.write("INCR", key) for _ in range(20)), return_exceptions=True
        )
        done = [outcome for outcome in outcomes if isinstance(outcome, int)]
        refused = [outcome for outcome in outcomes if isinstance(outcome, OverloadedError)]
        assert len(done) + len(refused) == 20
        assert 8 <= len(done) <= 10  # a ping may have its place among them
        assert await redis.read("GET", key) == b"%d" % len(done)


async def test_bytes_in_flight_are_bounded_too(servers: Servers, client: Client) -> None:
    async with client(servers.options, max_bytes=100_000) as redis:
        key = own(redis)
        calls = (redis.write("SET", key, b"x" * 60_000) for _ in range(10))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [bytes, bytes, *[OverloadedError] * 8]
        assert await redis.write("SET", key, b"small") == b"OK"


async def test_an_error_contains_the_code_of_the_server(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        key = own(redis)
        await redis.write("SET", key, "text")
        with pytest.raises(ServerError) as caught:
            await redis.write("LPUSH", key, "x")
        assert (caught.value.code, caught.value.transient, caught.value.maybe_applied) == (
            "WRONGTYPE",
            False,
            False,
        )
        with pytest.raises(ServerError, match="ERR unknown command"):
            await redis.write("NONSENSE", key)
        assert await redis.read("GET", key) == b"text"


async def test_several_keys_of_one_user_go_in_one_call(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        keys = [own(redis, "ann", kind) for kind in ("a", "b")]
        await asyncio.gather(*(redis.write("SET", key, n) for n, key in enumerate(keys)))
        assert await redis.run(MGET, keys) == [b"0", b"1"]


async def test_keys_of_two_users_in_one_call_are_a_mistake_on_one_node_too(
    servers: Servers, client: Client
) -> None:
    async with client(servers.options) as redis:
        with pytest.raises(ValueError, match="one slot"):
            await redis.run(MGET, [own(redis, "ann"), own(redis, "bob")])


async def test_the_connection_bears_our_name(servers: Servers, client: Client) -> None:
    async with client(servers.options, client_name="tidings-gateway-7") as redis:
        await redis.read("GET", own(redis))
        listed = ask(servers.owner(own(redis)).port, "CLIENT", "LIST")
        assert isinstance(listed, bytes)
        assert b"name=tidings-gateway-7 " in listed
        await until(lambda: redis.health().is_well)
        assert redis.health().text == "answers"
