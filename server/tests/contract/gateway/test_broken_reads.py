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
