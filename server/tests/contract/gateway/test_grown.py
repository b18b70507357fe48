"""A chat that became large, and who hears of it late."""

from contract.gateway.test_order import MANY
from fixtures.loops import until
from fixtures.post import WITHIN_S, PlayPost, Post
from fixtures.stage import ANNA, BEN, CLEO, by

from tidings.routing.model import Addressee, Part, Push


def test_who_was_taken_out_does_not_listen_when_he_hears_late_that_the_chat_became_large(
    play_post: PlayPost,
) -> None:
    async def scene(post: Post) -> None:
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
        part = Part(2, 2, (Addressee(CLEO, seat.key.device, seat.epoch),))
        here.routed.giving.take(Push(chat.tenant, chat.chat, (grown,), (part,), is_large=True))
        said = await post.say(chat, ANNA, "not for cleo")
        await until(lambda: ben.sequences(chat)[-1:] == [said], WITHIN_S)
        await here.routed._joins.settled(WITHIN_S)
        assert chat.chat not in seat.rooms
        assert cleo.sequences(chat)[-1] == 3

    play_post(scene)
