"""Decide what is unread, and how each operation changes the counts. Pure.

Only these functions change a count, and always together with its row: `UnreadCounts` after an operation is the result
of counting all rows again. The tests check this against a reference model of plain sets.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from tidings.inboxes.model import (
    THROTTLE_BASE,
    UNCATEGORISED,
    ExpiryEntry,
    InboxChange,
    InboxKey,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
    StoredInbox,
    ThrottleSlot,
    UnreadCounts,
)
from tidings.inboxes.preferences import Throttle
from tidings.kernel.ids import ulid_ms

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MAX_DROPPED_PER_WRITE = 90
"""A transaction has at most 100 items."""


def read_up_to_ms(counts: UnreadCounts, category: int) -> int:
    return max(counts.read_before_ms, counts.category_read_before_ms.get(category, 0))


def cutoff_ms(retention_days: int | None, now_ms: int) -> int:
    """Return the time before which notifications are deleted. It moves by full hours, so that readers seldom delete rows."""
    return 0 if retention_days is None else (now_ms - retention_days * DAY_MS) // HOUR_MS * HOUR_MS


def is_live(row: NotificationRow, now_ms: int, keep_from_ms: int) -> bool:
    """Tell whether the user can see the notification, archived or not."""
    is_delivered = row.redacted_ms is None and row.delivered_ms is not None and row.digest_of is None
    is_expired = row.expires_ms is not None and row.expires_ms <= now_ms
    return is_delivered and not is_expired and row.sent_ms >= keep_from_ms


def is_read(row: NotificationRow, counts: UnreadCounts) -> bool:
    """Tell whether it was marked by its id, or by a mark of all after it was delivered or made unread again."""
    return row.read_ms is not None or row.since_ms <= read_up_to_ms(counts, row.category)


def read_at_ms(row: NotificationRow, counts: UnreadCounts) -> int | None:
    if row.read_ms is not None or not is_read(row, counts):
        return row.read_ms
    return read_up_to_ms(counts, row.category)


def is_unread(row: NotificationRow, snapshot: InboxSnapshot) -> bool:
    """Tell whether the counts include this notification."""
    return (
        row.archived_ms is None
        and not is_read(row, snapshot.counts)
        and is_live(row, snapshot.now_ms, snapshot.retain_from_ms)
    )


def is_seen(row: NotificationRow, counts: UnreadCounts) -> bool:
    return is_read(row, counts) or (row.delivered_ms or 0) <= counts.seen_before_ms


def is_counted(expiring: ExpiryEntry, counts: UnreadCounts) -> bool:
    is_retained = ulid_ms(expiring.id) >= counts.retained_from_ms
    return is_retained and expiring.since_ms > read_up_to_ms(counts, expiring.category)


def adjust_counts(counts: UnreadCounts, by: int, *, category: int, delivered_ms: int) -> UnreadCounts:
    """Add `by` (1 or -1) notifications to the counts."""
    categories = dict(counts.by_category)
    if category != UNCATEGORISED:
        categories[category] = categories.get(category, 0) + by
    return replace(
        counts,
        total=counts.total + by,
        by_category=drop_zeros(categories),
        unseen=counts.unseen + (by if delivered_ms > counts.seen_before_ms else 0),
    )


def take_slot(
    counts: UnreadCounts, category: int, throttle: Throttle, delivered_ms: int
) -> ThrottleSlot | None:
    """Return the slot of a delivery in the current window. None: the window is full.

    The time is that of the inbox, which never goes back, so no process returns to an earlier window.
    """
    before = counts.throttled.get(category, 0)
    window = delivered_ms // (throttle.window_s * 1000)
    number, used = divmod(before, THROTTLE_BASE)
    used = used if number == window else 0
    return None if used >= throttle.limit else ThrottleSlot(before, window * THROTTLE_BASE + used + 1)


def drop_zeros(counts: Mapping[int, int]) -> dict[int, int]:
    return {category: count for category, count in counts.items() if count}


def settle_expired(inbox_key: InboxKey, stored: StoredInbox, clock_ms: int) -> InboxSnapshot:
    """Take expired notifications out of the counts.

    The result is incomplete if all entries of `stored` are dropped and it was cut off.
    """
    counts = stored.counts
    now_ms = max(clock_ms, counts.latest_ms + 1)
    dropped, next_ms = [], None
    for each in stored.expiring:
        if not is_counted(each, stored.counts):
            dropped.append(each)
        elif each.at_ms <= now_ms:
            dropped.append(each)
            counts = adjust_counts(counts, -1, category=each.category, delivered_ms=each.delivered_ms)
        elif next_ms is None:
            next_ms = each.at_ms
    return InboxSnapshot(
        owner=inbox_key,
        stored=stored.counts,
        counts=replace(counts, latest_ms=now_ms),
        now_ms=now_ms,
        retain_from_ms=counts.retained_from_ms,
        dropped=tuple(dropped),
        next_ms=next_ms,
    )


def drop_retired(
    snapshot: InboxSnapshot, keep_from_ms: int, below: Iterable[NotificationRow]
) -> InboxSnapshot:
    """Apply the retention: take `below`, all rows that were sent before `keep_from_ms`, out of the counts.

    The snapshot must be settled. Expiry entries of these rows that are not dropped here do not count any more,
    because they are older than `retained_from_ms`.
    """
    counts, dropped = snapshot.counts, list(snapshot.dropped)
    for row in below:
        if is_unread(row, snapshot):
            counts = adjust_counts(counts, -1, category=row.category, delivered_ms=row.delivered_ms or 0)
            dropped += _expiring(row)
    return replace(
        snapshot,
        counts=replace(counts, retained_from_ms=keep_from_ms),
        retain_from_ms=keep_from_ms,
        dropped=tuple(dropped[:MAX_DROPPED_PER_WRITE]),
    )


def apply_row_changes(
    snapshot: InboxSnapshot, rows: Iterable[tuple[NotificationRow | None, NotificationRow]]
) -> InboxChange:
    """Return the change for pairs of a row before and after, with the counts that follow from it."""
    counts, written, added, dropped = snapshot.counts, [], [], list(snapshot.dropped)
    for before, after in rows:
        was_unread = before is not None and is_unread(before, snapshot)
        is_now_unread = is_unread(after, snapshot)
        written.append(after)
        if before is not None and was_unread:
            dropped += _expiring(before)
        if is_now_unread:
            added += _expiring(after)
        if is_now_unread != was_unread:
            by = 1 if is_now_unread else -1
            counts = adjust_counts(counts, by, category=after.category, delivered_ms=after.delivered_ms or 0)
    return InboxChange(
        version=snapshot.stored.version,
        counts=replace(counts, version=snapshot.stored.version + 1),
        rows=tuple(written),
        expiring=tuple(added),
        dropped=_without(dropped, added),
    )


def mark_read(row: NotificationRow, snapshot: InboxSnapshot) -> NotificationRow:
    """Mark as read. A notification that is already read does not change."""
    return row if is_read(row, snapshot.counts) else replace(row, read_ms=snapshot.now_ms)


def mark_unread(row: NotificationRow, snapshot: InboxSnapshot) -> NotificationRow:
    """Mark as unread at a time after every mark of all, so that no such mark covers it."""
    if not is_read(row, snapshot.counts):
        return row
    return replace(row, read_ms=None, reopened_ms=snapshot.now_ms)


def archive(row: NotificationRow, snapshot: InboxSnapshot) -> NotificationRow:
    return row if row.archived_ms is not None else replace(row, archived_ms=snapshot.now_ms)


def restore(row: NotificationRow, _: InboxSnapshot) -> NotificationRow:
    return replace(row, archived_ms=None)


def redact(
    row: NotificationRow | None, snapshot: InboxSnapshot, notification: NotificationId, category: int
) -> NotificationRow:
    """Redact the row. It keeps the proof of the recall: when it was delivered, read and withdrawn."""
    if row is None:
        return NotificationRow(
            id=notification, category=category, delivered_ms=None, redacted_ms=snapshot.now_ms
        )
    if row.redacted_ms is not None:
        return row
    read_ms = None if row.delivered_ms is None else read_at_ms(row, snapshot.counts)
    return replace(row, redacted_ms=snapshot.now_ms, read_ms=read_ms)


def mark_ms(snapshot: InboxSnapshot, before_ms: int | None) -> int:
    """Return the time of a mark of all, at most the inbox's own time: it never covers later notifications."""
    return snapshot.now_ms if before_ms is None else min(before_ms, snapshot.now_ms)


def is_mark_new(snapshot: InboxSnapshot, at_ms: int, category: int | None) -> bool:
    """Tell whether a mark of all changes anything: it is above the stored one, and something was delivered since."""
    counts = snapshot.counts
    marked_ms = counts.read_before_ms if category is None else read_up_to_ms(counts, category)
    return min(at_ms, snapshot.stored.latest_ms) > marked_ms


def needs_rows(snapshot: InboxSnapshot, at_ms: int, category: int | None) -> bool:
    """Tell whether the counts after a mark of all depend on the rows.

    A mark up to now empties the counts that it covers, so no rows are needed. The exception is a category of which
    only some notifications are unseen.
    """
    if snapshot.counts.total == 0:
        return False
    is_split = category is not None and snapshot.counts.unseen not in (0, snapshot.counts.total)
    return at_ms < snapshot.stored.latest_ms or is_split


def mark_all_read(
    snapshot: InboxSnapshot, at_ms: int, category: int | None, unread: Iterable[NotificationRow] | None
) -> InboxChange:
    """Mark all as read up to `at_ms`. `unread` are the counted rows, if `needs_rows`."""
    if unread is None:
        counts = _emptied(snapshot.counts, category)
        marked = _with_mark(counts, at_ms, category)
    else:
        marked = _with_mark(replace(snapshot.counts, total=0, by_category={}, unseen=0), at_ms, category)
        after = replace(snapshot, counts=marked)
        for row in unread:
            if is_unread(row, after):
                marked = adjust_counts(marked, 1, category=row.category, delivered_ms=row.delivered_ms or 0)
    return _only_counts(snapshot, marked)


def has_unseen(snapshot: InboxSnapshot) -> bool:
    """Tell whether anything was delivered since the user last viewed the inbox. It may be archived by now."""
    return snapshot.stored.latest_ms > snapshot.counts.seen_before_ms


def mark_all_seen(snapshot: InboxSnapshot) -> InboxChange:
    return _only_counts(snapshot, replace(snapshot.counts, seen_before_ms=snapshot.now_ms, unseen=0))


def settlement_only(snapshot: InboxSnapshot) -> InboxChange:
    return _only_counts(snapshot, snapshot.counts)


def _only_counts(snapshot: InboxSnapshot, counts: UnreadCounts) -> InboxChange:
    return InboxChange(
        version=snapshot.stored.version,
        counts=replace(counts, version=snapshot.stored.version + 1),
        dropped=snapshot.dropped,
    )


def _with_mark(counts: UnreadCounts, at_ms: int, category: int | None) -> UnreadCounts:
    if category is None:
        return replace(counts, read_before_ms=max(at_ms, counts.read_before_ms))
    marks = dict(counts.category_read_before_ms)
    marks[category] = max(at_ms, marks.get(category, 0))
    return replace(counts, category_read_before_ms=marks)


def _emptied(counts: UnreadCounts, category: int | None) -> UnreadCounts:
    """Empty all counts or those of a category. In the second case, all or none of the inbox is unseen."""
    if category is None:
        return replace(counts, total=0, by_category={}, unseen=0)
    categories = dict(counts.by_category)
    removed = categories.pop(category, 0)
    unseen = counts.unseen - removed if counts.unseen == counts.total else counts.unseen
    return replace(counts, total=counts.total - removed, by_category=categories, unseen=unseen)


def expiry_entry(row: NotificationRow) -> ExpiryEntry | None:
    if row.expires_ms is None or row.delivered_ms is None:
        return None
    return ExpiryEntry(
        id=row.id,
        at_ms=row.expires_ms,
        category=row.category,
        since_ms=row.since_ms,
        delivered_ms=row.delivered_ms,
    )


def _expiring(row: NotificationRow) -> list[ExpiryEntry]:
    found = expiry_entry(row)
    return [] if found is None else [found]


def _without(dropped: Iterable[ExpiryEntry], added: Iterable[ExpiryEntry]) -> tuple[ExpiryEntry, ...]:
    """Return each dropped entry once, without added ones: a transaction can name an item only once."""
    written = {(each.at_ms, each.id) for each in added}
    deleted = {(each.at_ms, each.id): each for each in dropped}
    return tuple(each for key, each in deleted.items() if key not in written)
