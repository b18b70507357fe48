"""Mutants of inboxes, each without one rule. The state machine must detect every one of them."""

from typing import override

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.model import (
    InboxChange,
    InboxKey,
    NotificationRow,
    StoredInbox,
    ThrottleSlot,
    UnreadCounts,
)
from tidings.inboxes.ports import DeliveryOutcome, InboxOperation
from tidings.inboxes.store import DynamoInboxRepository, repository


class CountsAgain(DynamoInboxRepository):
    """A redelivery is counted: the row's absence is not a condition."""

    @override
    async def add(
        self, inbox_key: InboxKey, row: NotificationRow, slot: ThrottleSlot | None = None
    ) -> DeliveryOutcome | UnreadCounts:
        given = await super().add(inbox_key, row, slot)
        if given is DeliveryOutcome.EXISTS:
            standing = await self.stored(inbox_key, 0)
            counts = rules.adjust_counts(
                standing.counts, 1, category=row.category, delivered_ms=row.delivered_ms or 0
            )
            later = replace(counts, version=counts.version + 1)
            await self.commit(
                inbox_key, InboxOperation.MARK, InboxChange(version=counts.version, counts=later)
            )
        return given


class NeverExpires(DynamoInboxRepository):
    """Expired notifications stay in the counts."""

    @override
    async def stored(self, inbox_key: InboxKey, expiring: int) -> StoredInbox:
        return StoredInbox((await super().stored(inbox_key, expiring)).counts, ())


class CountsBelowMarks(DynamoInboxRepository):
    """A late chunk is delivered at the time at which it was sent, and counted despite later marks."""

    @override
    async def add(
        self, inbox_key: InboxKey, row: NotificationRow, slot: ThrottleSlot | None = None
    ) -> DeliveryOutcome | UnreadCounts:
        condition, repository._IS_LATER = repository._IS_LATER, "attribute_not_exists(nothing) OR :at > :sent"
        try:
            return await super().add(inbox_key, replace(row, delivered_ms=row.sent_ms + 1), slot)
        finally:
            repository._IS_LATER = condition


class RedactsTwice(DynamoInboxRepository):
    """A redaction takes a read notification out of the counts."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        row = change.rows[0] if operation is InboxOperation.REDACT else None
        if row is not None and row.read_ms is not None and change.counts is not None and change.counts.total:
            fewer = rules.adjust_counts(change.counts, -1, category=0, delivered_ms=0)
            change = replace(change, counts=fewer)
        return await super().commit(inbox_key, operation, change)


class LeavesMarksBehind(DynamoInboxRepository):
    """A notification that is made unread again has no new time."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        rows = tuple(replace(row, reopened_ms=None) for row in change.rows)
        return await super().commit(inbox_key, operation, replace(change, rows=rows))


class ForgetsUnseen(DynamoInboxRepository):
    """A notification that expired before it was seen stays unseen."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        if operation is InboxOperation.SETTLE and change.dropped and change.counts is not None:
            unseen = max(change.counts.unseen, (await self.stored(inbox_key, 0)).counts.unseen)
            change = replace(change, counts=replace(change.counts, unseen=unseen))
        return await super().commit(inbox_key, operation, change)


class ComesBack(DynamoInboxRepository):
    """A row that the retention deleted can be delivered again."""

    @override
    async def add(
        self, inbox_key: InboxKey, row: NotificationRow, slot: ThrottleSlot | None = None
    ) -> DeliveryOutcome | UnreadCounts:
        condition, repository._IS_LATER = (
            repository._IS_LATER,
            "(attribute_not_exists(latest) OR latest < :at) AND :sent > :one",
        )
        try:
            return await super().add(inbox_key, row, slot)
        finally:
            repository._IS_LATER = condition


class NoTombstones(DynamoInboxRepository):
    """A redaction before the delivery writes no tombstone."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        rows = tuple(row for row in change.rows if row.delivered_ms is not None)
        return await super().commit(inbox_key, operation, replace(change, rows=rows))


class GathersAgain(DynamoInboxRepository):
    """A gathered notification has no row, so a redelivery gathers it again."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        rows = tuple(row for row in change.new_rows if row.digest_of is None)
        return await super().commit(inbox_key, operation, replace(change, new_rows=rows))


class NeverLeaves(DynamoInboxRepository):
    """A recalled notification stays in its digest."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        if operation is InboxOperation.REDACT:
            change = replace(change, rows=tuple(row for row in change.rows if row.gathered == 0))
        return await super().commit(inbox_key, operation, change)


class IgnoresVersions(DynamoInboxRepository):
    """A digest is written without regard to changes since it was read."""

    @override
    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        if change.counts is not None and operation is InboxOperation.GATHER:
            version = (await self.stored(inbox_key, 0)).counts.version
            change = replace(change, version=version, counts=replace(change.counts, version=version + 1))
        return await super().commit(inbox_key, operation, change)
