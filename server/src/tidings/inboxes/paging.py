"""Merge direct notifications and broadcasts into pages, newest first, and explain the counts. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from tidings.inboxes import rules
from tidings.inboxes.broadcasts import user_state
from tidings.inboxes.broadcasts.model import BroadcastRelease
from tidings.inboxes.model import BroadcastState, InboxSnapshot, NotificationId, NotificationRow


class PageCursor(NamedTuple):
    """Where the next page starts. Broadcasts above `head`, released after the first page, are not in later pages."""

    sort_key: NotificationId
    head: int

    def __str__(self) -> str:
        return f"{self.sort_key}.{self.head}"

    @classmethod
    def of(cls, text: str | None, head: int) -> "PageCursor | None":
        if text is None:
            return None
        sort_key, _, pinned = text.partition(".")
        return cls(NotificationId(sort_key), int(pinned) if pinned else head)


class ListEntry(NamedTuple):
    """A notification of either kind. `sort_key` orders them by time of delivery."""

    sort_key: NotificationId
    row: NotificationRow
    release: BroadcastRelease | None = None


def releases_in(snapshot: InboxSnapshot, mask: int) -> list[ListEntry]:
    """Return the broadcasts of a mask, newest first."""
    return [
        ListEntry(user_state.release_sort_key(each), user_state.row_from_release(each, snapshot), each)
        for each in reversed(snapshot.shown.log_index.shown(mask))
    ]


def clip_page(
    entries: Sequence[ListEntry], start: PageCursor | None, end: NotificationId | None
) -> list[ListEntry]:
    """Return the entries of the part of the list that the rows cover."""
    return [
        each
        for each in entries
        if (start is None or (each.sort_key < start.sort_key and _sequence(each) <= start.head))
        and (end is None or each.sort_key > end)
    ]


def _sequence(entry: ListEntry) -> int:
    return 0 if entry.release is None else entry.release.sequence


def merge_page(
    rows: Sequence[NotificationRow], shown: Sequence[ListEntry], limit: int, end: NotificationId | None
) -> tuple[list[ListEntry], NotificationId | None]:
    """Merge both kinds into one page. The next page starts below the last entry that fits."""
    both = [*(ListEntry(row.id, row) for row in rows), *shown]
    both.sort(key=lambda each: each.sort_key, reverse=True)
    if len(both) <= limit:
        return both, end
    return both[:limit], both[limit - 1].sort_key


def encode_cursor(end: NotificationId | None, head: int) -> str | None:
    return None if end is None else str(PageCursor(end, head))


class CountReason(StrEnum):
    """Why a notification counts or not: the first reason that applies."""

    BEFORE_JOINING = "before_joining"
    NOT_TARGETED = "not_targeted"
    CHANNEL_OFF = "channel_off"
    THROTTLED = "throttled"
    DIGESTED = "digested"
    REDACTED = "redacted"
    EXPIRED = "expired"
    RETENTION_OVER = "retention_over"
    ARCHIVED = "archived"
    READ = "read"
    MARKED_ALL = "marked_all"
    MARKED_CATEGORY = "marked_category"
    UNREAD_AGAIN = "unread_again"
    DELIVERED = "delivered"


class CountExplanation(NamedTuple):
    """`at_ms`: since when the reason applies."""

    row: NotificationRow
    is_counted: bool
    why: CountReason
    at_ms: int


def explain_row(entry: ListEntry, snapshot: InboxSnapshot) -> CountExplanation:
    if entry.release is None:
        return _direct(entry.row, snapshot)
    is_counted = bool(
        user_state.unread_mask(snapshot) & snapshot.shown.log_index.bits[entry.release.sequence]
    )
    return CountExplanation(entry.row, is_counted, *_why_release(entry.row, entry.release, snapshot))


def _why_release(
    row: NotificationRow, release: BroadcastRelease, snapshot: InboxSnapshot
) -> tuple[CountReason, int]:
    bit = snapshot.shown.log_index.bits[release.sequence]
    if bit & snapshot.shown.hidden_mask:
        return CountReason.CHANNEL_OFF, release.at_ms
    if not bit & snapshot.shown.visible_mask:
        return CountReason.NOT_TARGETED, release.at_ms
    if release.sequence <= snapshot.broadcast_state.joined:
        return CountReason.BEFORE_JOINING, release.at_ms
    if (removal := _removal_reason(row, release.at_ms, snapshot)) is not None:
        return removal
    return _why_unread(row) if row.read_ms is None else _why_marked(release, snapshot.broadcast_state)


def _why_marked(release: BroadcastRelease, state: BroadcastState) -> tuple[CountReason, int]:
    if release.sequence <= state.read_before:
        return CountReason.MARKED_ALL, state.updated_ms
    return (
        CountReason.READ if release.sequence in state.read else CountReason.MARKED_CATEGORY
    ), state.updated_ms


def _direct(row: NotificationRow, snapshot: InboxSnapshot) -> CountExplanation:
    why, at_ms = _why(row, snapshot)
    return CountExplanation(row, rules.is_unread(row, snapshot), why, at_ms)


def _why(row: NotificationRow, snapshot: InboxSnapshot) -> tuple[CountReason, int]:
    return _removal_reason(row, row.sent_ms, snapshot) or _why_read(row, snapshot) or _why_unread(row)


def _removal_reason(
    row: NotificationRow, delivered_ms: int, snapshot: InboxSnapshot
) -> tuple[CountReason, int] | None:
    if row.redacted_ms is not None:
        return CountReason.REDACTED, row.redacted_ms
    if row.excluded is not None and row.reopened_ms is None:
        return CountReason(row.excluded), row.sent_ms
    if row.digest_of is not None:
        return CountReason.DIGESTED, row.since_ms
    if row.expires_ms is not None and row.expires_ms <= snapshot.now_ms:
        return CountReason.EXPIRED, row.expires_ms
    if delivered_ms < snapshot.retain_from_ms:
        return CountReason.RETENTION_OVER, snapshot.retain_from_ms
    return None if row.archived_ms is None else (CountReason.ARCHIVED, row.archived_ms)


def _why_read(row: NotificationRow, snapshot: InboxSnapshot) -> tuple[CountReason, int] | None:
    counts = snapshot.counts
    if row.read_ms is not None:
        return CountReason.READ, row.read_ms
    if row.since_ms <= counts.read_before_ms:
        return CountReason.MARKED_ALL, counts.read_before_ms
    if rules.is_read(row, counts):
        return CountReason.MARKED_CATEGORY, rules.read_up_to_ms(counts, row.category)
    return None


def _why_unread(row: NotificationRow) -> tuple[CountReason, int]:
    why = CountReason.UNREAD_AGAIN if row.reopened_ms is not None else CountReason.DELIVERED
    return why, row.since_ms
