"""A user's notices of both kinds as one list, newest first, a page at a time. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from tidings.broadcasts.model import BroadcastRelease
from tidings.notices import wide
from tidings.notices.model import InboxSnapshot, NotificationId, NotificationRow


class PageCursor(NamedTuple):
    """Where a page goes on. Broadcasts that came after the first page (above `head`) are not in the others."""

    sort_key: NotificationId
    head: int

    def __str__(self) -> str:
        return f"{self.sort_key}.{self.head}"

    @classmethod
    def of(cls, text: str | None, head: int) -> "PageCursor | None":
        if text is None:
            return None
        place, _, pinned = text.partition(".")
        return cls(NotificationId(place), int(pinned) if pinned else head)


class ListEntry(NamedTuple):
    """A notice of either kind among the others: `sort_key` sorts them by when they came."""

    sort_key: NotificationId
    row: NotificationRow
    release: BroadcastRelease | None = None


def releases_in(snapshot: InboxSnapshot, mask: int) -> list[ListEntry]:
    """Newest first."""
    return [
        ListEntry(wide.release_sort_key(each), wide.row_from_release(each, snapshot), each)
        for each in reversed(snapshot.shown.log_index.shown(mask))
    ]


def clip_page(
    spots: Sequence[ListEntry], start: PageCursor | None, end: NotificationId | None
) -> list[ListEntry]:
    """Those of the part of the list that the rows are of."""
    return [
        each
        for each in spots
        if (start is None or (each.sort_key < start.sort_key and _sequence(each) <= start.head))
        and (end is None or each.sort_key > end)
    ]


def _sequence(spot: ListEntry) -> int:
    return 0 if spot.release is None else spot.release.sequence


def merge_page(
    rows: Sequence[NotificationRow], shown: Sequence[ListEntry], limit: int, end: NotificationId | None
) -> tuple[list[ListEntry], NotificationId | None]:
    """What does not fit is left to the next page, which begins below the last one here."""
    both = [*(ListEntry(row.id, row) for row in rows), *shown]
    both.sort(key=lambda each: each.sort_key, reverse=True)
    if len(both) <= limit:
        return both, end
    return both[:limit], both[limit - 1].sort_key


def encode_cursor(end: NotificationId | None, head: int) -> str | None:
    return None if end is None else str(PageCursor(end, head))
