"""A chat becomes large, and devices subscribe to its channel late."""

import asyncio
from typing import Any

import pytest
from contract.gateway.test_order import MANY, large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.bus.model import DeviceTarget, Push, PushSlice
from tidings.bus.ports import BusHandler, Subscription
from tidings.gateway.fanout import dispatcher, large_chats
from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey


async def test_a_removed_member_is_not_subscribed_by_a_late_event_that_the_chat_became_large(
    gateways: GatewayEnv,
) -> None:
    chat = await gateways.use_cases.group(BEN, CLEO, *MANY[:60])
    await gateways.deliver()
    here = await gateways.gateway()
    ben, cleo = await here.live(BEN), await here.live(CLEO)
    await gateways.use_cases.manage.add(chat, by(ANNA), MANY[60:])
    await gateways.use_cases.manage.remove(chat, by(ANNA), CLEO)
    await gateways.deliver()
    await until(lambda: cleo.sequences(chat)[-1:] == [3], WITHIN_S)
    device = here.device(CLEO)
    (grown,) = await gateways.use_cases.reader.range(chat, 1, 2, 1, newest_first=False)
    part = PushSlice(2, 2, (DeviceTarget(CLEO, device.key.device, device.epoch),))
    here.node.dispatcher.submit(Push(chat.tenant, chat.chat, (grown,), (part,), is_large=True))
    sent = await gateways.say(chat, ANNA, "not for cleo")
    await until(lambda: ben.sequences(chat)[-1:] == [sent], WITHIN_S)
    await here.node._joins.wait_idle(WITHIN_S)
    assert chat.chat not in device.large_chat_channels
    assert cleo.sequences(chat)[-1] == 3


async def test_entries_lost_before_a_channel_is_confirmed_again_during_a_first_resume_are_sent(
    gateways: GatewayEnv,
) -> None:
    """The device reads the head, then an entry is published and lost, then the channel is confirmed again."""
    chat = await large(gateways)
    held = HeldMessages("gateway.read")
    here = await gateways.gateway(held)
    ben = here.open(BEN)
    await asyncio.wait_for(held.reached.wait(), WITHIN_S)
    unheard: Any = lambda *_: None  # noqa: E731 - shorter than a function
    here.node.large_chats._on_message = unheard
    missed = await gateways.say(chat, ANNA, "unheard")
    room = here.node.large_chats._channels[chat]
    here.node.on_missed(room)
    await until(lambda: not len(here.node._missed), WITHIN_S)
    held.let_on()
    await until(lambda: ben.is_resumed, WITHIN_S)
    assert ben.sequences(chat)[-1] == missed


async def test_an_unconfirmed_channel_delays_no_resume_and_its_entries_are_sent_later(
    gateways: GatewayEnv,
) -> None:
    chat = await large(gateways)
    here = await gateways.gateway(resume=ResumeOptions(at_once=1))
    subscriber, confirmed = here.node.large_chats._subscriber, asyncio.Event()

    class Late:
        async def subscribe_chat(self, key: ChatKey, hear: BusHandler) -> Subscription:
            await confirmed.wait()
            return await subscriber.subscribe_chat(key, hear)

    here.node.large_chats._subscriber = Late()  # type: ignore[assignment]
    ben = await here.live(BEN)
    assert here.device(BEN).is_registered
    missed = await gateways.say(chat, ANNA, "before it is confirmed")
    assert missed not in ben.sequences(chat)
    confirmed.set()
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)
    later = await gateways.say(chat, ANNA, "and after it")
    await until(lambda: later in ben.sequences(chat), WITHIN_S)


async def test_an_unconfirmed_channel_does_not_affect_other_large_chats(
    gateways: GatewayEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One shard of a cluster is silent. A device in a large chat on another shard waits for that chat's channel."""
    silent, other_chat = await large(gateways), await gateways.use_cases.group(CLEO, *MANY[:60])
    await gateways.use_cases.manage.add(other_chat, by(ANNA), MANY[60:])
    await gateways.deliver()
    here = await gateways.gateway()
    subscriber, never = here.node.large_chats._subscriber, asyncio.Event()

    class OneSilent:
        async def subscribe_chat(self, key: ChatKey, hear: BusHandler) -> Subscription:
            if key == silent:
                await never.wait()
            return await subscriber.subscribe_chat(key, hear)

    here.node.large_chats._subscriber = OneSilent()  # type: ignore[assignment]
    await here.live(BEN)
    assert here.device(BEN).unconfirmed_channels, "nobody confirms it"
    monkeypatch.setattr(large_chats, "CONFIRM_TIMEOUT_S", WITHIN_S)
    await here.live(CLEO)
    assert not here.node.large_chats._channels[other_chat].is_late
    tablet = await asyncio.wait_for(here.live(BEN, "tablet"), WITHIN_S / 2)
    assert tablet.is_resumed, "nobody waits again for a channel that was not confirmed in time"


async def test_a_refused_channel_subscription_is_retried_and_its_entries_are_sent_later(
    gateways: GatewayEnv,
) -> None:
    chat = await large(gateways)
    here = await gateways.gateway()
    subscriber, refusals = here.node.large_chats._subscriber, [UnavailableError("away")]

    class Refusing:
        async def subscribe_chat(self, key: ChatKey, hear: BusHandler) -> Subscription:
            if refusals:
                raise refusals.pop()
            return await subscriber.subscribe_chat(key, hear)

    here.node.large_chats._subscriber = Refusing()  # type: ignore[assignment]
    ben = await here.live(BEN)
    missed = await gateways.say(chat, ANNA, "before it is confirmed")
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)


async def test_displaced_pushes_of_a_new_chat_are_read_from_the_log(
    gateways: GatewayEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The push that adds the device's user waits behind another one, and newer pushes displace it."""
    monkeypatch.setattr(dispatcher, "MAX_WAITING", 1)

    chat = await gateways.use_cases.group(CLEO)
    await gateways.deliver()
    here = await gateways.gateway()
    cleo, ben = await here.live(CLEO), await here.live(BEN)
    opening, gate = here.node.dispatcher._render, asyncio.Event()

    async def late(push: Push, /) -> Any:
        await gate.wait()
        return await opening(push)

    here.node.dispatcher._render = late  # type: ignore[method-assign,assignment]
    await gateways.say(chat, ANNA, "being opened")
    await gateways.use_cases.manage.add(chat, by(ANNA), [BEN])
    await gateways.deliver()
    last = [await gateways.say(chat, ANNA, text) for text in ("one", "two", "three")][-1]
    gate.set()
    await until(lambda: last in ben.sequences(chat) and last in cleo.sequences(chat), WITHIN_S)
    added = last - 3
    assert ben.sequences(chat) == list(range(added, last + 1))
    assert cleo.sequences(chat) == list(range(1, last + 1))
