"""People who are taken out of a large chat and let in again, faster than it is delivered."""

import pytest
from contract.gateway.test_order import large
from fixtures.gateway_env import WITHIN_S, GatewayEnv, HeldMessages, RunGateways, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN, by

from tidings.bus.model import Push
from tidings.gateway.connected_device import NEVER_JOINED
from tidings.kernel.ids import ChatKey


def test_who_was_removed_twice_in_one_push_is_not_shown_what_lies_between(play_post: RunGateways) -> None:
    """The chat's channel alone, before what goes by his route: on a cluster the two are not in order."""

    async def scene(post: GatewayEnv) -> None:
        chat, stage = await large(post), post.stage
        here = await post.gateway()
        ben = await here.live(BEN)
        before = (await stage.send(chat, ANNA, "before")).sequence
        await stage.manage.remove(chat, by(ANNA), BEN)
        hidden = (await stage.send(chat, ANNA, "without him")).sequence
        await stage.manage.add(chat, by(ANNA), [BEN])
        await stage.manage.remove(chat, by(ANNA), BEN)
        entries = await stage.reader.range(chat, before - 1, before + 100, 100, newest_first=False)
        room = here.routed.large_chats._channels[chat]
        here.routed.dispatcher.submit(Push(chat.tenant, chat.chat, tuple(entries), is_large=True), room)
        await until(lambda: hidden - 1 in ben.sequences(chat), WITHIN_S)
        assert hidden not in ben.sequences(chat)

    play_post(scene)


def test_who_was_removed_from_a_large_chat_and_came_back_at_once_goes_on_hearing_it(
    play_post: RunGateways,
) -> None:
    """Delivered in one go: he is told that he is back while he has yet to read that he was out."""

    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        await post.stage.send(chat, ANNA, "before")
        await post.stage.manage.remove(chat, by(ANNA), BEN)
        await post.stage.send(chat, ANNA, "without him")
        await post.stage.manage.add(chat, by(ANNA), [BEN])
        back = (await post.stage.send(chat, ANNA, "with him")).sequence
        await post.deliver()
        await until(lambda: back in ben.sequences(chat), WITHIN_S)
        await until(lambda: chat.chat in here.seat(BEN).large_chat_channels, WITHIN_S)
        later = await post.say(chat, ANNA, "on the channel")
        await until(lambda: later in ben.sequences(chat), WITHIN_S)
        got = [sequence for sequence in ben.sequences(chat) if sequence > back - 5]
        assert got == [back - 4, back - 3, back - 1, back, later]

    play_post(scene)


def test_who_has_read_of_his_leave_before_his_row_knows_it_does_not_go_on_listening(
    play_post: RunGateways,
) -> None:
    """He resumes by the row of before, from behind the leave. He holds more than the chat's head: so he is asked for."""

    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        here = await post.gateway()
        anna = await here.live(ANNA)
        left = await _removed(post, chat)
        ben = await here.live(BEN, epoch=0, positions={chat.chat: left})
        assert chat.chat not in here.seat(BEN).large_chat_channels
        # what follows is delivered before the leave: that one waits for Redis
        later = await post.stage.send(chat, ANNA, "before his leave")
        post.stage.told.reverse()
        await post.worker.handle([post.stage.told.pop(0)])
        await until(lambda: later.sequence in anna.sequences(chat), WITHIN_S)
        await post.deliver()
        await _hears_nothing(post, chat, anna, ben)
        assert later.sequence not in ben.sequences(chat)

    play_post(scene)


@pytest.mark.parametrize("step", ["gateway.subscribed", "gateway.read"])
def test_a_leave_that_is_delivered_while_he_resumes_by_the_row_of_before_ends_his_listening(
    play_post: RunGateways, step: str
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        pauses = HeldMessages()
        here = await post.gateway(pauses)
        anna = await here.live(ANNA)
        left = await _removed(post, chat)
        pauses.step = step
        ben = here.open(BEN, epoch=0, positions={chat.chat: left})
        await pauses.reached.wait()
        await post.deliver()
        await until(lambda: here.seat(BEN).late_leaves == {chat.chat: left}, WITHIN_S)
        pauses.let_on()
        await until(lambda: ben.is_resumed and chat.chat not in here.seat(BEN).large_chat_channels, WITHIN_S)
        await _hears_nothing(post, chat, anna, ben)

    play_post(scene)


def test_who_is_in_again_when_an_old_leave_comes_a_second_time_goes_on_listening(
    play_post: RunGateways,
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        here = await post.gateway()
        left = await _removed(post, chat)
        await post.stage.manage.add(chat, by(ANNA), [BEN])
        await post.deliver()
        ben = await here.live(BEN, epoch=0, positions={chat.chat: left + 1})
        here.routed._on_late_leave(here.seat(BEN), chat.chat, left)
        here.seat(BEN).positions[chat.chat].since = NEVER_JOINED
        here.routed._on_late_leave(here.seat(BEN), chat.chat, left)
        await until(
            lambda: here.seat(BEN).is_live and chat.chat in here.seat(BEN).large_chat_channels, WITHIN_S
        )
        later = await post.say(chat, ANNA, "with him")
        await until(lambda: later in ben.sequences(chat), WITHIN_S)

    play_post(scene)


def test_who_is_told_while_he_resumes_that_a_chat_became_large_and_is_out_of_it_does_not_listen(
    play_post: RunGateways,
) -> None:
    """Nothing is known of him then but that he resumes; what he holds and his row say that he is out."""

    async def scene(post: GatewayEnv) -> None:
        chat = await large(post)
        pauses = HeldMessages("gateway.read")
        left = await _removed(post, chat)
        await post.deliver()
        here = await post.gateway(pauses)
        ben = here.open(BEN, epoch=0, positions={chat.chat: left})
        await pauses.reached.wait()
        await here.routed._join((here.seat(BEN), chat.chat, left - 1))
        assert chat.chat in here.seat(BEN).large_chat_channels
        pauses.let_on()
        await until(lambda: ben.is_resumed, WITHIN_S)
        anna = await here.live(ANNA)
        await _hears_nothing(post, chat, anna, ben)

    play_post(scene)


async def _removed(post: GatewayEnv, chat: ChatKey) -> int:
    """Committed, and nobody has heard of it yet."""
    await post.stage.manage.remove(chat, by(ANNA), BEN)
    ((_, entries),) = post.stage.told
    return entries[-1].sequence


async def _hears_nothing(post: GatewayEnv, chat: ChatKey, anna: ScreenDevice, ben: ScreenDevice) -> None:
    said = await post.say(chat, ANNA, "without him")
    await until(lambda: said in anna.sequences(chat), WITHIN_S)
    assert said not in ben.sequences(chat)
