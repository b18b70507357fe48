"""The log in DynamoDB. Writers use a conditional put at head + 1, or a transaction.

An item omits empty attributes. A message's id is not stored: it consists of the item's key.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from tidings.kernel.clock import Clock, format_ms, parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Draft, Entry, IdempotencyKey, KeyRecord, Refusal, SideWrites
from tidings.messages.ports import (
    COMMITTED,
    AppendOutcome,
    AppendStatus,
    DuplicateKey,
    LogTail,
    PositionTaken,
)
from tidings.messages.store.entry_items import ENTRY_ITEM, entry_from_bytes, entry_from_item, entry_item
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item
from tidings.platform.dynamo.errors import (
    CancellationReason,
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Put, Query, TransactAction, TransactionPart
from tidings.schema.tables.items.chats import EPHEMERAL_CONTENT, KEY_SORT, chat_key
from tidings.schema.tables.patterns import messages as patterns

ABSENT = "attribute_not_exists(chat_id)"
_LOST_AT_ONCE = 16
KEY_TTL_S = 7 * 24 * 3600
_LOG, _KEYS = "messages", "idempotency_keys"
_BETWEEN = "chat_id = :c AND #s BETWEEN :low AND :high"
_NAMES = {"#s": "sequence"}
MAX_READ_RANGE = 500
_KEYS_ONLY = "#s, #o, #k, #u, #c, #f, chat_rules"
_KEYS_ONLY_NAMES = {
    "#s": "sequence",
    "#o": "ordinal",
    "#k": "kind",
    "#u": "sender_id",
    "#c": "client_message_id",
    "#f": "fingerprint",
}
_METADATA = f"{_KEYS_ONLY}, created_at, edited_at, redacted_at, refers_to"
"""Attributes of an entry without its content. Use with `_KEYS_ONLY_NAMES`."""


class DynamoMessageLog:
    """`append_timeout_s`: an unanswered append is repeated for this time before it raises `outcome_unknown`."""

    def __init__(self, client: DynamoClient, clock: Clock, *, append_timeout_s: float = 5.0) -> None:
        self._client = client
        self._clock = clock
        self._append_timeout_s = append_timeout_s

    async def newest(self, chat: ChatKey) -> Entry | None:
        query = Query(condition="chat_id = :c", values={":c": chat_key(chat)}, limit=1, backward=True)
        with translate_read_errors:
            page = await self._client.query_as(ENTRY_ITEM, patterns.READ_HEAD, query)
        return entry_from_bytes(page.items[0]) if page.items else None

    async def follow(self, chat: ChatKey, after: int) -> LogTail:
        query = Query(
            condition="chat_id = :c AND #s > :n",
            values={":c": chat_key(chat), ":n": after},
            names=_KEYS_ONLY_NAMES,
            projection=_KEYS_ONLY,
        )
        with translate_read_errors:
            page = await self._client.query_as(ENTRY_ITEM, patterns.FOLLOW, query)
        return LogTail([entry_from_bytes(item) for item in page.items], has_more=page.start is not None)

    async def keys(self, chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
        found: list[tuple[IdempotencyKey, KeyRecord]] = []
        has_more = True
        while has_more and after < up_to:
            entries, has_more = await self.follow(chat, after)
            after = entries[-1].sequence if entries else after
            found += [(e.key, KeyRecord(e.sequence, e.fingerprint)) for e in entries if e.sequence <= up_to]
        return found

    async def refuse_key(self, chat: ChatKey, draft: Draft, code: Code) -> KeyRecord | Refusal | None:
        row = _refusal_item(chat, draft, code, self._clock.now_ms(), KEY_TTL_S)
        try:
            await self._client.put(patterns.REFUSE_KEY, row, condition=ABSENT, repeatable=True)
        except ConditionFailedError as failed:
            return None if failed.item is None else _appended_from_item(failed.item)
        except DynamoError as error:
            raise_write_error(error)
        return None

    async def find_key(self, chat: ChatKey, key: IdempotencyKey) -> KeyRecord | Refusal | None:
        row = {"chat_id": chat_key(chat), "client_message_id": _key_sort_key(key)}
        with translate_read_errors:
            item = await self._client.get(patterns.FIND_KEY, row)
        return None if item is None else _appended_from_item(item)

    async def append(
        self,
        chat: ChatKey,
        entries: Sequence[Entry],
        side_writes: SideWrites | None = None,
        *,
        is_keyed: bool = False,
    ) -> AppendOutcome:
        if side_writes is not None and not isinstance(side_writes, TransactionPart):
            raise TypeError(f"side writes must be a TransactionPart, not {side_writes!r}")
        with translate_write_errors:
            if len(entries) == 1 and side_writes is None and not is_keyed:
                return await self._put(chat, entries[0])
            return await self._transact(chat, entries, side_writes, is_keyed=is_keyed)

    async def _put(self, chat: ChatKey, entry: Entry) -> AppendOutcome:
        try:
            # Race: the first attempt is applied but its response is lost, and the client repeats it. The condition
            # fails and returns the item: our own, or that of the process that was first at this sequence.
            await self._client.put(
                patterns.APPEND,
                entry_item(chat, entry),
                condition=ABSENT,
                repeatable=True,
                timeout_s=self._append_timeout_s,
            )
        except ConditionFailedError as failed:
            return PositionTaken(None if failed.item is None else entry_from_item(failed.item))
        return COMMITTED

    async def put_lost(self, chat: ChatKey, entries: Sequence[Entry]) -> None:
        await gather_limited((self._put_lost(chat, entry) for entry in entries), _LOST_AT_ONCE)

    async def _put_lost(self, chat: ChatKey, entry: Entry) -> None:
        # Race: several processes find the same gap. All put the same entry, so the first one wins.
        with translate_write_errors, suppress(ConditionFailedError):
            await self._client.put(
                patterns.PUT_LOST, entry_item(chat, entry), condition=ABSENT, repeatable=True
            )

    async def _transact(
        self, chat: ChatKey, entries: Sequence[Entry], side_writes: TransactionPart | None, *, is_keyed: bool
    ) -> AppendOutcome:
        actions: list[TransactAction] = [
            Put(table=_LOG, item=entry_item(chat, e), condition=ABSENT) for e in entries
        ]
        if is_keyed:
            actions.append(Put(table=_KEYS, item=_key_item(chat, entries[0], KEY_TTL_S), condition=ABSENT))
        if side_writes is not None:
            actions += side_writes.actions
        try:
            await self._client.transact_write(
                _pattern(side_writes, is_keyed=is_keyed),
                actions,
                repeatable=True,
                timeout_s=self._append_timeout_s,
            )
        except TransactionCancelledError as cancelled:
            return self._cancelled(cancelled, len(entries), is_keyed=is_keyed)
        return COMMITTED

    def _cancelled(self, error: TransactionCancelledError, count: int, *, is_keyed: bool) -> AppendOutcome:
        """Return why a transaction was cancelled."""
        # Race: another attempt with the same key commits at our sequence, so both conditions fail. Check the key
        # first: the proposal has its result. A taken sequence alone only means that another process was first.
        key = error.reasons[count] if is_keyed else CancellationReason()
        if key.is_condition and key.item is not None:
            return DuplicateKey(_appended_from_item(key.item))
        if any(reason.is_condition for reason in error.reasons[:count]):
            found = error.reasons[0].item
            return PositionTaken(None if found is None else entry_from_item(found))
        if any(reason.is_condition for reason in error.reasons):
            return AppendStatus.ROW_CONFLICT
        raise error


def _pattern(side_writes: TransactionPart | None, *, is_keyed: bool) -> AccessPattern:
    if side_writes is not None:
        return side_writes.pattern
    return patterns.APPEND_KEYED if is_keyed else patterns.APPEND_BATCH


class DynamoLogReader:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]:
        query = Query(
            condition=_BETWEEN,
            names=_NAMES,
            values={":c": chat_key(chat), ":low": after + 1, ":high": up_to},
            limit=limit,
            backward=newest_first,
        )
        pattern = patterns.READ_RECENT if newest_first else patterns.READ_AFTER
        with translate_read_errors:
            page = await self._client.query_as(ENTRY_ITEM, pattern, query)
        return [entry_from_bytes(item) for item in page.items]

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        values = {":c": chat_key(chat), ":low": after + 1, ":high": up_to}
        query = Query(condition=_BETWEEN, names=_NAMES, values=values, limit=MAX_READ_RANGE)
        with translate_read_errors:
            page = await self._client.query_as(ENTRY_ITEM, patterns.FILL_GAP, query)
        return [entry_from_bytes(item) for item in page.items]

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None:
        with translate_read_errors:
            item = await self._client.get(
                patterns.READ_ONE, {"chat_id": chat_key(chat), "sequence": sequence}
            )
        return None if item is None else entry_from_item(item)

    async def committed_at_ms(self, chat: ChatKey, sequence: int) -> int | None:
        """Return when the entry was committed; None if the replica does not have it. Eventually consistent."""
        key = {"chat_id": chat_key(chat), "sequence": sequence}
        with translate_read_errors:
            item = await self._client.get(patterns.SHOW_ONE, key, projection="created_at")
        return None if item is None else parse_ms(item["created_at"])

    async def metadata(self, chat: ChatKey, after: int, up_to: int, limit: int) -> Sequence[Entry]:
        """Read the newest entries of a range, newest first, without their content."""
        query = Query(
            condition=_BETWEEN,
            names=_KEYS_ONLY_NAMES,
            values={":c": chat_key(chat), ":low": after + 1, ":high": up_to},
            projection=_METADATA,
            limit=limit,
            backward=True,
        )
        with translate_read_errors:
            page = await self._client.query_as(ENTRY_ITEM, patterns.SHOW_RANGE, query)
        return [entry_from_bytes(item) for item in page.items]

    async def ephemeral(self, chat: ChatKey, after: int, up_to: int) -> Mapping[int, bytes]:
        query = Query(
            condition=_BETWEEN,
            names=_NAMES,
            values={":c": ephemeral_partition(chat), ":low": after + 1, ":high": up_to},
        )
        found: dict[int, bytes] = {}
        with translate_read_errors:
            async for page in self._client.pages(patterns.READ_EPHEMERAL, query):
                found |= {int(item["sequence"]): item["content"] for item in page.items}
        return found


def ephemeral_partition(chat: ChatKey) -> str:
    return EPHEMERAL_CONTENT.partition.render(tenant=chat.tenant, chat=chat.chat)


def _key_item(chat: ChatKey, entry: Entry, ttl_s: int) -> Attributes:
    """Return the idempotency row of a message whose sender has no position."""
    return {
        "chat_id": chat_key(chat),
        "client_message_id": _key_sort_key(entry.key),
        "sequence": entry.sequence,
        "fingerprint": entry.fingerprint,
        "created_at": format_ms(entry.created_at_ms),
        "ttl": entry.created_at_ms // 1000 + ttl_s,
    }


def _key_sort_key(key: IdempotencyKey) -> str:
    return KEY_SORT.render(sender=key.sender, client_key=key.client_key)


def _refusal_item(chat: ChatKey, draft: Draft, code: Code, now_ms: int, ttl_s: int) -> Attributes:
    """Return the idempotency row with a refusal instead of a sequence, so that no other attempt is appended."""
    return {
        "chat_id": chat_key(chat),
        "client_message_id": _key_sort_key(draft.key),
        "refused": code.value,
        "created_at": format_ms(now_ms),
        "ttl": now_ms // 1000 + ttl_s,
    }


def _appended_from_item(item: Item) -> KeyRecord | Refusal:
    if "refused" in item:
        return Refusal(Code(item["refused"]))
    return KeyRecord(int(item["sequence"]), item["fingerprint"])
