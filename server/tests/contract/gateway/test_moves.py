"""Members who are removed from a large chat and added again before the delivery."""

import pytest
from contract.gateway.test_order import large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, by

from tidings.bus.model import Push
from tidings.gateway.connected_device import NEVER_JOINED
from tidings.kernel.ids import ChatKey


async def test_a_member_removed_twice_in_one_push_does_not_see_the_entries_between(
    gateways: GatewayEnv,
) -> None:
    """The push on the chat's channel arrives before the push to the route: a cluster does not order the two."""
    chat, use_cases = await large(gateways), gateways.use_cases
    here = await gateways.gateway()
    ben = await here.live(BEN)
    before = (await use_cases.send(chat, ANNA, "before")).sequence
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    hidden = (await use_cases.send(chat, ANNA, "without ben")).sequence
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    entries = await use_cases.reader.range(chat, before - 1, before + 100, 100, newest_first=False)
    room = here.node.large_chats._channels[chat]
    here.node.dispatcher.submit(Push(chat.tenant, chat.chat, tuple(entries), is_large=True), room)
    await until(lambda: hidden - 1 in ben.sequences(chat), WITHIN_S)
    assert hidden not in ben.sequences(chat)


async def test_a_member_who_rejoins_a_large_chat_immediately_stays_subscribed(
    gateways: GatewayEnv,
) -> None:
    """Both are delivered together: the gateway processes the rejoin before the leave is sent to the device."""
    chat = await large(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await gateways.use_cases.send(chat, ANNA, "before")
    await gateways.use_cases.manage.remove(chat, by(ANNA), BEN)
    await gateways.use_cases.send(chat, ANNA, "without ben")
    await gateways.use_cases.manage.add(chat, by(ANNA), [BEN])
    back = (await gateways.use_cases.send(chat, ANNA, "with ben")).sequence
    await gateways.deliver()
    await until(lambda: back in ben.sequences(chat), WITHIN_S)
    await until(lambda: chat.chat in here.device(BEN).large_chat_channels, WITHIN_S)
    later = await gateways.say(chat, ANNA, "on the channel")
    await until(lambda: later in ben.sequences(chat), WITHIN_S)
    got = [sequence for sequence in ben.sequences(chat) if sequence > back - 5]
    assert got == [back - 4, back - 3, back - 1, back, later]


async def test_a_device_that_read_the_leave_before_its_row_has_it_is_unsubscribed(
    gateways: GatewayEnv,
) -> None:
    """The device resumes with the old row, from after the leave. Its position is above the head, so the log is read."""
    chat = await large(gateways)
    here = await gateways.gateway()
    anna = await here.live(ANNA)
    left = await _removed(gateways, chat)
    ben = await here.live(BEN, epoch=0, positions={chat.chat: left})
    assert chat.chat not in here.device(BEN).large_chat_channels
    # Later entries are delivered before the leave, which is deferred without Redis.
    later = await gateways.use_cases.send(chat, ANNA, "before the leave")
    gateways.use_cases.commits.reverse()
    await gateways.worker.handle([gateways.use_cases.commits.pop(0)])
    await until(lambda: later.sequence in anna.sequences(chat), WITHIN_S)
    await gateways.deliver()
    await _hears_nothing(gateways, chat, anna, ben)
    assert later.sequence not in ben.sequences(chat)


@pytest.mark.parametrize("step", ["gateway.subscribed", "gateway.read"])
async def test_a_leave_delivered_during_a_resume_with_the_old_row_unsubscribes_the_device(
    gateways: GatewayEnv, step: str
) -> None:
    chat = await large(gateways)
    pauses = HeldMessages()
    here = await gateways.gateway(pauses)
    anna = await here.live(ANNA)
    left = await _removed(gateways, chat)
    pauses.step = step
    ben = here.open(BEN, epoch=0, positions={chat.chat: left})
    await pauses.reached.wait()
    await gateways.deliver()
    await until(lambda: here.device(BEN).late_leaves == {chat.chat: left}, WITHIN_S)
    pauses.let_on()
    await until(lambda: ben.is_resumed and chat.chat not in here.device(BEN).large_chat_channels, WITHIN_S)
    await _hears_nothing(gateways, chat, anna, ben)


async def test_a_repeated_old_leave_does_not_unsubscribe_a_member_who_rejoined(
    gateways: GatewayEnv,
) -> None:
    chat = await large(gateways)
    here = await gateways.gateway()
    left = await _removed(gateways, chat)
    await gateways.use_cases.manage.add(chat, by(ANNA), [BEN])
    await gateways.deliver()
    ben = await here.live(BEN, epoch=0, positions={chat.chat: left + 1})
    here.node._on_late_leave(here.device(BEN), chat.chat, left)
    here.device(BEN).positions[chat.chat].since = NEVER_JOINED
    here.node._on_late_leave(here.device(BEN), chat.chat, left)
    await until(
        lambda: here.device(BEN).is_live and chat.chat in here.device(BEN).large_chat_channels, WITHIN_S
    )
    later = await gateways.say(chat, ANNA, "with ben")
    await until(lambda: later in ben.sequences(chat), WITHIN_S)


async def test_a_removed_member_is_not_subscribed_when_the_chat_becomes_large_during_their_resume(
    gateways: GatewayEnv,
) -> None:
    """The device is in its first resume. Only its position and its row show that the user has left."""
    chat = await large(gateways)
    pauses = HeldMessages("gateway.read")
    left = await _removed(gateways, chat)
    await gateways.deliver()
    here = await gateways.gateway(pauses)
    ben = here.open(BEN, epoch=0, positions={chat.chat: left})
    await pauses.reached.wait()
    await here.node._join((here.device(BEN), chat.chat, left - 1))
    assert chat.chat in here.device(BEN).large_chat_channels
    pauses.let_on()
    await until(lambda: ben.is_resumed, WITHIN_S)
    anna = await here.live(ANNA)
    await _hears_nothing(gateways, chat, anna, ben)


async def _removed(gateways: GatewayEnv, chat: ChatKey) -> int:
    """Commit a removal that is not delivered yet."""
    await gateways.use_cases.manage.remove(chat, by(ANNA), BEN)
    ((_, entries),) = gateways.use_cases.commits
    return entries[-1].sequence


async def _hears_nothing(gateways: GatewayEnv, chat: ChatKey, anna: ScreenDevice, ben: ScreenDevice) -> None:
    sent = await gateways.say(chat, ANNA, "without ben")
    await until(lambda: sent in anna.sequences(chat), WITHIN_S)
    assert sent not in ben.sequences(chat)
