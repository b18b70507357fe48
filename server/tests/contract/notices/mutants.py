"""Inboxes with one rule taken away each. The machine must tell every one of them from the real ones."""

from typing import override

from msgspec.structs import replace

from tidings.notices import rules
from tidings.notices.model import Change, Counts, Owner, Row, Standing
from tidings.notices.ports import Deed, Given
from tidings.notices.store import DynamoShelf, shelf


class CountsAgain(DynamoShelf):
    """A redelivery is counted: the row's absence is not a condition."""

    @override
    async def give(self, owner: Owner, row: Row) -> Given | Counts:
        given = await super().give(owner, row)
        if given is Given.THERE:
            standing = await self.standing(owner, 0)
            counts = rules.moved(
                standing.counts, 1, category=row.category, delivered_ms=row.delivered_ms or 0
            )
            later = replace(counts, version=counts.version + 1)
            await self.commit(owner, Deed.MARK, Change(version=counts.version, counts=later))
        return given


class NeverExpires(DynamoShelf):
    """What has expired stays in the counts."""

    @override
    async def standing(self, owner: Owner, expiring: int) -> Standing:
        return Standing((await super().standing(owner, expiring)).counts, ())


class CountsBelowMarks(DynamoShelf):
    """A late chunk is given at the time at which it was sent, and counted whatever was marked since."""

    @override
    async def give(self, owner: Owner, row: Row) -> Given | Counts:
        condition, shelf._IS_LATER = shelf._IS_LATER, "attribute_not_exists(nothing) OR :at > :sent"
        try:
            return await super().give(owner, replace(row, delivered_ms=row.sent_ms + 1))
        finally:
            shelf._IS_LATER = condition


class RedactsTwice(DynamoShelf):
    """A redaction takes one out of the counts though it was read."""

    @override
    async def commit(self, owner: Owner, deed: Deed, change: Change) -> bool:
        row = change.rows[0] if deed is Deed.REDACT else None
        if row is not None and row.read_ms is not None and change.counts is not None and change.counts.total:
            fewer = rules.moved(change.counts, -1, category=0, delivered_ms=0)
            change = replace(change, counts=fewer)
        return await super().commit(owner, deed, change)


class LeavesMarksBehind(DynamoShelf):
    """What is made unread again is given no time of its own."""

    @override
    async def commit(self, owner: Owner, deed: Deed, change: Change) -> bool:
        rows = tuple(replace(row, reopened_ms=None) for row in change.rows)
        return await super().commit(owner, deed, replace(change, rows=rows))


class ForgetsUnseen(DynamoShelf):
    """What has expired before it was seen stays unseen."""

    @override
    async def commit(self, owner: Owner, deed: Deed, change: Change) -> bool:
        if deed is Deed.SETTLE and change.dropped and change.counts is not None:
            unseen = max(change.counts.unseen, (await self.standing(owner, 0)).counts.unseen)
            change = replace(change, counts=replace(change.counts, unseen=unseen))
        return await super().commit(owner, deed, change)


class ComesBack(DynamoShelf):
    """A row that was forgotten can be given again: the mark of what is kept is not asked."""

    @override
    async def give(self, owner: Owner, row: Row) -> Given | Counts:
        condition, shelf._IS_LATER = (
            shelf._IS_LATER,
            "(attribute_not_exists(latest) OR latest < :at) AND :sent > :one",
        )
        try:
            return await super().give(owner, row)
        finally:
            shelf._IS_LATER = condition


class NoTombstones(DynamoShelf):
    """A redaction leaves nothing where the row has yet to come."""

    @override
    async def commit(self, owner: Owner, deed: Deed, change: Change) -> bool:
        rows = tuple(row for row in change.rows if row.delivered_ms is not None)
        return await super().commit(owner, deed, replace(change, rows=rows))
