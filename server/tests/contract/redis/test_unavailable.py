"""Redis is unavailable at the start or refuses the login: clear errors, and recovery without a restart."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fixtures.event_recorder import Recorder
from fixtures.loops import eventually, until
from fixtures.redis_cluster import Servers, ask
from fixtures.tcp_relay import relay_to

from tidings.platform.redis.errors import Address, RedisError, ServerError, UnreachableError

Client = Callable[..., Any]
QUICK: dict[str, object] = {"longest_pause_s": 0.1, "timeout_s": 0.5}


async def test_a_server_that_is_unavailable_at_the_start_is_connected_later(
    own_servers: Servers, client: Client
) -> None:
    for node in own_servers.nodes:
        node.kill()
    async with client(own_servers.options, wait=False, **QUICK) as redis:
        key, recorder = redis.keys.key("_system", "gateway-7", "push"), Recorder()
        subscription = redis.subscribe_soon(key, recorder)
        with pytest.raises(UnreachableError) as caught:
            await redis.read("GET", key)
        assert not caught.value.maybe_applied
        health = redis.health()
        assert not health.is_well
        assert "never answered" in health.text
        assert "is not subscribed" in health.text
        await asyncio.to_thread(own_servers.mend)
        await recorder.standing(1)
        assert subscription.is_subscribed
        await until(lambda: redis.health().is_well)
        assert await redis.publish(key, b"x") == 1
        await until(lambda: recorder.payloads == [b"x"])


async def test_with_wait_the_failure_of_the_first_try_is_raised(servers: Servers, client: Client) -> None:
    closed_ports = (Address("127.0.0.1", 1), Address("127.0.0.1", 2))
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:\d: connection refused"):
        async with client(servers.options, seeds=closed_ports, **QUICK):
            raise AssertionError("connected to nobody")


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_calls_fail_immediately_while_the_server_is_unavailable(
    own_servers: Servers, client: Client
) -> None:
    """Also during a long attempt to connect: after a failed attempt, commands do not wait."""
    async with client(own_servers.options, detect_s=0.4, connect_s=0.5, timeout_s=5.0) as redis:
        key = redis.keys.key("acme", "ann", "thing")
        await redis.write("SET", key, 1)
        own_servers.owner(key).freeze()
        await until(lambda: "no answer to the connection" in redis.health().text)
        began = asyncio.get_running_loop().time()
        for _ in range(5):
            with pytest.raises(UnreachableError):
                await redis.read("GET", key)
        assert asyncio.get_running_loop().time() - began < 0.2
        assert "no answer for" in redis.health().text


@pytest.mark.parametrize("servers", ["valkey", "valkey-cluster"], indirect=True)
async def test_a_subscription_fails_immediately_if_its_node_does_not_answer(
    own_servers: Servers, client: Client
) -> None:
    """Only subscriptions of this node fail at once. Waiting for one would block its caller, here for a minute."""
    async with client(own_servers.options, confirm_s=60.0, **QUICK) as redis:
        keys = [redis.keys.key("acme", f"user-{n}", "chat") for n in range(50)]
        stopped = own_servers.owner(keys[0])
        elsewhere = [key for key in keys if own_servers.owner(key) is not stopped]
        assert bool(elsewhere) == own_servers.is_cluster
        stopped.kill()
        await until(lambda: f":{stopped.port}: connection refused" in redis.health().text)
        async with asyncio.timeout(30):
            with pytest.raises(UnreachableError, match="connection refused"):
                await redis.subscribe(keys[0], Recorder())
            for key in elsewhere[:1]:
                assert (await redis.subscribe(key, Recorder())).is_subscribed
        await asyncio.to_thread(own_servers.mend)
        assert (await eventually(lambda: redis.subscribe(keys[0], Recorder()), RedisError)).is_subscribed


@pytest.mark.parametrize("servers", ["valkey", "redis-cluster"], indirect=True)
async def test_a_wrong_is_cluster_is_named(servers: Servers, client: Client) -> None:
    wrong = replace(servers.options, is_cluster=not servers.is_cluster)
    with pytest.raises(UnreachableError, match="is_cluster"):
        async with client(wrong):
            raise AssertionError("took one for the other")


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_a_server_that_closes_after_the_greeting_is_tried_again(
    servers: Servers, client: Client
) -> None:
    async with relay_to(servers.nodes[0].port) as relay:
        relay.hang_ups = 4
        options = replace(servers.options, seeds=(Address("127.0.0.1", relay.port),))
        async with client(options, wait=False, **QUICK) as redis:
            key, recorder = redis.keys.key("acme", "ann", "thing"), Recorder()
            redis.subscribe_soon(key, recorder)
            assert await eventually(lambda: redis.write("SET", key, 1), RedisError) == b"OK"
            await until(lambda: recorder.shape.endswith("S") and relay.hang_ups == 0)
            assert await redis.publish(key, b"x") == 1


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_a_node_that_became_a_replica_is_disconnected_and_connected_by_name_again(
    own_servers: Servers, client: Client
) -> None:
    """The subscription too: a replica passes messages on, but its listeners count for nothing at the primary."""
    async with client(own_servers.options, **QUICK) as redis:
        key, recorder = redis.keys.key("_system", "gateway-7", "push"), Recorder()
        await redis.subscribe(key, recorder)
        ask(own_servers.nodes[0].port, "REPLICAOF", "127.0.0.1", 1)
        with pytest.raises(ServerError) as caught:
            await redis.write("SET", key, 1)
        assert (caught.value.code, caught.value.transient) == ("READONLY", True)
        ask(own_servers.nodes[0].port, "REPLICAOF", "NO", "ONE")  # in place of another machine
        await recorder.standing(2)
        assert recorder.shape == "SLS"
        assert await eventually(lambda: redis.write("SET", key, 2), RedisError) == b"OK"


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_a_command_that_times_out_before_the_connection_does_not_close_it(
    servers: Servers, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Race: commands time out in the turn in which the connection is established. Reconnecting would repeat this."""
    async with client(servers.options, **QUICK) as redis:
        key, recorder = redis.keys.key("_system", "gateway-7", "push"), Recorder()
        await redis.subscribe(key, recorder)
        (link,) = redis._nodes.links()
        with monkeypatch.context() as too_early:
            too_early.setattr(link, "submit", _not_in_time)
            with pytest.raises(UnreachableError):
                await redis.write("SET", key, 1)
        assert link.is_connected
        assert await redis.publish(key, b"x") == 1
        await until(lambda: recorder.shape == "Sm")


def _not_in_time(*_: object) -> None:
    raise UnreachableError("127.0.0.1:6379: not connected in time")
