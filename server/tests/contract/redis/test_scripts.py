"""Lua by file: found by its hash, sent again to a server that has forgotten it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fixtures.loops import eventually
from fixtures.redis_cluster import Servers, ask

from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import RedisError, ScriptFailedError
from tidings.platform.redis.keys import Key

Client = Callable[..., Any]
BUMP = Script.load("fixtures.lua", "bump.lua", keys=2)
PEEK = Script.load("fixtures.lua", "peek.lua", keys=1, is_read=True)
STUMBLE = Script.load("fixtures.lua", "stumble.lua", keys=1)


def pair(redis: RedisClient, user: str = "ann") -> list[Key]:
    return [redis.keys.key("acme", user, "sum"), redis.keys.key("acme", user, "said")]


def forget_scripts(servers: Servers) -> None:
    for node in servers.nodes:
        ask(node.port, "SCRIPT", "FLUSH", "SYNC")


async def test_a_script_is_atomic_over_the_keys_of_a_user(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        keys = pair(redis)
        assert await redis.run(BUMP, keys, 5) == 5
        assert await redis.run(BUMP, keys, 2) == 7
        assert await redis.read("GET", keys[1]) == b"7"
        assert await redis.run(PEEK, keys[:1]) == b"7"


async def test_a_script_survives_script_flush_also_among_many(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        users = [f"user-{n}" for n in range(100)]
        for round_number in (1, 2):
            forget_scripts(servers)
            sums = await asyncio.gather(*(redis.run(BUMP, pair(redis, user), 1) for user in users))
            assert sums == [round_number] * 100


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_a_script_survives_a_server_that_was_emptied(own_servers: Servers, client: Client) -> None:
    async with client(own_servers.options) as redis:
        keys = pair(redis)
        assert await redis.run(BUMP, keys, 1) == 1
        own_servers.owner(keys[0]).restart()
        own_servers.mend()
        # The first attempts may meet the lost connection, or a node that is not in the cluster yet.
        total = await eventually(lambda: redis.run(BUMP, keys, 1), RedisError)
        assert total == 1  # nothing was kept, and nothing was run twice


async def test_a_failing_script_reports_that_it_may_have_written(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        key = pair(redis)[0]
        with pytest.raises(ScriptFailedError, match=r"stumble\.lua: .*not an integer") as caught:
            await redis.run(STUMBLE, [key])
        assert (caught.value.maybe_applied, caught.value.transient) == (True, False)
        assert await redis.read("GET", key) == b"half"


async def test_a_read_only_script_cannot_write(servers: Servers, client: Client) -> None:
    liar = Script("liar.lua", BUMP.source, 2, is_read=True)
    async with client(servers.options) as redis:
        with pytest.raises(ScriptFailedError, match=r"(?i)write commands are not allowed"):
            await redis.run(liar, pair(redis), 1)
        assert await redis.read("GET", pair(redis)[0]) is None


async def test_the_number_of_keys_is_checked_and_their_slot(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        with pytest.raises(ValueError, match=r"bump\.lua takes 2 keys, not 1"):
            await redis.run(BUMP, pair(redis)[:1], 1)
        with pytest.raises(ValueError, match="one slot"):
            await redis.run(BUMP, [pair(redis, "ann")[0], pair(redis, "bob")[1]], 1)


async def test_a_reading_script_runs_for_many_users_and_survives_script_flush(
    servers: Servers, client: Client
) -> None:
    async with client(servers.options) as redis:
        users = [f"user-{n}" for n in range(100)]
        for n, user in enumerate(users):
            await redis.write("SET", pair(redis, user)[0], n)
        for _ in range(2):
            forget_scripts(servers)
            replies = await redis.run_each(PEEK, [pair(redis, user)[:1] for user in users])
            assert replies == [str(n).encode() for n in range(100)]


async def test_one_failing_run_of_many_leaves_the_others(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        good, bad = pair(redis, "ann")[0], pair(redis, "bob")[0]
        await redis.write("SET", good, 1)
        await redis.write("HSET", bad, "field", 1)
        first, second = await redis.run_each(PEEK, [[bad], [good]])
        assert isinstance(first, ScriptFailedError)
        assert second == b"1"


async def test_a_cancelled_caller_of_many_runs_leaves_the_connection_in_order(
    servers: Servers, client: Client
) -> None:
    async with client(servers.options) as redis:
        key = pair(redis)[0]
        await redis.write("SET", key, 1)
        task = asyncio.create_task(redis.run_each(PEEK, [[key]] * 50))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await redis.run(PEEK, [key]) == b"1"


async def test_a_script_that_writes_does_not_run_for_many(servers: Servers, client: Client) -> None:
    async with client(servers.options) as redis:
        with pytest.raises(ValueError, match=r"bump\.lua writes"):
            await redis.run_each(BUMP, [pair(redis)])
