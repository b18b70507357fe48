"""Gateways recover from lost routes, lost channels and a restart of Redis."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.gateway.test_order import large, small
from fixtures.engines import Namespace
from fixtures.gateway_env import (
    WITHIN_S,
    GatewayEnv,
    HeldMessages,
    InProcessGateway,
    gateway_env_on,
)
from fixtures.loops import until
from fixtures.redis_cluster import Server, binary
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.bus.model import DeviceTarget, ResumeSignal, encode_messages
from tidings.engines.node_plan import PortAllocator
from tidings.gateway import slow_consumer
from tidings.kernel.errors import UnavailableError
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.redis.errors import Address
from tidings.platform.redis.options import RedisOptions
from tidings_wire.close_codes import CloseCode


async def flush(gateways: GatewayEnv) -> None:
    """Delete the routes. Subscriptions stay."""
    redis = gateways.routes._redis
    await redis.write("DEL", redis.keys.key(gateways.use_cases.tenant, BEN, "routes"))


async def test_a_lost_route_is_registered_again_and_its_device_resumes(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await flush(gateways)
    missed = await gateways.say(chat, ANNA, "nobody is found")
    assert gateways.offline_users == [BEN]
    assert missed not in ben.sequences(chat)
    await here.node.leases.renew_all()
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)
    pushed = await gateways.say(chat, ANNA, "by the new route")
    await until(lambda: pushed in ben.sequences(chat), WITHIN_S)
    assert ben.sequences(chat) == list(range(1, pushed + 1))


async def test_the_heartbeat_finds_a_connection_whose_device_is_registered_elsewhere(
    gateways: GatewayEnv,
) -> None:
    await small(gateways)
    one, two = await gateways.gateway(), await gateways.gateway()
    older = await one.live(BEN)
    await two.node._deps.routes.register(two_key := one.device(BEN).key, two.id)
    assert older.closed is None
    await one.node.leases.renew_all()
    await until(lambda: (older.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)
    (route,) = (await two.node._deps.routes.look_up(gateways.use_cases.tenant, [BEN])).found[BEN]
    assert (route.device, route.gateway) == (two_key.device, two.id)


async def test_a_connection_that_lost_its_route_yields_to_a_newer_one(gateways: GatewayEnv) -> None:
    await small(gateways)
    one, two = await gateways.gateway(), await gateways.gateway()
    older = await one.live(BEN)
    device = one.device(BEN)
    await two.node._deps.routes.register(device.key, two.id)
    # The renewal finds the route lost. Before it is registered again, the device connects elsewhere.
    device.is_registered = False
    one.node.resuming.resume_again(device)
    await until(lambda: (older.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)
    (route,) = (await two.node._deps.routes.look_up(gateways.use_cases.tenant, [BEN])).found[BEN]
    assert route.gateway == two.id


async def test_a_range_sent_while_its_device_resumes_again_is_not_sent_twice(
    gateways: GatewayEnv,
) -> None:
    """The range was being read when the route was found missing. It is sent after the resume has read the rows."""
    chat = await small(gateways)
    held, gate = HeldMessages(), asyncio.Event()
    here = await gateways.gateway(held)
    ben = await here.live(BEN)
    await flush(gateways)
    missed = await gateways.say(chat, ANNA, "nobody is found")
    device, ranges = here.device(BEN), here.node.ranges
    honest = ranges._page

    async def late(*given: Any) -> Any:
        found = await honest(*given)
        await gate.wait()
        return found

    ranges._page = late  # type: ignore[method-assign,assignment]
    device.positions[chat.chat].on_push(missed)
    here.node.gap_filler.schedule(device, chat.chat)
    held.step, device.is_registered = "gateway.read", False
    here.node.resuming.resume_again(device)
    await held.reached.wait()
    gate.set()
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)
    held.let_on()
    await until(lambda: device.is_live, WITHIN_S)
    assert ben.sequences(chat) == list(range(1, missed + 1))


async def test_a_range_queued_while_its_device_resumes_again_is_not_sent_twice(
    gateways: GatewayEnv,
) -> None:
    """All range readers are busy, as in a storm. When the gap is read, the resume sends the same range."""
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await flush(gateways)
    missed = await gateways.say(chat, ANNA, "nobody is found")
    device, ranges, gate, senders = here.device(BEN), here.node.ranges, asyncio.Event(), 0
    honest = ranges._sender.range

    async def late(*given: Any) -> None:
        nonlocal senders
        senders += 1
        await gate.wait()
        await honest(*given)

    ranges._sender.range = late  # type: ignore[method-assign,assignment]
    waiting = here.node.gap_filler._queue
    waiting._working = waiting._max_concurrent
    device.positions[chat.chat].on_push(missed)
    here.node.gap_filler.schedule(device, chat.chat)
    device.is_registered = False
    here.node.resuming.resume_again(device)
    await until(lambda: senders == 1, WITHIN_S)
    turn = asyncio.create_task(waiting._run())
    await until(lambda: turn.done() or senders == 2, WITHIN_S)
    gate.set()
    await until(lambda: device.is_live and turn.done(), WITHIN_S)
    assert ben.sequences(chat) == list(range(1, missed + 1))


async def test_a_device_that_disconnects_during_its_resume_does_not_block_the_process(
    gateways: GatewayEnv,
) -> None:
    """Nothing is awaited for a disconnected device, so a loop that waits for its position would block the process."""
    chat = await small(gateways)
    here = await gateways.gateway()
    await here.live(BEN)
    device, ranges, rounds = here.device(BEN), here.node.ranges, 0
    honest = ranges.catch_up

    async def counted(*given: Any) -> None:
        nonlocal rounds
        rounds += 1
        assert rounds < 100, "it goes round and round"
        await honest(*given)

    ranges.catch_up = counted  # type: ignore[method-assign,assignment]
    device.is_gone = True
    device.positions[chat.chat].on_push(10**6)
    await here.node.resuming._replay(device)
    assert rounds == 0


async def test_a_resume_signal_makes_the_device_resume(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await flush(gateways)
    missed = await gateways.say(chat, ANNA)
    device = here.device(BEN)
    ring = ResumeSignal(gateways.use_cases.tenant, BEN, (DeviceTarget(BEN, device.key.device, device.epoch),))
    assert await here.node._deps.bus.publish_to_gateway(here.id, encode_messages((ring,)))
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Server]:
    server = Server(binary("valkey"), tmp_path / "redis", PortAllocator().take(0, "redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def options(own_redis: Server, space: Namespace) -> RedisOptions:
    seeds = (Address("127.0.0.1", own_redis.port),)
    return replace(RedisOptions(seeds=seeds), key_prefix=space.key_prefix, timeout_s=0.5, confirm_s=0.5)


async def test_after_an_outage_of_redis_all_devices_resume_small_and_large_chats(
    own_redis: Server, options: RedisOptions, tables_local: Tables, space: Namespace, tmp_path: Path
) -> None:
    async with open_client(tables_local.url, REGION, tables_local.prefix) as client:
        use_cases = UseCaseEnv(client, space.tenant, tmp_path / "tidings.key")
        async with gateway_env_on(use_cases, options) as gateways:
            one, many = await small(gateways), await large(gateways)
            here = await gateways.gateway()
            ben = await here.live(BEN)
            assert len(here.node.large_chats) == 1
            own_redis.kill()
            missed = [
                await gateways.say(one, ANNA, "while it is away"),
                await gateways.say(many, ANNA, "and here"),
            ]
            own_redis.start()
            await until(lambda: [ben.sequences(chat)[-1] for chat in (one, many)] == missed, WITHIN_S)
            await found_again(here)
            await delivered_again(gateways)
            for chat in (one, many):
                sent = await gateways.say(chat, ANNA, "again")
                await until(lambda c=chat, n=sent: n in ben.sequences(c), WITHIN_S)  # type: ignore[misc]
                got = ben.sequences(chat)
                assert got == list(range(got[0], sent + 1))


async def found_again(here: InProcessGateway) -> None:
    """Renew repeatedly: the connection that registers routes may recover later than the one that receives messages."""
    async with asyncio.timeout(WITHIN_S):
        while not (here.device(BEN).is_registered and here.device(BEN).is_live):
            await here.node.leases.renew_all()
            await asyncio.sleep(0.05)


async def delivered_again(gateways: GatewayEnv) -> None:
    """Wait until the worker's own connection has recovered."""
    async with asyncio.timeout(WITHIN_S):
        while (await gateways.routes.look_up(gateways.use_cases.tenant, [BEN])).unknown:  # noqa: ASYNC110 - Redis reports no event for it
            await asyncio.sleep(0.02)


async def test_an_unconfirmed_channel_of_a_large_chat_does_not_affect_the_route(
    gateways: GatewayEnv,
) -> None:
    """Other chats are pushed by the route as before. This one is compared at each renewal until it is confirmed."""
    one, many = await small(gateways), await large(gateways)
    here = await gateways.gateway()
    subscriber = here.node.large_chats._subscriber

    class Deaf:
        async def subscribe_chat(self, *_: object) -> Any:
            raise UnavailableError("its shard is frozen")

    here.node.large_chats._subscriber = Deaf()  # type: ignore[assignment]
    ben = await here.live(BEN)
    device = here.device(BEN)
    epoch = device.epoch
    assert device.is_registered
    pushed, unheard = await gateways.say(one, ANNA, "by the route"), await gateways.say(many, ANNA, "unheard")
    await until(lambda: pushed in ben.sequences(one), WITHIN_S)
    await here.node.leases.renew_all()
    await until(lambda: unheard in ben.sequences(many), WITHIN_S)
    here.node.large_chats._subscriber = subscriber
    await here.node.leases.renew_all()
    await until(lambda: bool(device.large_chat_channels) and not device.unconfirmed_channels, WITHIN_S)
    delivered = await gateways.say(many, ANNA, "by the channel")
    await until(lambda: delivered in ben.sequences(many), WITHIN_S)
    assert (device.epoch, device.is_registered) == (epoch, True)


async def test_a_device_that_connects_without_redis_is_accepted_and_registered_later(
    own_redis: Server, options: RedisOptions, tables_local: Tables, space: Namespace, tmp_path: Path
) -> None:
    async with open_client(tables_local.url, REGION, tables_local.prefix) as client:
        use_cases = UseCaseEnv(client, space.tenant, tmp_path / "tidings.key")
        async with gateway_env_on(use_cases, options) as gateways:
            one, many = await small(gateways), await large(gateways)
            before = [await gateways.say(one, ANNA), await gateways.say(many, ANNA)]
            own_redis.kill()
            here = await gateways.gateway(waits=False)
            ben = await here.live(BEN)
            assert [ben.sequences(chat)[-1] for chat in (one, many)] == before
            assert not here.device(BEN).is_registered
            missed = await gateways.say(one, ANNA, "not pushed")
            own_redis.start()
            await here.standing()
            await delivered_again(gateways)
            await found_again(here)
            await until(lambda: missed in ben.sequences(one), WITHIN_S)
            for chat in (one, many):
                sent = await gateways.say(chat, ANNA, "pushed")
                await until(lambda c=chat, n=sent: n in ben.sequences(c), WITHIN_S)  # type: ignore[misc]


async def test_entries_wait_while_the_send_buffer_of_the_device_is_full(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    for _ in range(30):
        await gateways.use_cases.send(chat, ANNA, "x" * 3_500)
    await gateways.deliver()
    held = HeldMessages("gateway.read")
    here = await gateways.gateway(held)
    ben = here.open(BEN, epoch=0, positions={chat.chat: 1})
    ben.buffered_bytes = 10**6
    await asyncio.wait_for(held.reached.wait(), WITHIN_S)
    held.let_on()
    for _ in range(20):
        await asyncio.sleep(0.005)
        assert ben.sequences(chat) == []
    ben.buffered_bytes = 0
    await until(lambda: ben.is_resumed, WITHIN_S)
    assert ben.sequences(chat) == list(range(2, 32))
    sizes = [len(str(frame)) for frame in ben.frames]
    assert max(sizes) < 70_000
    assert sum("entries" in frame for frame in ben.frames) == 3


async def test_a_device_that_does_not_read_is_closed_and_resumes_from_its_position(
    gateways: GatewayEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_consumer, "GRACE_S", 0.1)

    chat = await small(gateways)
    sent = await gateways.say(chat, ANNA)
    here = await gateways.gateway()
    ben = here.open(BEN, epoch=0, positions={chat.chat: 1})
    ben.buffered_bytes = 10**6
    await until(lambda: (ben.closed or (0,))[0] == CloseCode.SLOW_CONSUMER, WITHIN_S)
    again = await here.live(BEN, epoch=0, positions={chat.chat: 1})
    assert again.sequences(chat) == [sent]
