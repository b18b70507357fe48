"""Lost subscriptions are reported at once, once and in order, and no message is lost unreported."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fixtures.event_recorder import Recorder, vanished
from fixtures.loops import eventually, until
from fixtures.publisher import Publisher
from fixtures.redis_cluster import Servers, ask, move_slot, node_id
from fixtures.tcp_relay import relay_to

from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import Address, RedisError
from tidings.platform.redis.keys import Key, slot

Client = Callable[..., Any]
QUICK: dict[str, object] = {"detect_s": 0.6, "connect_s": 0.5, "longest_pause_s": 0.2, "timeout_s": 0.5}
SLACK_S = 0.5
"""Tolerance for a busy machine."""


def channel(redis: RedisClient) -> Key:
    return redis.keys.key("_system", "gateway-7", "push")


async def test_a_killed_server_is_reported_once_and_the_subscription_recovers(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options, **QUICK) as redis:
        name, recorder = channel(redis), Recorder()
        await redis.subscribe(name, recorder)
        assert await redis.publish(name, b"1") == 1
        await until(lambda: recorder.payloads == [b"1"])
        server = own_servers.owner(name)
        killed_at = asyncio.get_running_loop().time()
        server.kill()
        await recorder.lost(1)
        assert recorder.losses[0].since <= killed_at
        server.restart()
        await recorder.standing(2)
        assert recorder.standings[1].lost_since == recorder.losses[0].since
        assert await eventually_published(redis, name, b"2") == 1
        await until(lambda: recorder.payloads == [b"1", b"2"])
        assert recorder.shape == "SmLSm"


async def eventually_published(redis: RedisClient, name: Key, payload: bytes) -> int:
    """As soon as the server takes it."""
    return await eventually(lambda: redis.publish(name, payload), RedisError)


async def test_a_frozen_server_is_noticed_within_the_bound(own_servers: Servers, client: Client) -> None:
    async with client(own_servers.options, **QUICK) as redis:
        name, recorder = channel(redis), Recorder()
        await redis.subscribe(name, recorder)
        server = own_servers.owner(name)
        frozen_at = asyncio.get_running_loop().time()
        server.freeze()
        took_s = await recorder.lost(1)
        assert took_s < 0.6 + SLACK_S
        assert recorder.losses[0].since <= frozen_at
        assert "no answer for" in recorder.losses[0].reason
        assert "no answer for" in redis.health().text
        server.thaw()
        await recorder.standing(2)
        assert recorder.shape == "SLS"


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_a_half_open_connection_is_noticed_within_the_bound(
    own_servers: Servers, client: Client
) -> None:
    async with relay_to(own_servers.nodes[0].port) as relay:
        options = replace(own_servers.options, seeds=(Address("127.0.0.1", relay.port),))
        async with client(options, **QUICK) as redis:
            recorder = Recorder()
            await redis.subscribe(channel(redis), recorder)
            relay.is_deaf = True
            assert await recorder.lost(1) < 0.6 + SLACK_S
            relay.is_deaf = False
            relay.cut()
            await recorder.standing(2)
            assert recorder.shape == "SLS"


async def test_an_idle_server_that_answers_is_never_lost(servers: Servers, client: Client) -> None:
    async with client(servers.options, detect_s=0.3) as redis:
        recorder = Recorder()
        await redis.subscribe(channel(redis), recorder)
        proofs = set()
        link = redis._subscriptions.listeners()[0].link

        def proven_thrice() -> bool:
            proofs.add(link.last_pong_at)
            return len(proofs) > 3

        await until(proven_thrice)
        assert recorder.shape == "S"


async def test_a_connection_that_the_server_closes_is_a_loss(own_servers: Servers, client: Client) -> None:
    async with client(own_servers.options, **QUICK) as redis:
        name, recorder = channel(redis), Recorder()
        await redis.subscribe(name, recorder)
        for times in (1, 2, 3):
            ask(own_servers.owner(name).port, "CLIENT", "KILL", "TYPE", "pubsub")
            await recorder.lost(times)
            await recorder.standing(times + 1)
        assert recorder.shape == "SLSLSLS"


@pytest.mark.parametrize("servers", ["valkey-cluster", "redis-cluster"], indirect=True)
async def test_a_slot_that_moves_is_a_loss_and_the_subscription_follows(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options, **QUICK) as redis:
        name, recorder = channel(redis), Recorder()
        await redis.subscribe(name, recorder)
        for times in (1, 2):
            source = own_servers.owner(name)
            target = own_servers.other(source)
            move_slot(slot(name), source.port, target.port, own_servers)
            await recorder.standing(times + 1)
            assert await redis.publish(name, b"%d" % times) == 1
            await until(lambda: len(recorder.payloads) == times)  # noqa: B023 - awaited in this round
        assert recorder.shape == "SLSmLSm"
        assert "slot has moved" in recorder.losses[0].reason


@pytest.mark.parametrize("servers", ["valkey-cluster"], indirect=True)
async def test_a_slot_that_valkey_moves_by_itself_is_a_loss_too(own_servers: Servers, client: Client) -> None:
    """Valkey's own, atomic way to move slots."""
    async with client(own_servers.options, **QUICK) as redis:
        name, recorder = channel(redis), Recorder()
        await redis.subscribe(name, recorder)
        source = own_servers.owner(name)
        target = node_id(own_servers.other(source).port)
        ask(source.port, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot(name), slot(name), "NODE", target)
        await recorder.standing(2)
        assert await redis.publish(name, b"x") == 1
        await until(lambda: recorder.payloads == [b"x"])
        assert recorder.shape == "SLSm"


async def kill_and_restart(servers: Servers, name: Key, recorder: Recorder) -> None:
    del recorder
    server = servers.owner(name)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.restart)


async def freeze_and_thaw(servers: Servers, name: Key, recorder: Recorder) -> None:
    server = servers.owner(name)
    server.freeze()
    await recorder.lost(len(recorder.losses) + 1)
    server.thaw()


async def close_the_connection(servers: Servers, name: Key, recorder: Recorder) -> None:
    for _ in range(5):
        losses, standings = len(recorder.losses), len(recorder.standings)
        ask(servers.owner(name).port, "CLIENT", "KILL", "TYPE", "pubsub")
        await recorder.lost(losses + 1)
        await recorder.standing(standings + 1)


async def move_away(servers: Servers, name: Key, recorder: Recorder) -> None:
    del recorder
    if servers.is_cluster:
        source = servers.owner(name)
        await asyncio.to_thread(move_slot, slot(name), source.port, servers.other(source).port, servers)


@pytest.mark.parametrize("fault", [kill_and_restart, freeze_and_thaw, close_the_connection, move_away])
async def test_each_message_reported_as_received_arrives_or_is_covered_by_a_loss(
    own_servers: Servers, client: Client, fault: Callable[[Servers, Key, Recorder], Any]
) -> None:
    """The guarantee that delivery depends on. Messages with one receiver are compared with the received ones."""
    async with (
        client(own_servers.options, **QUICK) as gateway,
        client(own_servers.options, **QUICK) as worker,
    ):
        name, recorder = channel(gateway), Recorder()
        await gateway.subscribe(name, recorder)
        async with Publisher(worker, name) as publisher:
            for _ in range(2):
                await publisher.more()
                await fault(own_servers, name, recorder)
            await publisher.more()
        await publisher.last(recorder)
    assert vanished(publisher.published, recorder.events) == []
    assert recorder.payloads == sorted(recorder.payloads, key=int)
    assert recorder.losses or (fault is move_away and not own_servers.is_cluster)
    assert "LL" not in recorder.shape.replace("m", "")


@pytest.mark.parametrize("servers", ["valkey", "redis"], indirect=True)
async def test_messages_lost_in_a_half_open_connection_are_covered_by_the_loss(
    own_servers: Servers, client: Client
) -> None:
    """The hardest case: the server counts a listener, and every message goes nowhere."""
    async with relay_to(own_servers.nodes[0].port) as relay:
        deaf = replace(own_servers.options, seeds=(Address("127.0.0.1", relay.port),))
        async with client(deaf, **QUICK) as gateway, client(own_servers.options, **QUICK) as worker:
            name, recorder = channel(gateway), Recorder()
            await gateway.subscribe(name, recorder)
            async with Publisher(worker, name) as publisher:
                await publisher.more()
                relay.is_deaf = True
                await publisher.more()
                await recorder.lost(1)
                relay.is_deaf = False
                relay.cut()
                await recorder.standing(2)
                await publisher.more()
            await publisher.last(recorder)
    missing = {b"%d" % number for number in publisher.published} - set(recorder.payloads)
    assert len(missing) >= 50  # or the fault was none
    assert vanished(publisher.published, recorder.events) == []
    assert recorder.shape == "SmLSm"
