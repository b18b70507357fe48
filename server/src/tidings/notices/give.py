"""Gives one user a notice: row and count in one transaction, once, however often it is tried."""

from enum import Enum

from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.notices.model import NoticeId, Owner, Row
from tidings.notices.ports import Given, Live, News, Shelf

_TRIES = 50
"""Each time somebody else gave or marked something in between."""


class Gift(Enum):
    """`LATE`: it has expired, or was sent before what this user's inbox still keeps."""

    GIVEN = "given"
    THERE = "there"
    LATE = "late"


class Give:
    def __init__(self, shelf: Shelf, clock: Clock, live: Live) -> None:
        self._shelf = shelf
        self._clock = clock
        self._live = live

    async def __call__(self, owner: Owner, row: Row) -> Gift:
        """`row.delivered_ms` is set here: later than every mark of the user, so that none is below one unseen."""
        latest_ms = 0
        for _ in range(_TRIES):
            at_ms = max(self._clock.now_ms(), latest_ms + 1)
            if row.expires_ms is not None and row.expires_ms <= at_ms:
                return Gift.LATE
            given = await self._shelf.give(owner, replace(row, delivered_ms=at_ms))
            if isinstance(given, Given):
                return self._told(owner, row.id, given)
            if given.kept_from_ms > row.sent_ms:
                return Gift.LATE
            latest_ms = given.latest_ms
        raise TidingsError(Code.OVERLOADED, "Too many change this inbox at once.")

    def _told(self, owner: Owner, notice: NoticeId, given: Given) -> Gift:
        """Told again if it was there: whoever gave it may have died before he told."""
        self._live.tell(owner, News.GIVEN, notice)
        return Gift.GIVEN if given is Given.GIVEN else Gift.THERE
