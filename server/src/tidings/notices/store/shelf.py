"""Rows and counts in DynamoDB. Thin: conditions and shapes are here, decisions are not."""

from collections.abc import Collection, Mapping, Sequence

from tidings.kernel.ids import TenantId, UserId, first_ulid
from tidings.notices.model import (
    UNCATEGORISED,
    Change,
    Counts,
    InboxId,
    NoticeId,
    Owner,
    Row,
    Standing,
    Wide,
)
from tidings.notices.ports import Deed, Given, RowPage
from tidings.notices.rules import expiring_of
from tidings.notices.store import items
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Action, Delete, Put, Update
from tidings.platform.dynamo.values import Value
from tidings.tables.items.inbox import ROW_SORT
from tidings.tables.patterns import notices as patterns

_TABLE = "inbox"
_ABSENT = "attribute_not_exists(PK)"
_IS_LATER = "(attribute_not_exists(latest) OR latest < :at) AND (attribute_not_exists(kept_from) OR kept_from <= :sent)"
_OF_DEED = {
    Deed.MARK: patterns.MARK_ROW,
    Deed.SETTLE: patterns.SETTLE,
    Deed.REDACT: patterns.REDACT_ROW,
}
_COUNTS = 2  # of direct notices and of broadcasts


class DynamoShelf:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def give(self, owner: Owner, row: Row) -> Given | Counts:
        actions: list[Action] = [
            Put(table=_TABLE, item=items.row_item(owner, row), condition=_ABSENT),
            _one_more(owner, row),
        ]
        if (expiring := expiring_of(row)) is not None:
            actions.append(Put(table=_TABLE, item=items.expiring_item(owner, expiring)))
        try:
            await self._client.transact_write(patterns.DELIVER, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            return _not_given(cancelled)
        except DynamoError as error:
            unwritten(error)
        return Given.GIVEN

    async def standing(self, owner: Owner, expiring: int) -> Standing:
        query = Query(
            condition="PK = :p AND SK BETWEEN :c AND :e",
            values={
                ":p": items.partition(owner),
                ":c": items.FIRST_COUNTS,
                ":e": items.AFTER_EXPIRING,
            },
            limit=expiring + _COUNTS,
        )
        try:
            page = await self._client.query(patterns.READ_COUNTS, query)
        except DynamoError as error:
            unread(error)
        counts = next(
            (items.counts_of(item) for item in page.items if item["SK"] == items.COUNTS_KEY), Counts()
        )
        wide = next((items.wide_of(item) for item in page.items if item["SK"] == items.STATE_KEY), None)
        found = tuple(items.expiring_of(item) for item in page.items if item["SK"].startswith("e#"))
        return Standing(counts, found, is_cut=page.start is not None, wide=wide)

    async def rows(self, owner: Owner, ids: Collection[NoticeId]) -> Mapping[NoticeId, Row]:
        keys = [items.row_key(owner, notice) for notice in ids]
        try:
            found = await self._client.batch_get(patterns.READ_ROW, keys) if keys else []
        except DynamoError as error:
            unread(error)
        return {(row := items.row_of(item)).id: row for item in found}

    async def page(self, owner: Owner, below: NoticeId | None, limit: int) -> RowPage:
        query = Query(
            condition="PK = :p AND begins_with(SK, :m)",
            values={":p": items.partition(owner), ":m": items.FIRST_ROW},
            limit=limit,
            backward=True,
            start=None if below is None else items.row_key(owner, below),
        )
        try:
            page = await self._client.query(patterns.READ_ROWS, query)
        except DynamoError as error:
            unread(error)
        return RowPage([items.row_of(item) for item in page.items], has_more=page.start is not None)

    async def sent_before(self, owner: Owner, at_ms: int) -> Sequence[Row]:
        query = Query(
            condition="PK = :p AND SK BETWEEN :m AND :n",
            values={
                ":p": items.partition(owner),
                ":m": items.FIRST_ROW,
                ":n": ROW_SORT.render(notice=first_ulid(at_ms)),
            },
        )
        found: list[Row] = []
        try:
            async for page in self._client.pages(patterns.RECOUNT, query):
                found += [items.row_of(item) for item in page.items]
        except DynamoError as error:
            unread(error)
        return [row for row in found if row.sent_ms < at_ms]

    async def join(self, owner: Owner, wide: Wide) -> bool:
        try:
            await self._client.put(
                patterns.JOIN, items.wide_item(owner, wide), condition=_ABSENT, repeatable=True
            )
        except ConditionFailedError:
            return False
        except DynamoError as error:
            unwritten(error)
        return True

    async def commit(self, owner: Owner, deed: Deed, change: Change) -> bool:
        heads = [*_counts_put(owner, change), *_wide_put(owner, change)]
        rest = [
            *(Put(table=_TABLE, item=items.row_item(owner, row)) for row in change.rows),
            *(Put(table=_TABLE, item=items.expiring_item(owner, each)) for each in change.expiring),
            *(Delete(table=_TABLE, key=items.expiring_key(owner, each)) for each in change.dropped),
        ]
        try:
            if len(heads) == 1 and not rest:
                await self._put(patterns.MARK_ALL if change.wide is None else patterns.CHANGE_STATE, heads[0])
            else:
                pattern = _OF_DEED[deed] if rest else patterns.MARK_BOTH
                await self._client.transact_write(pattern, [*heads, *rest], repeatable=True)
        except ConditionFailedError:
            return False
        except TransactionCancelledError as cancelled:
            if any(reason.is_condition for reason in cancelled.reasons[: len(heads)]):
                return False
            unwritten(cancelled)
        except DynamoError as error:
            unwritten(error)
        return True

    async def _put(self, pattern: AccessPattern, put: Put) -> None:
        """Safe to repeat: after doubt it finds its own version there, and is told so."""
        await self._client.put(pattern, put.item, condition=put.condition, values=put.values, repeatable=True)

    async def rows_of(
        self, tenant: TenantId, inbox: InboxId, notice: NoticeId, users: Sequence[UserId]
    ) -> Mapping[UserId, Row]:
        owners = [Owner(tenant, user, inbox) for user in users]
        keys = {items.partition(owner): owner.user for owner in owners}
        try:
            found = await self._client.batch_get(
                patterns.PROVE_RECALL, [items.row_key(owner, notice) for owner in owners]
            )
        except DynamoError as error:
            unread(error)
        return {keys[item["PK"]]: items.row_of(item) for item in found}

    async def forget(self, owner: Owner, ids: Sequence[NoticeId]) -> None:
        keys = [items.row_key(owner, notice) for notice in ids]
        try:
            if keys:
                await self._client.batch_write(patterns.DELETE_ROWS, deletes=keys, repeatable=True)
        except DynamoError as error:
            unwritten(error)


def _one_more(owner: Owner, row: Row) -> Update:
    names = {"#count": "count"}
    added = ["#count :one", "unseen :one", "version :one"]
    if row.category != UNCATEGORISED:
        names["#category"] = items.count_name(row.category)
        added.append("#category :one")
    return Update(
        table=_TABLE,
        key=items.counts_key(owner),
        update=f"SET latest = :at, last_updated = :at ADD {', '.join(added)}",
        condition=_IS_LATER,
        names=names,
        values={":one": 1, ":at": row.delivered_ms, ":sent": row.sent_ms},
    )


def _not_given(cancelled: TransactionCancelledError) -> Given | Counts:
    """A row that is there settles it, whatever the counts say."""
    row, counts, *_ = cancelled.reasons
    if row.is_condition:
        return Given.THERE
    if not counts.is_condition or counts.item is None:
        unwritten(cancelled)
    return items.counts_of(counts.item)


def _counts_put(owner: Owner, change: Change) -> list[Put]:
    if change.counts is None:
        return []
    return [_if_as_read(items.counts_item(owner, change.counts), change.version)]


def _wide_put(owner: Owner, change: Change) -> list[Put]:
    if change.wide is None:
        return []
    return [_if_as_read(items.wide_item(owner, change.wide), change.wide.version - 1)]


def _if_as_read(item: dict[str, Value], version: int) -> Put:
    if not version:
        return Put(table=_TABLE, item=item, condition=_ABSENT)
    return Put(table=_TABLE, item=item, condition="version = :v", values={":v": version})
