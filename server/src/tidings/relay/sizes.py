"""How large the logs of chats have become, estimated from the stream: DynamoDB has no metric for an item collection."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tidings.kernel.ids import ChatKey
from tidings.relay.model import EntryCommitted, ShardRecord


def _ignore(_chat: ChatKey, _size_bytes: int) -> None:
    pass


@dataclass(slots=True)
class LogSizeEstimator:
    """Estimate the size of each chat's log as its last sequence times the mean size of all entries read so far.

    Keeps no state per chat, except which ones were reported. Calls `on_large` once for each chat whose log is
    estimated to exceed `large_bytes`.
    """

    large_bytes: float = math.inf
    on_large: Callable[[ChatKey, int], None] = _ignore
    _longest: int = 0
    _entries: int = 0
    _bytes: int = 0
    _reported: set[ChatKey] = field(default_factory=set)

    @property
    def largest_bytes(self) -> int:
        """The estimate for the longest log that was written to since the process started."""
        return self._estimate(self._longest)

    def add(self, records: Sequence[ShardRecord]) -> None:
        for record in records:
            if isinstance(record.changes, EntryCommitted):
                self._entries += 1
                self._bytes += record.size_bytes
                self._longest = max(self._longest, record.changes.sequence)
                self._report(record.changes)

    def _estimate(self, entries: int) -> int:
        return entries * self._bytes // max(self._entries, 1)

    def _report(self, news: EntryCommitted) -> None:
        size = self._estimate(news.sequence)
        if size > self.large_bytes and news.chat not in self._reported:
            self._reported.add(news.chat)
            self.on_large(news.chat, size)
