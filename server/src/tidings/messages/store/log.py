"""What goes beside an entry that changes a message. Each holds only if the message is as it was read."""

from collections.abc import Sequence

from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey
from tidings.messages import model
from tidings.messages.model import Draft, Entry, IdempotencyKey, KeyRecord, ReactionChange, Refusal
from tidings.messages.ports import COMMITTED, ROW_REFUSED, AppendOutcome, DuplicateKey, LogTail, PositionTaken
from tidings.messages.store.items import (
    KEYS_ONLY,
    KEYS_ONLY_NAMES,
    appended_from_item,
    entry_from_item,
    entry_item,
    ephemeral_partition,
    key_item,
    reaction_key,
    refusal_item,
)
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import (
    CancellationReason,
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    raise_read_error,
    raise_write_error,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Delete, Put, Query, TransactAction, TransactionPart, Update
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import chats as patterns

_TABLE = "messages"
_NOT_REDACTED = "attribute_exists(chat_id) AND attribute_not_exists(redacted_at)"


class DynamoEditWriter:
    def ephemeral(self, chat: ChatKey, sequence: int, content: bytes, draft: Draft) -> TransactionPart:
        """`expires_at` is the table's TTL attribute: it stands here and never in the log itself."""
        if draft.visible_until_ms is None:
            raise ValueError("a message that does not expire has its content in the log")
        item: dict[str, ItemValue] = {
            "chat_id": ephemeral_partition(chat),
            "sequence": sequence,
            "content": content,
            # rounded up: the store never deletes what may still be seen
            "expires_at": -(-draft.visible_until_ms // 1000),
        }
        put = Put(table=_TABLE, item=item, condition="attribute_not_exists(chat_id)")
        return TransactionPart(patterns.APPEND_EPHEMERAL, (put,))

    def edit(self, chat: ChatKey, seen: Entry, content: bytes, now_ms: int) -> TransactionPart:
        update = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET content = :content, edited_at = :now",
            condition=_NOT_REDACTED,
            values={":content": content, ":now": format_ms(now_ms)},
        )
        return TransactionPart(patterns.APPEND_CHANGE, (update,))

    def redaction(self, chat: ChatKey, seen: Entry, now_ms: int) -> TransactionPart:
        empty = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET redacted_at = :now REMOVE content, content_type, reaction_counts, reaction_users",
            condition=_NOT_REDACTED,
            values={":now": format_ms(now_ms)},
        )
        if seen.visible_until_ms is None:
            return TransactionPart(patterns.APPEND_CHANGE, (empty,))
        apart = Delete(table=_TABLE, key={"chat_id": ephemeral_partition(chat), "sequence": seen.sequence})
        return TransactionPart(patterns.APPEND_CHANGE, (empty, apart))

    def reaction(self, chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> TransactionPart:
        values: dict[str, ItemValue] = {":counts": dict(reacted.counts), ":users": list(reacted.users)}
        condition = f"{_NOT_REDACTED} AND attribute_not_exists(reaction_counts)"
        if seen.reaction_counts is not None:
            condition = f"{_NOT_REDACTED} AND reaction_counts = :seen AND reaction_users = :seen_users"
            values |= {":seen": dict(seen.reaction_counts), ":seen_users": list(seen.reaction_users)}
        update = Update(
            table=_TABLE,
            key=_key(chat, seen),
            update="SET reaction_counts = :counts, reaction_users = :users",
            condition=condition,
            values=values,
        )
        return TransactionPart(patterns.APPEND_CHANGE, (update, _own_item(chat, seen, reacted, now_ms)))


def _own_item(chat: ChatKey, seen: Entry, reacted: ReactionChange, now_ms: int) -> Put | Delete:
    """Counts follow this item: no user is counted twice, and nobody withdraws what they never gave."""
    key = reaction_key(chat, seen.sequence, reacted.user, reacted.emoji)
    if not reacted.is_added:
        return Delete(table=_TABLE, key=key, condition="attribute_exists(chat_id)")
    item: dict[str, ItemValue] = {
        **key,
        "sender_id": reacted.user,
        "emoji": reacted.emoji,
        "created_at": format_ms(now_ms),
    }
    return Put(table=_TABLE, item=item, condition="attribute_not_exists(chat_id)")


def _key(chat: ChatKey, seen: Entry) -> dict[str, ItemValue]:
    return {"chat_id": chat_key(chat), "sequence": seen.sequence}


ABSENT = "attribute_not_exists(chat_id)"
KEY_TTL_S = 7 * 24 * 3600
_LOG, _KEYS = "messages", "idempotency_keys"


class DynamoMessageLog:
    """`append_timeout_s` bounds how long an unanswered append is repeated before its outcome is called unknown."""

    def __init__(self, client: DynamoClient, clock: Clock, *, append_timeout_s: float = 5.0) -> None:
        self._client = client
        self._clock = clock
        self._append_timeout_s = append_timeout_s

    async def newest(self, chat: ChatKey) -> Entry | None:
        query = Query(condition="chat_id = :c", values={":c": chat_key(chat)}, limit=1, backward=True)
        try:
            page = await self._client.query(patterns.READ_HEAD, query)
        except DynamoError as error:
            raise_read_error(error)
        return entry_from_item(page.items[0]) if page.items else None

    async def follow(self, chat: ChatKey, after: int) -> LogTail:
        query = Query(
            condition="chat_id = :c AND #s > :n",
            values={":c": chat_key(chat), ":n": after},
            names=KEYS_ONLY_NAMES,
            projection=KEYS_ONLY,
        )
        try:
            page = await self._client.query(patterns.FOLLOW, query)
        except DynamoError as error:
            raise_read_error(error)
        return LogTail([entry_from_item(item) for item in page.items], has_more=page.start is not None)

    async def keys(self, chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[IdempotencyKey, KeyRecord]]:
        found: list[tuple[IdempotencyKey, KeyRecord]] = []
        has_more = True
        while has_more and after < up_to:
            entries, has_more = await self.follow(chat, after)
            after = entries[-1].sequence if entries else after
            found += [(e.key, KeyRecord(e.sequence, e.fingerprint)) for e in entries if e.sequence <= up_to]
        return found

    async def refuse_key(self, chat: ChatKey, draft: Draft, code: Code) -> KeyRecord | Refusal | None:
        row = refusal_item(chat, draft, code, self._clock.now_ms(), KEY_TTL_S)
        try:
            await self._client.put(patterns.REFUSE_KEY, row, condition=ABSENT, repeatable=True)
        except ConditionFailedError as failed:
            return None if failed.item is None else appended_from_item(failed.item)
        except DynamoError as error:
            raise_write_error(error)
        return None

    async def append(
        self,
        chat: ChatKey,
        entries: Sequence[Entry],
        side_writes: model.SideWrites | None = None,
        *,
        is_keyed: bool = False,
    ) -> AppendOutcome:
        if side_writes is not None and not isinstance(side_writes, TransactionPart):
            raise TypeError(f"{side_writes!r} was not made by a store of this installation")
        try:
            if len(entries) == 1 and side_writes is None and not is_keyed:
                return await self._put(chat, entries[0])
            return await self._transact(chat, entries, side_writes, is_keyed=is_keyed)
        except DynamoError as error:
            raise_write_error(error)

    async def _put(self, chat: ChatKey, entry: Entry) -> AppendOutcome:
        try:
            # safe to repeat: a put that finds itself there is told so, with the item
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

    async def _transact(
        self, chat: ChatKey, entries: Sequence[Entry], side_writes: TransactionPart | None, *, is_keyed: bool
    ) -> AppendOutcome:
        actions: list[TransactAction] = [
            Put(table=_LOG, item=entry_item(chat, e), condition=ABSENT) for e in entries
        ]
        if is_keyed:
            actions.append(Put(table=_KEYS, item=key_item(chat, entries[0], KEY_TTL_S), condition=ABSENT))
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
        """A key that is taken settles it; a place that is taken means that the view was behind."""
        key = error.reasons[count] if is_keyed else CancellationReason()
        if key.is_condition and key.item is not None:
            return DuplicateKey(appended_from_item(key.item))
        if any(reason.is_condition for reason in error.reasons[:count]):
            there = error.reasons[0].item
            return PositionTaken(None if there is None else entry_from_item(there))
        if any(reason.is_condition for reason in error.reasons):
            return ROW_REFUSED
        raise error


def _pattern(side_writes: TransactionPart | None, *, is_keyed: bool) -> AccessPattern:
    if side_writes is not None:
        return side_writes.pattern
    return patterns.APPEND_KEYED if is_keyed else patterns.APPEND_BATCH
