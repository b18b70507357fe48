"""People who are taken out of a large chat and let in again, faster than it is delivered."""

from contract.gateway.test_order import large
from fixtures.loops import until
from fixtures.post import WITHIN_S, PlayPost, Post
from fixtures.stage import ANNA, BEN, by

from tidings.routing.model import Push


def test_who_was_removed_twice_in_one_push_is_not_shown_what_lies_between(play_post: PlayPost) -> None:
    """The chat's channel alone, before what goes by his route: on a cluster the two are not in order."""

    async def scene(post: Post) -> None:
        chat, stage = await large(post), post.stage
        here = await post.gateway()
        ben = await here.live(BEN)
        before = (await stage.send(chat, ANNA, "before")).sequence
        await stage.manage.remove(chat, by(ANNA), BEN)
        hidden = (await stage.send(chat, ANNA, "without him")).sequence
        await stage.manage.add(chat, by(ANNA), [BEN])
        await stage.manage.remove(chat, by(ANNA), BEN)
        entries = await stage.reader.range(chat, before - 1, before + 100, 100, newest_first=False)
        room = here.routed.rooms._rooms[chat]
        here.routed.giving.take(Push(chat.tenant, chat.chat, tuple(entries), is_large=True), room)
        await until(lambda: hidden - 1 in ben.sequences(chat), WITHIN_S)
        assert hidden not in ben.sequences(chat)

    play_post(scene)


def test_who_was_removed_from_a_large_chat_and_came_back_at_once_goes_on_hearing_it(
    play_post: PlayPost,
) -> None:
    """Delivered in one go: he is told that he is back while he has yet to read that he was out."""

    async def scene(post: Post) -> None:
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
        await until(lambda: chat.chat in here.seat(BEN).rooms, WITHIN_S)
        later = await post.say(chat, ANNA, "on the channel")
        await until(lambda: later in ben.sequences(chat), WITHIN_S)
        got = [sequence for sequence in ben.sequences(chat) if sequence > back - 5]
        assert got == [back - 4, back - 3, back - 1, back, later]

    play_post(scene)
