"""Commands with an unknown outcome are reported as such, and writes are never repeated."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from fixtures.loops import until
from fixtures.redis_cluster import Servers, ask
from fixtures.tcp_relay import TcpRelay, relay_to

from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import Address, OutcomeUnknownError, RedisError
from tidings.platform.redis.keys import Key

Client = Callable[..., Any]
BUMP = Script.load("fixtures.lua", "bump.lua", keys=2)
one_node = pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)


@asynccontextmanager
async def behind_relay(servers: Servers, client: Client) -> AsyncIterator[tuple[RedisClient, TcpRelay]]:
    async with relay_to(servers.nodes[0].port) as relay:
        options = replace(servers.options, seeds=(Address("127.0.0.1", relay.port),))
        async with client(options, longest_pause_s=0.1) as redis:
            yield redis, relay


def value(servers: Servers, key: Key) -> object:
    return ask(servers.nodes[0].port, "GET", key)


@one_node
async def test_a_write_whose_answer_was_lost_is_not_repeated(servers: Servers, client: Client) -> None:
    async with behind_relay(servers, client) as (redis, relay):
        key = redis.keys.key("acme", "ann", "n")
        assert await redis.write("INCR", key) == 1
        relay.swallows_answers = True
        call = asyncio.create_task(redis.write("INCR", key))
        await until(lambda: value(servers, key) == b"2")
        relay.swallows_answers = False
        relay.cut()
        with pytest.raises(OutcomeUnknownError) as caught:
            await call
        assert (caught.value.maybe_applied, caught.value.is_late) == (True, False)
        assert await redis.write("INCR", key) == 3


@one_node
async def test_a_script_and_a_publication_are_not_repeated_either(servers: Servers, client: Client) -> None:
    async with behind_relay(servers, client) as (redis, relay):
        keys = [redis.keys.key("acme", "ann", kind) for kind in ("sum", "said")]
        await redis.run(BUMP, keys, 1)
        relay.swallows_answers = True
        calls = [
            asyncio.create_task(redis.run(BUMP, keys, 1)),
            asyncio.create_task(redis.publish(keys[0], b"x")),
        ]
        await until(lambda: value(servers, keys[0]) == b"2")
        relay.swallows_answers = False
        relay.cut()
        for call in calls:
            with pytest.raises(OutcomeUnknownError):
                await call
        assert await redis.read("GET", keys[0]) == b"2"


@one_node
async def test_a_read_with_a_lost_answer_is_retried_transparently(servers: Servers, client: Client) -> None:
    async with behind_relay(servers, client) as (redis, relay):
        key = redis.keys.key("acme", "ann", "n")
        await redis.write("SET", key, "here")
        relay.swallows_answers = True
        calls = [asyncio.create_task(redis.read("GET", key)) for _ in range(5)]
        await until(lambda: relay.answers_swallowed)
        relay.swallows_answers = False
        relay.cut()
        assert await asyncio.gather(*calls) == [b"here"] * 5


@one_node
async def test_an_answer_cut_in_the_middle_is_no_answer(servers: Servers, client: Client) -> None:
    async with behind_relay(servers, client) as (redis, relay):
        key = redis.keys.key("acme", "ann", "large")
        await redis.write("SET", key, b"x" * 5_000_000)
        relay.hang_ups = 1  # behind the first piece of the answer, which has dozens
        with pytest.raises(OutcomeUnknownError):
            await redis.write("GETDEL", key, timeout_s=10)
        assert value(servers, key) is None, "it was applied"


async def test_kill_9_in_the_middle_of_a_pipeline(own_servers: Servers, client: Client) -> None:
    """Each call ends, and ends once; none of them was applied more often than it was made."""
    async with client(own_servers.options, longest_pause_s=0.1) as redis:
        keys = [redis.keys.key("acme", f"user-{n}", "n") for n in range(300)]
        await asyncio.gather(*(redis.write("SET", key, 0) for key in keys))
        server = own_servers.owner(keys[0])
        ends: Counter[str] = Counter()

        async def bump(key: Key) -> None:
            for _ in range(20):
                try:
                    ends[type(await redis.write("INCR", key)).__name__] += 1
                except RedisError as error:
                    ends[type(error).__name__] += 1

        bumping = asyncio.gather(*(bump(key) for key in keys))
        await until(lambda: ends["int"] > 500)
        await asyncio.to_thread(server.kill)
        await bumping
        assert ends["OutcomeUnknownError"] > 0
        assert ends["UnreachableError"] > 0
        assert ends.total() == 300 * 20
