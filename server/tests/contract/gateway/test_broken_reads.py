"""After a failed read, also with an unforeseen error, a device resumes or is closed."""

from collections.abc import Callable
from typing import Any

import pytest
from contract.gateway.test_losses import flush
from contract.gateway.test_order import small
from fixtures.gateway_env import WITHIN_S, GatewayEnv, InProcessGateway
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN

from tidings.kernel.errors import Code, TidingsError
from tidings_wire.close_codes import CloseCode

FORESEEN = TidingsError(Code.OVERLOADED, "The database cannot be read at the moment.")
UNFORESEEN = RuntimeError("nobody foresaw it")
either = pytest.mark.parametrize("error", [FORESEEN, UNFORESEEN], ids=["foreseen", "unforeseen"])


def failing(honest: Callable[..., Any], error: Exception, times: int = 1) -> Any:
    """Return `honest` after it has failed `times` times."""
    left = times

    async def call(*given: object) -> object:
        nonlocal left
        if left:
            left -= 1
            raise error
        return await honest(*given)

    return call


def has_reported(here: InProcessGateway) -> bool:
    """Return whether an expected fault was reported, and clear it."""
    faults, here.faults = here.faults, []
    return bool(faults)


@either
async def test_a_range_whose_read_failed_is_read_again(gateways: GatewayEnv, error: Exception) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await flush(gateways)
    missed = await gateways.say(chat, ANNA, "nobody is found")
    device, ranges = here.device(BEN), here.node.ranges
    ranges._page = failing(ranges._page, error)  # type: ignore[method-assign]
    device.positions[chat.chat].on_push(missed)
    here.node.gap_filler.schedule(device, chat.chat)
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)
    await until(lambda: device.is_live, WITHIN_S)
    assert has_reported(here) == (error is UNFORESEEN)


async def test_a_device_whose_resume_fails_is_closed(
    gateways: GatewayEnv,
) -> None:
    """Otherwise it would receive nothing: pushes to a device that is not live are only recorded."""
    await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    resuming = here.node.resuming
    resuming._rows = failing(resuming._rows, UNFORESEEN)  # type: ignore[method-assign]
    resuming.resume_again(here.device(BEN))
    await until(lambda: (ben.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)
    assert has_reported(here)


@either
async def test_a_live_device_whose_resume_failed_becomes_live_again(
    gateways: GatewayEnv, error: Exception
) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    resuming = here.node.resuming
    resuming._rows = failing(resuming._rows, error)  # type: ignore[method-assign]
    ben.say(id=2, resume={"epoch": 0, "positions": {}})
    await until(lambda: any(frame.get("id") == 2 and "error" in frame for frame in ben.frames), WITHIN_S)
    sent = await gateways.say(chat, ANNA, "to who did not ask again")
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)
    assert ben.closed is None


@either
async def test_a_device_that_cannot_be_compared_with_the_head_of_a_large_chat_resumes(
    gateways: GatewayEnv, error: Exception
) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await flush(gateways)
    missed = await gateways.say(chat, ANNA, "nobody is found")
    rows: Any = here.node._deps.rows
    rows.heads = failing(rows.heads, error)
    try:
        await here.node._compare(chat, [here.device(BEN)])
    except RuntimeError:
        assert error is UNFORESEEN
    await until(lambda: missed in ben.sequences(chat), WITHIN_S)


async def test_a_push_that_is_recorded_during_an_empty_read_is_sent(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    await flush(gateways)
    device, ranges = here.device(BEN), here.node.ranges
    page, position = ranges._page, here.device(BEN).positions[chat.chat]
    missed = 0

    async def read_then_commit(*given: Any) -> object:
        nonlocal missed
        found = await page(*given)
        if not missed:
            await gateways.say(chat, ANNA, "announced before the read, committed after it")
            missed = await gateways.say(chat, ANNA, "announced during the read")
            position.on_push(missed)
        return found

    ranges._page = read_then_commit  # type: ignore[method-assign, assignment]
    position.on_push(position.position + 1)
    here.node.gap_filler.schedule(device, chat.chat)
    await until(lambda: missed and missed in ben.sequences(chat), WITHIN_S)


async def test_a_push_that_fails_does_not_drop_those_behind_it(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway()
    ben = await here.live(BEN)
    dispatcher, push = here.node.dispatcher, here.node.dispatcher._push

    async def fail_when_another_waits(*_: object) -> None:
        dispatcher._push = push  # type: ignore[method-assign]
        await until(lambda: dispatcher._waiting[chat], WITHIN_S)
        raise UNFORESEEN

    dispatcher._push = fail_when_another_waits  # type: ignore[method-assign, assignment]
    await gateways.say(chat, ANNA, "fails")
    sent = await gateways.say(chat, ANNA, "behind it")
    await until(lambda: sent in ben.sequences(chat), WITHIN_S)
    assert ben.sequences(chat)[-2:] == [sent - 1, sent]
    assert has_reported(here)
