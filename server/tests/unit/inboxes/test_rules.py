"""Unread rows, one rule at a time; the state machine tests their combinations."""

import pytest
from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.model import (
    ExpiryEntry,
    InboxId,
    InboxKey,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
    StoredInbox,
    UnreadCounts,
)
from tidings.kernel.ids import TenantId, UserId, encode_ulid, min_ulid, ulid_ms

NOW = 1_794_700_000_000
OWNER = InboxKey(TenantId("acme"), UserId("anna"), InboxId("default"))
ROW = NotificationRow(id=NotificationId(encode_ulid(NOW - 5_000, 7)), category=1, delivered_ms=NOW - 4_000)
MARKED = UnreadCounts(total=1, read_before_ms=NOW - 3_000, latest_ms=NOW - 3_000, version=3)


def sheet(counts: UnreadCounts | None = None, keep_from_ms: int = 0) -> InboxSnapshot:
    counts = counts or UnreadCounts(total=1, by_category={1: 1}, unseen=1, latest_ms=NOW - 4_000, version=3)
    return InboxSnapshot(owner=OWNER, stored=counts, counts=counts, now_ms=NOW, retain_from_ms=keep_from_ms)


@pytest.mark.parametrize(
    ("row", "at", "is_unread"),
    [
        (ROW, sheet(), True),
        (replace(ROW, read_ms=NOW), sheet(), False),
        (ROW, sheet(MARKED), False),
        (replace(ROW, reopened_ms=NOW - 1_000), sheet(MARKED), True),
        (ROW, sheet(UnreadCounts(category_read_before_ms={1: NOW})), False),
        (ROW, sheet(UnreadCounts(category_read_before_ms={2: NOW})), True),
        (replace(ROW, archived_ms=NOW), sheet(), False),
        (replace(ROW, redacted_ms=NOW), sheet(), False),
        (replace(ROW, delivered_ms=None), sheet(), False),
        (replace(ROW, expires_ms=NOW), sheet(), False),
        (replace(ROW, expires_ms=NOW + 1), sheet(), True),
        (ROW, sheet(keep_from_ms=NOW - 5_000), True),
        (ROW, sheet(keep_from_ms=NOW - 4_999), False),
    ],
)
def test_a_notification_is_unread_unless_a_mark_covers_it(
    row: NotificationRow, at: InboxSnapshot, *, is_unread: bool
) -> None:
    assert rules.is_unread(row, at) is is_unread


def test_the_time_of_an_inbox_is_never_before_its_latest_change() -> None:
    ahead = UnreadCounts(latest_ms=NOW + 60_000, version=1)
    assert rules.settle_expired(OWNER, StoredInbox(ahead, ()), NOW).now_ms == NOW + 60_001
    assert rules.settle_expired(OWNER, StoredInbox(UnreadCounts(), ()), NOW).now_ms == NOW


def test_a_mark_reaches_no_further_than_now() -> None:
    assert rules.mark_ms(sheet(), None) == rules.mark_ms(sheet(), NOW + 10**9) == NOW
    assert rules.mark_ms(sheet(), NOW - 1) == NOW - 1


def test_an_expiry_below_a_mark_is_dropped_without_lowering_counts() -> None:
    left = ExpiryEntry(id=ROW.id, at_ms=NOW - 1, category=1, since_ms=NOW - 4_000, delivered_ms=NOW - 4_000)
    found = rules.settle_expired(OWNER, StoredInbox(MARKED, (left,)), NOW)
    assert (found.counts.total, found.dropped) == (1, (left,))


def test_a_mark_up_to_now_needs_no_rows_and_one_in_the_past_does() -> None:
    assert not rules.needs_rows(sheet(), NOW, None)
    assert rules.needs_rows(sheet(), NOW - 4_001, None)
    half_seen = UnreadCounts(total=2, by_category={1: 1}, unseen=1, latest_ms=NOW - 4_000)
    assert rules.needs_rows(sheet(half_seen), NOW, 1)


def test_a_transaction_touches_an_item_once() -> None:
    """A restored notification keeps its expiry entry, although archiving would drop it."""
    row = replace(ROW, expires_ms=NOW + 9_000, read_ms=NOW - 10)
    left = rules.expiry_entry(row)
    assert left is not None
    at = replace(sheet(), dropped=(left,))
    change = rules.apply_row_changes(at, [(row, rules.mark_unread(row, at))])
    assert [each.id for each in change.expiring] == [row.id]
    assert change.dropped == ()


def test_a_ulid_contains_its_creation_time() -> None:
    assert ulid_ms(encode_ulid(NOW, 2**80 - 1)) == ulid_ms(min_ulid(NOW)) == NOW
    assert encode_ulid(NOW - 1, 2**80 - 1) < min_ulid(NOW) < encode_ulid(NOW, 1)
