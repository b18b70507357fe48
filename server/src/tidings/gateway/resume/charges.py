"""What a resume costs its user: the pages that it reads count against the user's rate limit."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, final

from tidings.gateway.resume.plan import MissedEntries
from tidings.gateway.resume.ranges import PAGE
from tidings.gateway.shares import release_slot

FREE_PAGES: Final = 8
"""Pages that the request itself pays for. Most reconnects read fewer, and ask no limiter."""
_MAX_CHARGE: Final = 8
"""Tokens taken in one step; far fewer than a bucket holds, so that a large resume does not wait for a full one."""

type OnCharge = Callable[[int], Awaitable[int | None]]
"""Take so many tokens. None: taken; else none were, and there may be some after so many milliseconds."""


@final
class PageCharger:
    """Of one resume. A resume that is too large for the limit is slowed down, not refused.

    A page costs what a request for a page of history costs. Nothing is charged without `charge`: what the gateway
    does on its own account is not the user's work.
    """

    def __init__(self, charge: OnCharge | None) -> None:
        self._charge = charge
        self._free = FREE_PAGES

    async def before(self, some: Sequence[MissedEntries]) -> None:
        """Charge for these ranges, and wait as long as the limit refuses, without holding a slot meanwhile."""
        if self._charge is None:
            return
        pages = sum(-(-(ahead.up_to - ahead.after) // PAGE) for ahead in some)
        free = min(self._free, pages)
        self._free -= free
        pages -= free
        while pages > 0:
            tokens = min(pages, _MAX_CHARGE)
            wait_ms = await self._charge(tokens)
            if wait_ms is None:
                pages -= tokens
            else:
                async with release_slot():
                    await asyncio.sleep(wait_ms / 1_000)
