"""Rows and counts in DynamoDB: conditions and items. `rules` has the decisions."""

from collections.abc import Collection, Mapping, Sequence

from tidings.inboxes.model import (
    UNCATEGORISED,
    BroadcastState,
    DigestKey,
    InboxChange,
    InboxId,
    InboxKey,
    NotificationId,
    NotificationRow,
    OpenDigest,
    StoredInbox,
    ThrottleSlot,
    UnreadCounts,
)
from tidings.inboxes.ports import DeliveryOutcome, InboxOperation, RowPage
from tidings.inboxes.preferences import NO_PREFERENCES
from tidings.inboxes.rules import expiry_entry
from tidings.inboxes.store import items
from tidings.inboxes.store.preferences import PREFERENCES_KEY, preferences_from_item
from tidings.kernel.ids import TenantId, UserId, min_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    condition_held,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Delete, Put, Query, TransactAction, Update
from tidings.schema.tables.items.inboxes import ROW_SORT
from tidings.schema.tables.patterns import inboxes as patterns

_TABLE = "inbox"
_ABSENT = "attribute_not_exists(PK)"
_IS_LATER = "(attribute_not_exists(latest) OR latest < :at) AND (attribute_not_exists(kept_from) OR kept_from <= :sent)"
_PATTERNS = {
    InboxOperation.MARK: patterns.MARK_ROW,
    InboxOperation.SETTLE: patterns.SETTLE,
    InboxOperation.REDACT: patterns.REDACT_ROW,
    InboxOperation.GATHER: patterns.GATHER,
}
_COUNT_ITEMS = 3
"""The counts of direct notifications, the broadcast state and the preferences."""


class DynamoInboxRepository:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def add(
        self, inbox_key: InboxKey, row: NotificationRow, slot: ThrottleSlot | None = None
    ) -> DeliveryOutcome | UnreadCounts:
        actions: list[TransactAction] = [
            Put(table=_TABLE, item=items.row_item(inbox_key, row), condition=_ABSENT),
            _increment(inbox_key, row, slot),
        ]
        if (expiring := expiry_entry(row)) is not None:
            actions.append(Put(table=_TABLE, item=items.expiry_item(inbox_key, expiring)))
        try:
            await self._client.transact_write(patterns.DELIVER, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            return _rejection(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return DeliveryOutcome.DELIVERED

    async def exclude(self, inbox_key: InboxKey, row: NotificationRow) -> DeliveryOutcome:
        item = items.row_item(inbox_key, row)
        with translate_write_errors:
            is_new = await condition_held(
                self._client.put(patterns.EXCLUDE, item, condition=_ABSENT, repeatable=True)
            )
        return DeliveryOutcome.EXCLUDED if is_new else DeliveryOutcome.EXISTS

    async def stored(self, inbox_key: InboxKey, expiring: int) -> StoredInbox:
        query = Query(
            condition="PK = :p AND SK BETWEEN :c AND :e",
            values={
                ":p": items.inbox_partition(inbox_key),
                ":c": items.FIRST_COUNTS,
                ":e": items.AFTER_EXPIRING,
            },
            limit=expiring + _COUNT_ITEMS,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.READ_COUNTS, query)
        by_key = {item["SK"]: item for item in page.items}
        counts, state, chosen = (
            by_key.get(key) for key in (items.COUNTS_KEY, items.STATE_KEY, PREFERENCES_KEY)
        )
        return StoredInbox(
            UnreadCounts() if counts is None else items.counts_from_item(counts),
            tuple(items.expiry_from_item(item) for key, item in by_key.items() if key.startswith("e#")),
            is_cut=page.start is not None,
            broadcast_state=None if state is None else items.broadcast_state_from_item(state),
            preferences=NO_PREFERENCES if chosen is None else preferences_from_item(chosen),
        )

    async def digest(self, inbox_key: InboxKey, key: DigestKey) -> OpenDigest | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_DIGEST, items.digest_key(inbox_key, key))
        return None if item is None else items.digest_from_item(key, item)

    async def rows(
        self, inbox_key: InboxKey, ids: Collection[NotificationId]
    ) -> Mapping[NotificationId, NotificationRow]:
        keys = [items.row_key(inbox_key, notification) for notification in ids]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_ROW, keys) if keys else []
        return {(row := items.row_from_item(item)).id: row for item in found}

    async def page(self, inbox_key: InboxKey, below: NotificationId | None, limit: int) -> RowPage:
        query = Query(
            condition="PK = :p AND begins_with(SK, :m)",
            values={":p": items.inbox_partition(inbox_key), ":m": items.FIRST_ROW},
            limit=limit,
            backward=True,
            start=None if below is None else items.row_key(inbox_key, below),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.READ_ROWS, query)
        return RowPage([items.row_from_item(item) for item in page.items], has_more=page.start is not None)

    async def sent_before(self, inbox_key: InboxKey, at_ms: int) -> Sequence[NotificationRow]:
        query = Query(
            condition="PK = :p AND SK BETWEEN :m AND :n",
            values={
                ":p": items.inbox_partition(inbox_key),
                ":m": items.FIRST_ROW,
                ":n": ROW_SORT.render(notification=min_ulid(at_ms)),
            },
        )
        found: list[NotificationRow] = []
        with translate_read_errors:
            async for page in self._client.pages(patterns.RECOUNT, query):
                found += [items.row_from_item(item) for item in page.items]
        return [row for row in found if row.sent_ms < at_ms]

    async def join(self, inbox_key: InboxKey, state: BroadcastState) -> bool:
        with translate_write_errors:
            return await condition_held(
                self._client.put(
                    patterns.JOIN,
                    items.broadcast_state_item(inbox_key, state),
                    condition=_ABSENT,
                    repeatable=True,
                )
            )

    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        heads = _head_puts(inbox_key, change)
        rest: list[TransactAction] = [
            *(Put(table=_TABLE, item=items.row_item(inbox_key, row)) for row in change.rows),
            *(Put(table=_TABLE, item=items.expiry_item(inbox_key, each)) for each in change.expiring),
            *(Delete(table=_TABLE, key=items.expiry_key(inbox_key, each)) for each in change.dropped),
        ]
        if change.digest is not None:
            rest.append(Put(table=_TABLE, item=items.digest_item(inbox_key, change.digest)))
        try:
            if len(heads) == 1 and not rest:
                await self._put(
                    patterns.MARK_ALL if change.broadcast_state is None else patterns.CHANGE_STATE, heads[0]
                )
            else:
                pattern = _PATTERNS[operation] if rest else patterns.MARK_BOTH
                await self._client.transact_write(pattern, [*heads, *rest], repeatable=True)
        except ConditionFailedError:
            return False
        except TransactionCancelledError as cancelled:
            if any(reason.is_condition for reason in cancelled.reasons[: len(heads)]):
                return False
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return True

    async def _put(self, pattern: AccessPattern, put: Put) -> None:
        """Put one item. Safe to repeat: after an unanswered attempt the version condition fails."""
        await self._client.put(pattern, put.item, condition=put.condition, values=put.values, repeatable=True)

    async def rows_of(
        self, tenant: TenantId, inbox: InboxId, notification: NotificationId, users: Sequence[UserId]
    ) -> Mapping[UserId, NotificationRow]:
        inbox_keys = [InboxKey(tenant, user, inbox) for user in users]
        partitions = {items.inbox_partition(key): key.user for key in inbox_keys}
        with translate_read_errors:
            found = await self._client.batch_get(
                patterns.PROVE_RECALL, [items.row_key(key, notification) for key in inbox_keys]
            )
        return {partitions[item["PK"]]: items.row_from_item(item) for item in found}

    async def delete_expired(self, inbox_key: InboxKey, ids: Sequence[NotificationId]) -> None:
        keys = [items.row_key(inbox_key, notification) for notification in ids]
        with translate_write_errors:
            if keys:
                await self._client.batch_write(patterns.DELETE_ROWS, deletes=keys, repeatable=True)


def _increment(inbox_key: InboxKey, row: NotificationRow, slot: ThrottleSlot | None) -> Update:
    names = {"#count": "count"}
    added = ["#count :one", "unseen :one", "version :one"]
    if row.category != UNCATEGORISED:
        names["#category"] = items.count_name(row.category)
        added.append("#category :one")
    values: dict[str, ItemValue] = {":one": 1, ":at": row.delivered_ms, ":sent": row.sent_ms}
    sets, condition = "latest = :at, last_updated = :at", _IS_LATER
    if slot is not None:
        names["#slot"] = items.throttle_name(row.category)
        values[":after"] = slot.after
        sets += ", #slot = :after"
        if slot.before:
            values[":before"] = slot.before
        condition += f" AND {'#slot = :before' if slot.before else 'attribute_not_exists(#slot)'}"
    return Update(
        table=_TABLE,
        key=items.counts_key(inbox_key),
        update=f"SET {sets} ADD {', '.join(added)}",
        condition=condition,
        names=names,
        values=values,
    )


def _rejection(cancelled: TransactionCancelledError) -> DeliveryOutcome | UnreadCounts:
    """Return why nothing was written. An existing row takes precedence over the counts."""
    row, counts, *_ = cancelled.reasons
    if row.is_condition:
        return DeliveryOutcome.EXISTS
    if not counts.is_condition or counts.item is None:
        raise_write_error(cancelled)
    return items.counts_from_item(counts.item)


def _head_puts(inbox_key: InboxKey, change: InboxChange) -> list[Put]:
    """Return the puts with a condition: counts and broadcast state of a version, and rows that do not exist."""
    puts = []
    if change.counts is not None:
        puts.append(_put_if_version(items.counts_item(inbox_key, change.counts), change.version))
    if (state := change.broadcast_state) is not None:
        puts.append(_put_if_version(items.broadcast_state_item(inbox_key, state), state.version - 1))
    new_rows = (items.row_item(inbox_key, row) for row in change.new_rows)
    return [*puts, *(Put(table=_TABLE, item=item, condition=_ABSENT) for item in new_rows)]


def _put_if_version(item: dict[str, ItemValue], version: int) -> Put:
    if not version:
        return Put(table=_TABLE, item=item, condition=_ABSENT)
    return Put(table=_TABLE, item=item, condition="version = :v", values={":v": version})
