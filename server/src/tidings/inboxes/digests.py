"""Gather notifications with the same key into the first one: "Anna and 4 others". Pure.

The row of the first notification is shown and counted, once. A later notification gets a row of its own that is neither
shown nor counted: it makes a retry find that it was gathered, and a recall find the digest that it must leave.
"""

from typing import NamedTuple

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.model import (
    DigestKey,
    InboxChange,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
    OpenDigest,
)
from tidings.inboxes.ports import DeliveryOutcome
from tidings.inboxes.preferences import Throttle

NO_KEY = "-"
"""The key of notifications that are sent without one. No given key starts with `-`."""


class DigestRule(NamedTuple):
    """How a notification is gathered. `throttle`: the limit of digests, if the category has one."""

    key: DigestKey
    window_ms: int
    throttle: Throttle | None = None


class DigestView(NamedTuple):
    """State that a delivery reads after the counts: the notification's own row, the last digest of its key, its first row."""

    own: NotificationRow | None
    digest: OpenDigest | None
    first: NotificationRow | None


class DigestDelivery(NamedTuple):
    """`shown_by`: the row that shows the notification. `EXCLUDED`: the throttle is exceeded."""

    outcome: DeliveryOutcome
    shown_by: NotificationId
    change: InboxChange | None = None


def deliver(
    row: NotificationRow, view: DigestView, snapshot: InboxSnapshot, rule: DigestRule
) -> DigestDelivery:
    if view.own is not None:
        return DigestDelivery(DeliveryOutcome.EXISTS, view.own.digest_of or row.id)
    is_expired = row.expires_ms is not None and row.expires_ms <= snapshot.now_ms
    if is_expired or row.sent_ms < snapshot.retain_from_ms:
        return DigestDelivery(DeliveryOutcome.LATE, row.id)
    if view.first is not None and is_open(view.digest, view.first, snapshot):
        change = gather(view.first, row, snapshot)
        return DigestDelivery(DeliveryOutcome.GATHERED, view.first.id, change)
    counts = snapshot.counts
    if rule.throttle is not None:
        slot = rules.take_slot(counts, row.category, rule.throttle, snapshot.now_ms)
        if slot is None:
            return DigestDelivery(DeliveryOutcome.EXCLUDED, row.id)
        counts = replace(counts, throttled={**counts.throttled, row.category: slot.after})
    change = start(row, replace(snapshot, counts=counts), rule)
    return DigestDelivery(DeliveryOutcome.DELIVERED, row.id, change)


def is_open(digest: OpenDigest | None, first: NotificationRow | None, snapshot: InboxSnapshot) -> bool:
    """Tell whether a digest takes another notification.

    Once the user has read or archived it, it does not: they would not notice the change.
    """
    if digest is None or first is None or snapshot.now_ms >= digest.until_ms:
        return False
    return first.gathered > 0 and rules.is_unread(first, snapshot)


def start(row: NotificationRow, snapshot: InboxSnapshot, rule: DigestRule) -> InboxChange:
    """Deliver the first notification of a digest, and count it."""
    first = replace(row, delivered_ms=snapshot.now_ms, gathered=1)
    change = rules.apply_row_changes(snapshot, [(None, first)])
    digest = OpenDigest(rule.key, row.id, snapshot.now_ms + rule.window_ms)
    return replace(change, rows=(), new_rows=change.rows, digest=digest)


def gather(first: NotificationRow, row: NotificationRow, snapshot: InboxSnapshot) -> InboxChange:
    """Add a notification to a digest. The counts do not change, and it expires as late as the last of its notifications.

    The newest is the one that was sent last, so that the result does not depend on the order of deliveries.
    """
    after = replace(
        first,
        gathered=first.gathered + 1,
        newest=max(first.content_id, row.id),
        expires_ms=None
        if first.expires_ms is None or row.expires_ms is None
        else max(first.expires_ms, row.expires_ms),
    )
    member = replace(row, delivered_ms=snapshot.now_ms, digest_of=first.id)
    return replace(rules.apply_row_changes(snapshot, [(first, after)]), new_rows=(member,))


def has_left(row: NotificationRow) -> bool:
    """Tell whether a recall has taken the notification of this row out of its digest."""
    return row.redacted_ms is not None or row.withdrawn_ms is not None


def leave(
    row: NotificationRow, first: NotificationRow, newest: NotificationId | None, snapshot: InboxSnapshot
) -> InboxChange:
    """Take a recalled notification out of its digest. `newest`: the last of the others. None: there is none.

    `row` may be the first row itself: it stays for the others. When the last notification leaves, the row is redacted.
    """
    changes: list[tuple[NotificationRow | None, NotificationRow]] = []
    after = replace(first, gathered=first.gathered - 1, newest=newest)
    if row.id == first.id:
        after = replace(after, withdrawn_ms=snapshot.now_ms)
    else:
        changes.append((row, rules.redact(row, snapshot, row.id, row.category)))
    if newest is None:
        after = rules.redact(after, snapshot, first.id, first.category)
    return rules.apply_row_changes(snapshot, [*changes, (first, after)])
