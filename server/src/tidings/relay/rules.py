"""What the relay decides, purely: which shards may be begun, which lease to claim."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from tidings.kernel.ids import ChatKey
from tidings.messages.model import Interval
from tidings.relay.model import EntryCommitted, Lease, ShardId, ShardRecord, StreamShard

type LeaseByShard = Mapping[ShardId, Lease]


def may_begin(shards: Sequence[StreamShard], leases: LeaseByShard) -> list[ShardId]:
    """Those that are not finished and whose parent is, or has left the stream: parents come before children."""
    listed = {shard.id for shard in shards}
    finished = {shard for shard, lease in leases.items() if lease.is_finished}
    return [
        shard.id
        for shard in shards
        if shard.id not in finished and (shard.parent not in listed or shard.parent in finished)
    ]


def has_gap(shard: StreamShard, shards: Sequence[StreamShard], leases: LeaseByShard) -> bool:
    """Its parent has left the stream, and nobody has finished it: what it had was never audited, or not to its end.

    A parent that nobody ever held tells something only if there were relays in its time: they have left leases of
    shards that are gone as well. Otherwise the first relay of all begins here, with what is there.
    """
    listed = {each.id for each in shards}
    if shard.parent is None or shard.parent in listed:
        return False
    parent = leases.get(shard.parent)
    return not parent.is_finished if parent is not None else any(each not in listed for each in leases)


def shards_to_claim(
    me: str, open_: Sequence[ShardId], leases: LeaseByShard, over: Collection[ShardId]
) -> ShardId | None:
    """One lease to go for now: a free one up to my fair share, or one of whoever has most. None: it is well as it is.

    `over`: leases that are nobody's any more. Stealing needs a difference of two, or two processes would swap for ever.
    """
    holders = {shard: leases[shard].holder for shard in open_ if shard in leases and shard not in over}
    held = Counter(holder for holder in holders.values() if holder is not None)
    mine = held[me]
    free = [shard for shard in open_ if shard not in holders or holders[shard] is None]
    share = -(-len(open_) // len(held.keys() | {me}))
    if free:
        # not all of them go for the same one
        return free[crc32(me.encode()) % len(free)] if mine < share else None
    busiest, most = max(held.items(), key=lambda each: each[1], default=("", 0))
    if most < mine + 2:
        return None
    return next(shard for shard, holder in holders.items() if holder == busiest)


def row_progress(intervals: Sequence[Interval], had: int, head: int) -> int:
    """What the row of somebody with these stays has come to, of a log with this head; `head`: all that it ever will."""
    if not intervals:
        return head
    removed = intervals[-1].removed
    reaches = head if removed is None else min(removed, head)
    return head if had >= reaches else max(had, intervals[0].joined)


def backoff_s(first_s: float, longest_s: float, tries: int) -> float:
    return min(longest_s, first_s * 2.0 ** min(tries, 30))


def chunk_by_size[E](entries: Iterable[tuple[E, int]], max_entries: int, max_bytes: int) -> list[list[E]]:
    """What goes into one record of the topic: entries with their sizes, cut where a part would be too large."""
    parts: list[list[E]] = []
    size = max_bytes
    for entry, bytes_ in entries:
        if size + bytes_ > max_bytes or len(parts[-1]) >= max_entries:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += bytes_
    return parts


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
