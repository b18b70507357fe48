"""A read that fails, be it in a way that nobody foresaw, leaves no device behind: it resumes, or is closed."""

from collections.abc import Callable
from typing import Any

import pytest
from contract.gateway.test_losses import flush
from contract.gateway.test_order import small
from fixtures.gateway_env import WITHIN_S, GatewayEnv, InProcessGateway, RunGateways
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN

from tidings.kernel.errors import Code, TidingsError
from tidings.wire.close_codes import CloseCode

FORESEEN = TidingsError(Code.OVERLOADED, "The store can't be read right now.")
UNFORESEEN = RuntimeError("nobody foresaw it")
either = pytest.mark.parametrize("error", [FORESEEN, UNFORESEEN], ids=["foreseen", "unforeseen"])


def failing(honest: Callable[..., Any], error: Exception, times: int = 1) -> Any:
    """As it was, after it has failed so often."""
    left = times

    async def call(*given: object) -> object:
        nonlocal left
        if left:
            left -= 1
            raise error
        return await honest(*given)

    return call


def told(here: InProcessGateway) -> bool:
    """Whether something was reported; it was expected."""
    faults, here.faults = here.faults, []
    return bool(faults)


@either
def test_a_range_that_could_not_be_read_is_read_all_the_same(
    play_post: RunGateways, error: Exception
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        await flush(post)
        missed = await post.say(chat, ANNA, "nobody is found")
        seat, ranges = here.seat(BEN), here.routed.ranges
        ranges._page = failing(ranges._page, error)  # type: ignore[method-assign]
        seat.positions[chat.chat].on_push(missed)
        here.routed.gap_filler.schedule(seat, chat.chat)
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)
        await until(lambda: seat.is_live, WITHIN_S)
        assert told(here) == (error is UNFORESEEN)

    play_post(scene)


def test_a_device_that_can_not_be_brought_to_date_is_closed_and_not_forgotten(play_post: RunGateways) -> None:
    """Neither live nor closed it would wait for ever: what is pushed to it is only noted."""

    async def scene(post: GatewayEnv) -> None:
        await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        resuming = here.routed.resuming
        resuming._rows = failing(resuming._rows, UNFORESEEN)  # type: ignore[method-assign]
        resuming.resume_again(here.seat(BEN))
        await until(lambda: (ben.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)
        assert told(here)

    play_post(scene)


@either
def test_a_live_device_whose_own_resume_failed_is_live_again_without_asking(
    play_post: RunGateways, error: Exception
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        resuming = here.routed.resuming
        resuming._rows = failing(resuming._rows, error)  # type: ignore[method-assign]
        ben.say(id=2, resume={"epoch": 0, "positions": {}})
        await until(lambda: any(frame.get("id") == 2 and "error" in frame for frame in ben.frames), WITHIN_S)
        sent = await post.say(chat, ANNA, "to who did not ask again")
        await until(lambda: sent in ben.sequences(chat), WITHIN_S)
        assert ben.closed is None

    play_post(scene)


@either
def test_who_can_not_be_held_against_the_head_of_a_large_chat_resumes(
    play_post: RunGateways, error: Exception
) -> None:
    async def scene(post: GatewayEnv) -> None:
        chat = await small(post)
        here = await post.gateway()
        ben = await here.live(BEN)
        await flush(post)
        missed = await post.say(chat, ANNA, "nobody is found")
        rows: Any = here.routed._deps.rows
        rows.heads = failing(rows.heads, error)
        try:
            await here.routed._compare(chat, [here.seat(BEN)])
        except RuntimeError:
            assert error is UNFORESEEN
        await until(lambda: missed in ben.sequences(chat), WITHIN_S)

    play_post(scene)
