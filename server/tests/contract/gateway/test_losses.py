"""What Redis forgets or does not hear is found again: routes, channels, and Redis itself."""

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
    RunGateways,
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
from tidings.wire.close_codes import CloseCode


async def flush(post: GatewayEnv) -> None:
    """Every route is gone; those who are subscribed stay so."""
    redis = post.routes._redis
    await redis.write("DEL", redis.keys.key(post.stage.tenant, BEN, "routes"))


def test_a_route_that_is_gone_is_made_anew_and_its_device_resumes(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        await flush(post)
        missed = await post.say(chat, ANNA, "nobody is found")
        assert post.offline_users == [BEN]
        assert missed not in ben.sequences(chat)
        await here.routed.leases.renew_all()
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)
        pushed = await post.say(chat, ANNA, "by the new route")
        await until(lambda: pushed in ben.sequences(chat), WITHIN_S)
        assert ben.sequences(chat) == list(range(1, pushed + 1))

    play_post(scene)


def test_a_socket_whose_device_is_elsewhere_is_found_by_the_heartbeat(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        await small(post)
        one, two = await post.gateway(), await post.gateway()
        older = await one.live(BEN)
        await two.routed._deps.routes.register(two_key := one.seat(BEN).key, two.id)
        assert older.closed is None
        await one.routed.leases.renew_all()
        await until(lambda: (older.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)
        (route,) = (await two.routed._deps.routes.look_up(post.stage.tenant, [BEN])).found[BEN]
        assert (route.device, route.gateway) == (two_key.device, two.id)

    play_post(scene)


def test_who_lost_his_route_and_finds_a_newer_one_yields(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        await small(post)
        one, two = await post.gateway(), await post.gateway()
        older = await one.live(BEN)
        seat = one.seat(BEN)
        await two.routed._deps.routes.register(seat.key, two.id)
        # a heartbeat has found it gone; before it is made anew the device came in elsewhere
        seat.is_registered = False
        one.routed.resuming.resume_again(seat)
        await until(lambda: (older.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)
        (route,) = (await two.routed._deps.routes.look_up(post.stage.tenant, [BEN])).found[BEN]
        assert route.gateway == two.id

    play_post(scene)


def test_a_range_that_is_sent_while_its_device_resumes_again_is_not_sent_twice(
    play_post: RunGateways,
) -> None:
    """The range was being read when the route was found gone; it is sent after the resume has read the rows."""

    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        held, gate = HeldMessages(), asyncio.Event()
        here = await post.gateway(held)
        ben = await here.live(BEN)
        await flush(post)
        missed = await post.say(chat, ANNA, "nobody is found")
        seat, ranges = here.seat(BEN), here.routed.ranges
        honest = ranges._page

        async def late(*given: Any) -> Any:
            found = await honest(*given)
            await gate.wait()
            return found

        ranges._page = late  # type: ignore[method-assign,assignment]
        seat.positions[chat.chat].on_push(missed)
        here.routed.gap_filler.schedule(seat, chat.chat)
        held.step, seat.is_registered = "gateway.read", False
        here.routed.resuming.resume_again(seat)
        await held.reached.wait()
        gate.set()
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)
        held.let_on()
        await until(lambda: seat.is_live, WITHIN_S)
        assert ben.sequences(chat) == list(range(1, missed + 1))

    play_post(scene)


def test_a_range_that_waits_its_turn_while_its_device_resumes_again_is_not_sent_twice(
    play_post: RunGateways,
) -> None:
    """Everybody who reads ranges is busy, as in a storm. When its turn comes, the resume is at the same range."""

    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        await flush(post)
        missed = await post.say(chat, ANNA, "nobody is found")
        seat, ranges, gate, senders = here.seat(BEN), here.routed.ranges, asyncio.Event(), 0
        honest = ranges._sender.range

        async def late(*given: Any) -> None:
            nonlocal senders
            senders += 1
            await gate.wait()
            await honest(*given)

        ranges._sender.range = late  # type: ignore[method-assign,assignment]
        waiting = here.routed.gap_filler._queue
        waiting._working = waiting._max_concurrent
        seat.positions[chat.chat].on_push(missed)
        here.routed.gap_filler.schedule(seat, chat.chat)
        seat.is_registered = False
        here.routed.resuming.resume_again(seat)
        await until(lambda: senders == 1, WITHIN_S)
        turn = asyncio.create_task(waiting._run())
        await until(lambda: turn.done() or senders == 2, WITHIN_S)
        gate.set()
        await until(lambda: seat.is_live and turn.done(), WITHIN_S)
        assert ben.sequences(chat) == list(range(1, missed + 1))

    play_post(scene)


def test_a_device_that_goes_while_it_resumes_and_is_behind_holds_nobody_up(play_post: RunGateways) -> None:
    """Nothing is awaited for who is gone: a loop that waits for him to catch up would be the process's last."""

    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        await here.live(BEN)
        seat, ranges, rounds = here.seat(BEN), here.routed.ranges, 0
        honest = ranges.catch_up

        async def counted(*given: Any) -> None:
            nonlocal rounds
            rounds += 1
            assert rounds < 100, "it goes round and round"
            await honest(*given)

        ranges.catch_up = counted  # type: ignore[method-assign,assignment]
        seat.is_gone = True
        seat.positions[chat.chat].on_push(10**6)
        await here.routed.resuming._replay(seat)
        assert rounds == 0

    play_post(scene)


def test_who_is_rung_for_resumes(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        await flush(post)
        missed = await post.say(chat, ANNA)
        seat = here.seat(BEN)
        ring = ResumeSignal(post.stage.tenant, BEN, (DeviceTarget(BEN, seat.key.device, seat.epoch),))
        assert await here.routed._deps.bus.publish_to_gateway(here.id, encode_messages((ring,)))
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)

    play_post(scene)


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


async def test_when_redis_was_away_everybody_resumes_small_chats_and_large(
    own_redis: Server, options: RedisOptions, tables_local: Tables, space: Namespace, tmp_path: Path
) -> None:
    async with open_client(tables_local.url, REGION, tables_local.prefix) as client:
        stage = UseCaseEnv(client, space.tenant, tmp_path / "tidings.key")
        async with gateway_env_on(stage, options) as post:
            one, many = await small(post), await large(post)
            here = await post.gateway()
            ben = await here.live(BEN)
            assert len(here.routed.large_chats) == 1
            own_redis.kill()
            missed = [await post.say(one, ANNA, "while it is away"), await post.say(many, ANNA, "and here")]
            own_redis.start()
            await until(lambda: [ben.sequences(chat)[-1] for chat in (one, many)] == missed, WITHIN_S)
            await found_again(here)
            await delivered_again(post)
            for chat in (one, many):
                sent = await post.say(chat, ANNA, "again")
                await until(lambda c=chat, n=sent: n in ben.sequences(c), WITHIN_S)  # type: ignore[misc]
                got = ben.sequences(chat)
                assert got == list(range(got[0], sent + 1))


async def found_again(here: InProcessGateway) -> None:
    """By its heartbeat, which beats on: the connection that registers routes may stand later than the one that hears."""
    async with asyncio.timeout(WITHIN_S):
        while not (here.seat(BEN).is_registered and here.seat(BEN).is_live):
            await here.routed.leases.renew_all()
            await asyncio.sleep(0.05)


async def delivered_again(post: GatewayEnv) -> None:
    """The worker's own connection stands again too."""
    async with asyncio.timeout(WITHIN_S):
        while (await post.routes.look_up(post.stage.tenant, [BEN])).unknown:  # noqa: ASYNC110 - Redis reports no event for it
            await asyncio.sleep(0.02)


def test_a_large_chat_whose_channel_can_not_be_heard_leaves_the_route_alone(play_post: RunGateways) -> None:
    """Other chats come by the route as before; this one is compared at each heartbeat until it is heard."""

    async def scene(post: GatewayEnv) -> None:
        one, many = await small(post), await large(post)
        here = await post.gateway()
        ears = here.routed.large_chats._subscriber

        class Deaf:
            async def subscribe_chat(self, *_: object) -> Any:
                raise UnavailableError("its shard is frozen")

        here.routed.large_chats._subscriber = Deaf()  # type: ignore[assignment]
        ben = await here.live(BEN)
        seat = here.seat(BEN)
        epoch = seat.epoch
        assert seat.is_registered
        pushed, unheard = await post.say(one, ANNA, "by the route"), await post.say(many, ANNA, "unheard")
        await until(lambda: pushed in ben.sequences(one), WITHIN_S)
        await here.routed.leases.renew_all()
        await until(lambda: unheard in ben.sequences(many), WITHIN_S)
        here.routed.large_chats._subscriber = ears
        await here.routed.leases.renew_all()
        await until(lambda: bool(seat.large_chat_channels) and not seat.unconfirmed_channels, WITHIN_S)
        heard = await post.say(many, ANNA, "by the channel")
        await until(lambda: heard in ben.sequences(many), WITHIN_S)
        assert (seat.epoch, seat.is_registered) == (epoch, True)

    play_post(scene)


async def test_who_comes_while_redis_is_away_is_let_in_and_routed_later(
    own_redis: Server, options: RedisOptions, tables_local: Tables, space: Namespace, tmp_path: Path
) -> None:
    async with open_client(tables_local.url, REGION, tables_local.prefix) as client:
        stage = UseCaseEnv(client, space.tenant, tmp_path / "tidings.key")
        async with gateway_env_on(stage, options) as post:
            one, many = await small(post), await large(post)
            before = [await post.say(one, ANNA), await post.say(many, ANNA)]
            own_redis.kill()
            here = await post.gateway(waits=False)
            ben = await here.live(BEN)
            assert [ben.sequences(chat)[-1] for chat in (one, many)] == before
            assert not here.seat(BEN).is_registered
            missed = await post.say(one, ANNA, "not pushed")
            own_redis.start()
            await here.standing()
            await delivered_again(post)
            await found_again(here)
            await until(lambda: missed in ben.sequences(one), WITHIN_S)
            for chat in (one, many):
                sent = await post.say(chat, ANNA, "pushed")
                await until(lambda c=chat, n=sent: n in ben.sequences(c), WITHIN_S)  # type: ignore[misc]


def test_a_device_that_reads_slowly_is_not_read_for(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        for _ in range(30):
            await post.stage.send(chat, ANNA, "x" * 3_500)
        await post.deliver()
        held = HeldMessages("gateway.read")
        here = await post.gateway(held)
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

    play_post(scene)


def test_a_device_that_takes_nothing_is_closed_and_resumes_where_it_is(
    play_post: RunGateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_consumer, "GRACE_S", 0.1)

    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        sent = await post.say(chat, ANNA)
        here = await post.gateway()
        ben = here.open(BEN, epoch=0, positions={chat.chat: 1})
        ben.buffered_bytes = 10**6
        await until(lambda: (ben.closed or (0,))[0] == CloseCode.SLOW_CONSUMER, WITHIN_S)
        again = await here.live(BEN, epoch=0, positions={chat.chat: 1})
        assert again.sequences(chat) == [sent]

    play_post(scene)
