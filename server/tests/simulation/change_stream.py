"""The change stream of the table `messages`: the writes to a log in commit order, in one shard.

Old records can be trimmed, and iterators expire.
"""

import json
from collections.abc import Callable, Sequence

from fixtures.encoded_sizes import item_bytes
from simulation.network import Network, NoAnswerError, RefusedForNowError

from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.platform.dynamo.codec import Item, encode_item
from tidings.relay.model import (
    EntryCommitted,
    RecordPage,
    ShardId,
    ShardRecord,
    StreamIteratorExpiredError,
    StreamShard,
    TrimmedError,
)

_SHARD = ShardId("shard-1")
_AT_ONCE = 20


class SimChangeStream:
    """The simulated stream. A record's number is its index in the shard; an iterator is the next index and its age."""

    def __init__(self, network: Network, page_records: int = _AT_ONCE) -> None:
        self._network = network
        self._page_records = page_records
        self.records: list[ShardRecord] = []
        self._trimmed = 0
        self._age = 0

    def note(self, item: Item, *, is_new: bool) -> None:
        """Record a write.

        Only new log entries count as commits: imported ones are not delivered, a changed entry has an entry of its own,
        and items of reactions or ephemeral content are not in the log.
        """
        tenant, chat, *beside = item["chat_id"].split("#")
        is_entry = is_new and not beside and "imported" not in item
        records = (
            EntryCommitted(ChatKey(TenantId(tenant), ChatId(chat)), item["sequence"]) if is_entry else None
        )
        size_bytes = item_bytes(json.loads(encode_item(item))) if is_entry else 0
        self.records.append(ShardRecord(str(len(self.records)), None, records, size_bytes))

    def trim(self, count: int) -> None:
        self._trimmed = count

    def expire_iterators(self) -> None:
        self._age += 1

    async def shards(self) -> Sequence[StreamShard]:
        return await self._ask("shards", lambda: [StreamShard(_SHARD)])

    async def iterator(self, shard: ShardId, after: str | None) -> str:
        assert shard == _SHARD

        def find() -> str:
            return self._token(self._trimmed if after is None else self._kept(int(after)) + 1)

        return await self._ask("iterator", find)

    async def page(self, iterator: str) -> RecordPage:
        def read() -> RecordPage:
            age, _, place = iterator.partition(".")
            if int(age) != self._age:
                raise StreamIteratorExpiredError
            at = self._kept(int(place))
            found = self.records[at : at + self._page_records]
            return RecordPage(found, self._token(at + len(found)))

        return await self._ask("page", read)

    def _kept(self, at: int) -> int:
        if at < self._trimmed:
            raise TrimmedError
        return at

    def _token(self, at: int) -> str:
        return f"{self._age}.{at}"

    async def _ask[T](self, what: str, read: Callable[[], T]) -> T:
        try:
            return await self._network.ask(f"stream.{what}", read)
        except (NoAnswerError, RefusedForNowError) as error:
            raise UnavailableError(str(error)) from error
