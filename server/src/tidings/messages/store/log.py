"""The log in DynamoDB. Thin: conditions and shapes are here, decisions are not."""

from collections.abc import Sequence

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey
from tidings.messages import model
from tidings.messages.model import Draft, Entry, Refusal, Seen, SendKey
from tidings.messages.ports import COMMITTED, ROW_REFUSED, Followed, KeyTaken, Occupied, Outcome
from tidings.messages.store.items import (
    KEYS_ONLY,
    KEYS_ONLY_NAMES,
    answer_of,
    entry_item,
    entry_of,
    key_item,
    refusal_item,
)
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.beside import Beside
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    Reason,
    TransactionCancelledError,
)
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Action, Put
from tidings.tables.items.chat import chat_key
from tidings.tables.patterns import messages as patterns

ABSENT = "attribute_not_exists(chat_id)"
KEY_TTL_S = 7 * 24 * 3600
_LOG, _KEYS = "messages", "idempotency_keys"


class DynamoLog:
    """`append_timeout_s` bounds how long an unanswered append is repeated before its outcome is called unknown."""

    def __init__(self, client: Client, clock: Clock, *, append_timeout_s: float = 5.0) -> None:
        self._client = client
        self._clock = clock
        self._append_timeout_s = append_timeout_s

    async def newest(self, chat: ChatKey) -> Entry | None:
        query = Query(condition="chat_id = :c", values={":c": chat_key(chat)}, limit=1, backward=True)
        try:
            page = await self._client.query(patterns.READ_HEAD, query)
        except DynamoError as error:
            unread(error)
        return entry_of(page.items[0]) if page.items else None

    async def follow(self, chat: ChatKey, after: int) -> Followed:
        query = Query(
            condition="chat_id = :c AND #s > :n",
            values={":c": chat_key(chat), ":n": after},
            names=KEYS_ONLY_NAMES,
            projection=KEYS_ONLY,
        )
        try:
            page = await self._client.query(patterns.FOLLOW, query)
        except DynamoError as error:
            unread(error)
        return Followed([entry_of(item) for item in page.items], has_more=page.start is not None)

    async def keys(self, chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[SendKey, Seen]]:
        found: list[tuple[SendKey, Seen]] = []
        has_more = True
        while has_more and after < up_to:
            entries, has_more = await self.follow(chat, after)
            after = entries[-1].sequence if entries else after
            found += [(e.key, Seen(e.sequence, e.fingerprint)) for e in entries if e.sequence <= up_to]
        return found

    async def refuse_key(self, chat: ChatKey, draft: Draft, code: Code) -> Seen | Refusal | None:
        row = refusal_item(chat, draft, code, self._clock.now_ms(), KEY_TTL_S)
        try:
            await self._client.put(patterns.REFUSE_KEY, row, condition=ABSENT, repeatable=True)
        except ConditionFailedError as failed:
            return None if failed.item is None else answer_of(failed.item)
        except DynamoError as error:
            unwritten(error)
        return None

    async def append(
        self,
        chat: ChatKey,
        entries: Sequence[Entry],
        beside: model.Beside | None = None,
        *,
        is_keyed: bool = False,
    ) -> Outcome:
        if beside is not None and not isinstance(beside, Beside):
            raise TypeError(f"{beside!r} was not made by a store of this installation")
        try:
            if len(entries) == 1 and beside is None and not is_keyed:
                return await self._put(chat, entries[0])
            return await self._transact(chat, entries, beside, is_keyed=is_keyed)
        except DynamoError as error:
            unwritten(error)

    async def _put(self, chat: ChatKey, entry: Entry) -> Outcome:
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
            return Occupied(None if failed.item is None else entry_of(failed.item))
        return COMMITTED

    async def _transact(
        self, chat: ChatKey, entries: Sequence[Entry], beside: Beside | None, *, is_keyed: bool
    ) -> Outcome:
        actions: list[Action] = [Put(table=_LOG, item=entry_item(chat, e), condition=ABSENT) for e in entries]
        if is_keyed:
            actions.append(Put(table=_KEYS, item=key_item(chat, entries[0], KEY_TTL_S), condition=ABSENT))
        if beside is not None:
            actions += beside.actions
        try:
            await self._client.transact_write(
                _pattern(beside, is_keyed=is_keyed),
                actions,
                repeatable=True,
                timeout_s=self._append_timeout_s,
            )
        except TransactionCancelledError as cancelled:
            return self._cancelled(cancelled, len(entries), is_keyed=is_keyed)
        return COMMITTED

    def _cancelled(self, error: TransactionCancelledError, count: int, *, is_keyed: bool) -> Outcome:
        """A key that is taken settles it; a place that is taken means that the view was behind."""
        key = error.reasons[count] if is_keyed else Reason()
        if key.is_condition and key.item is not None:
            return KeyTaken(answer_of(key.item))
        if any(reason.is_condition for reason in error.reasons[:count]):
            there = error.reasons[0].item
            return Occupied(None if there is None else entry_of(there))
        if any(reason.is_condition for reason in error.reasons):
            return ROW_REFUSED
        raise error


def _pattern(beside: Beside | None, *, is_keyed: bool) -> AccessPattern:
    if beside is not None:
        return beside.pattern
    return patterns.APPEND_KEYED if is_keyed else patterns.APPEND_BATCH
