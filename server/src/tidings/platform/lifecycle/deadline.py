"""Waiting for work with a limit that holds even if the work does not listen to being cancelled."""

import asyncio
from collections.abc import Coroutine
from enum import Enum

_UNWIND_S = 0.5


class DeadlineOutcome(Enum):
    """How the waiting ended; what the work raised is raised."""

    DONE = "done"
    LATE = "late"
    CUT = "cut"


async def run_with_deadline(
    work: Coroutine[object, object, None], limit_s: float, *cuts: asyncio.Future[None]
) -> DeadlineOutcome:
    """Run `work` for at most `limit_s`, or until one of `cuts` is set.

    Then it is cancelled, given a moment to unwind, and left behind.
    """
    task = asyncio.get_running_loop().create_task(work)
    await asyncio.wait({task, *cuts}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
        return DeadlineOutcome.DONE
    task.cancel()
    await asyncio.wait({task}, timeout=_UNWIND_S)
    if task.done() and not task.cancelled():
        task.exception()
    return DeadlineOutcome.CUT if any(cut.done() for cut in cuts) else DeadlineOutcome.LATE
