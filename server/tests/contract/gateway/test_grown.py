"""A chat that became large, and who hears of it late."""

import asyncio
from typing import Any

import pytest
from contract.gateway.test_order import MANY, large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages, RunGateways
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.bus.model import DeviceTarget, Push, PushSlice
from tidings.bus.ports import BusHandler, Subscription
from tidings.gateway.fanout import dispatcher, large_chats
from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey


def test_who_was_taken_out_does_not_listen_when_he_hears_late_that_the_chat_became_large(
    play_post: RunGateways,
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await post.stage.group(BEN, CLEO, *MANY[:60])
        await post.deliver()
        here = await post.gateway()
        ben, cleo = await here.live(BEN), await here.live(CLEO)
        await post.stage.manage.add(chat, by(ANNA), MANY[60:])
        await post.stage.manage.remove(chat, by(ANNA), CLEO)
        await post.deliver()
        await until(lambda: cleo.sequences(chat)[-1:] == [3], WITHIN_S)
        seat = here.seat(CLEO)
        (grown,) = await post.stage.reader.range(chat, 1, 2, 1, newest_first=False)
        part = PushSlice(2, 2, (DeviceTarget(CLEO, seat.key.device, seat.epoch),))
        here.routed.dispatcher.submit(Push(chat.tenant, chat.chat, (grown,), (part,), is_large=True))
        said = await post.say(chat, ANNA, "not for cleo")
        await until(lambda: ben.sequences(chat)[-1:] == [said], WITHIN_S)
        await here.routed._joins.wait_idle(WITHIN_S)
        assert chat.chat not in seat.large_chat_channels
        assert cleo.sequences(chat)[-1] == 3

    play_post(scene)


def test_a_channel_that_comes_back_during_a_first_resume_is_made_up_for(play_post: RunGateways) -> None:
    """The device reads the head, then an entry is published that nobody hears, then the channel is back."""

    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        held = HeldMessages("gateway.read")
        here = await post.gateway(held)
        ben = here.open(BEN)
        await asyncio.wait_for(held.reached.wait(), WITHIN_S)
        unheard: Any = lambda *_: None  # noqa: E731 - one line says it
        here.routed.large_chats._on_message = unheard
        missed = await post.say(chat, ANNA, "unheard")
        room = here.routed.large_chats._channels[chat]
        here.routed.on_missed(room)
        await until(lambda: not len(here.routed._missed), WITHIN_S)
        held.let_on()
        await until(lambda: ben.is_resumed, WITHIN_S)
        assert ben.sequences(chat)[-1] == missed

    play_post(scene)


def test_a_channel_that_is_not_confirmed_holds_nobody_up_and_is_made_up_for(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        here = await post.gateway(resume=ResumeOptions(at_once=1))
        ears, confirmed = here.routed.large_chats._subscriber, asyncio.Event()

        class Late:
            async def subscribe_chat(self, key: ChatKey, hear: BusHandler) -> Subscription:
                await confirmed.wait()
                return await ears.subscribe_chat(key, hear)

        here.routed.large_chats._subscriber = Late()  # type: ignore[assignment]
        ben = await here.live(BEN)
        assert here.seat(BEN).is_registered
        missed = await post.say(chat, ANNA, "before it is confirmed")
        assert missed not in ben.sequences(chat)
        confirmed.set()
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)
        heard = await post.say(chat, ANNA, "and after it")
        await until(lambda: heard in ben.sequences(chat), WITHIN_S)

    play_post(scene)


def test_a_channel_that_is_not_confirmed_leaves_other_large_chats_alone(
    play_post: RunGateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One shard of a cluster is silent: a device in a large chat on another shard waits until it hears that chat."""

    async def scene(post: GatewayEnv) -> None:
        silent, heard = await large(post), await post.stage.group(CLEO, *MANY[:60])
        await post.stage.manage.add(heard, by(ANNA), MANY[60:])
        await post.deliver()
        here = await post.gateway()
        ears, never = here.routed.large_chats._subscriber, asyncio.Event()

        class OneSilent:
            async def subscribe_chat(self, key: ChatKey, hear: BusHandler) -> Subscription:
                if key == silent:
                    await never.wait()
                return await ears.subscribe_chat(key, hear)

        here.routed.large_chats._subscriber = OneSilent()  # type: ignore[assignment]
        await here.live(BEN)
        assert here.seat(BEN).unconfirmed_channels, "nobody confirms it"
        monkeypatch.setattr(large_chats, "CONFIRM_TIMEOUT_S", WITHIN_S)
        await here.live(CLEO)
        assert not here.routed.large_chats._channels[heard].is_late
        tablet = await asyncio.wait_for(here.live(BEN, "tablet"), WITHIN_S / 2)
        assert tablet.is_resumed, "nobody waits again for a channel that was not confirmed in time"

    play_post(scene)


def test_a_channel_that_is_refused_is_asked_for_again_and_made_up_for(play_post: RunGateways) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        here = await post.gateway()
        ears, refusals = here.routed.large_chats._subscriber, [UnavailableError("away")]

        class Refusing:
            async def subscribe_chat(self, key: ChatKey, hear: BusHandler) -> Subscription:
                if refusals:
                    raise refusals.pop()
                return await ears.subscribe_chat(key, hear)

        here.routed.large_chats._subscriber = Refusing()  # type: ignore[assignment]
        ben = await here.live(BEN)
        missed = await post.say(chat, ANNA, "before it is confirmed")
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)

    play_post(scene)


def test_pushes_that_can_not_wait_are_read_from_the_log_by_a_device_that_is_new_in_the_chat(
    play_post: RunGateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The push that adds the device's user waits behind another one and is let go for newer ones."""
    monkeypatch.setattr(dispatcher, "MAX_WAITING", 1)

    async def scene(post: GatewayEnv) -> None:
        chat = await post.stage.group(CLEO)
        await post.deliver()
        here = await post.gateway()
        cleo, ben = await here.live(CLEO), await here.live(BEN)
        opening, gate = here.routed.dispatcher._render, asyncio.Event()

        async def late(push: Push, /) -> Any:
            await gate.wait()
            return await opening(push)

        here.routed.dispatcher._render = late  # type: ignore[method-assign,assignment]
        await post.say(chat, ANNA, "being opened")
        await post.stage.manage.add(chat, by(ANNA), [BEN])
        await post.deliver()
        last = [await post.say(chat, ANNA, text) for text in ("one", "two", "three")][-1]
        gate.set()
        await until(lambda: last in ben.sequences(chat) and last in cleo.sequences(chat), WITHIN_S)
        added = last - 3
        assert ben.sequences(chat) == list(range(added, last + 1))
        assert cleo.sequences(chat) == list(range(1, last + 1))

    play_post(scene)
