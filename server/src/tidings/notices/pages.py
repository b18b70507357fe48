"""A user's notices of both kinds as one list, newest first, a page at a time. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from tidings.broadcasts.model import Showing
from tidings.notices import wide
from tidings.notices.model import NoticeId, Row, Sheet


class Below(NamedTuple):
    """Where a page goes on. Broadcasts that came after the first page (above `head`) are not in the others."""

    place: NoticeId
    head: int

    def __str__(self) -> str:
        return f"{self.place}.{self.head}"

    @classmethod
    def of(cls, text: str | None, head: int) -> "Below | None":
        if text is None:
            return None
        place, _, pinned = text.partition(".")
        return cls(NoticeId(place), int(pinned) if pinned else head)


class Spot(NamedTuple):
    """A notice of either kind among the others: `place` sorts them by when they came."""

    place: NoticeId
    row: Row
    showing: Showing | None = None


def showings(sheet: Sheet, mask: int) -> list[Spot]:
    """Newest first."""
    return [
        Spot(wide.place_of_showing(each), wide.row_of(each, sheet), each)
        for each in reversed(sheet.shown.board.shown(mask))
    ]


def within(spots: Sequence[Spot], start: Below | None, end: NoticeId | None) -> list[Spot]:
    """Those of the part of the list that the rows are of."""
    return [
        each
        for each in spots
        if (start is None or (each.place < start.place and _sequence(each) <= start.head))
        and (end is None or each.place > end)
    ]


def _sequence(spot: Spot) -> int:
    return 0 if spot.showing is None else spot.showing.sequence


def merged(
    rows: Sequence[Row], shown: Sequence[Spot], limit: int, end: NoticeId | None
) -> tuple[list[Spot], NoticeId | None]:
    """What does not fit is left to the next page, which begins below the last one here."""
    both = [*(Spot(row.id, row) for row in rows), *shown]
    both.sort(key=lambda each: each.place, reverse=True)
    if len(both) <= limit:
        return both, end
    return both[:limit], both[limit - 1].place


def text(end: NoticeId | None, head: int) -> str | None:
    return None if end is None else str(Below(end, head))
