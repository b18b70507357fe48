"""The stream of the table `messages`: what was new in a log, in the order of the commits, in one shard."""

from collections.abc import Callable, Sequence

from simulation.network import Network, NoAnswerError, RefusedForNowError

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.platform.dynamo.values import Item
from tidings.relay.model import Committed, Page, Record, Shard, ShardId
from tidings.relay.ports import AwayError

_SHARD = ShardId("shard-1")
_AT_ONCE = 20


class SimFeed:
    def __init__(self, network: Network) -> None:
        self._network = network
        self.records: list[Record] = []

    def note(self, item: Item) -> None:
        tenant, _, chat = item["chat_id"].partition("#")
        news = Committed(ChatKey(TenantId(tenant), ChatId(chat)), item["sequence"])
        self.records.append(Record(str(len(self.records)), None, news))

    async def shards(self) -> Sequence[Shard]:
        return await self._ask("shards", lambda: [Shard(_SHARD)])

    async def iterator(self, shard: ShardId, after: str | None) -> str:
        assert shard == _SHARD
        return await self._ask("iterator", lambda: "0" if after is None else str(int(after) + 1))

    async def page(self, iterator: str) -> Page:
        at = int(iterator)

        def read() -> Page:
            found = self.records[at : at + _AT_ONCE]
            return Page(found, str(at + len(found)))

        return await self._ask("page", read)

    async def _ask[T](self, what: str, read: Callable[[], T]) -> T:
        try:
            return await self._network.ask(f"stream.{what}", read)
        except (NoAnswerError, RefusedForNowError) as error:
            raise AwayError(str(error)) from error
