"""Decide which shards to read and which lease to claim; size and progress of chats. Pure."""

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
    """Return unfinished shards whose parent is finished or has left the stream: parents are read before children."""
    listed = {shard.id for shard in shards}
    finished = {shard for shard, lease in leases.items() if lease.is_finished}
    return [
        shard.id
        for shard in shards
        if shard.id not in finished and (shard.parent not in listed or shard.parent in finished)
    ]


def has_gap(shard: StreamShard, shards: Sequence[StreamShard], leases: LeaseByShard) -> bool:
    """Report whether the shard's parent left the stream before its records were all audited.

    A parent without a lease counts only if there are leases of other shards that left the stream, which shows that a
    relay ran at that time. Otherwise this is the first relay of the installation, and nothing was missed.
    """
    listed = {each.id for each in shards}
    if shard.parent is None or shard.parent in listed:
        return False
    parent = leases.get(shard.parent)
    return not parent.is_finished if parent is not None else any(each not in listed for each in leases)


def shards_to_claim(
    me: str, open_: Sequence[ShardId], leases: LeaseByShard, free: Collection[ShardId]
) -> ShardId | None:
    """Choose a lease to claim: a free one up to the fair share of `me`, or one of the process with most. None: no claim.

    A process takes a lease from another one only if that has two more, or two processes would swap it endlessly.
    """
    holders = {shard: leases[shard].holder for shard in open_ if shard in leases and shard not in free}
    held = Counter(holder for holder in holders.values() if holder is not None)
    mine = held[me]
    unheld = [shard for shard in open_ if shard not in holders or holders[shard] is None]
    share = -(-len(open_) // len(held.keys() | {me}))
    if unheld:
        # By a hash of the process, so that processes do not all try to take the same shard.
        return unheld[crc32(me.encode()) % len(unheld)] if mine < share else None
    busiest, most = max(held.items(), key=lambda each: each[1], default=("", 0))
    if most < mine + 2:
        return None
    return next(shard for shard, holder in holders.items() if holder == busiest)


def row_progress(intervals: Sequence[Interval], had: int, head: int) -> int:
    """Return the sequence up to which a member's row is complete. `had` is the row's; `head` means nothing is missing."""
    if not intervals:
        return head
    removed = intervals[-1].removed
    reaches = head if removed is None else min(removed, head)
    return head if had >= reaches else max(had, intervals[0].joined)


def named_progress(intervals: Sequence[Interval], had: int, head: int) -> int:
    """Return the sequence up to which a member's row of a group is complete; `head` means nothing is missing.

    `had` is the last join or leave in the row. Other entries are in the group's head.
    """
    joins = [each.joined + 1 for each in intervals if each.joined < head]
    leaves = [each.removed for each in intervals if each.removed is not None and each.removed <= head]
    last = max([*joins, *leaves], default=0)
    return head if had >= last else last - 1


def backoff_s(first_s: float, longest_s: float, tries: int) -> float:
    return min(longest_s, first_s * 2.0 ** min(tries, 30))


def chunk_by_size[E](entries: Iterable[tuple[E, int]], max_entries: int, max_bytes: int) -> list[list[E]]:
    """Split entries with their sizes into chunks, each for one record of the topic."""
    chunks: list[list[E]] = []
    size = max_bytes
    for entry, entry_bytes in entries:
        if size + entry_bytes > max_bytes or len(chunks[-1]) >= max_entries:
            chunks.append([])
            size = 0
        chunks[-1].append(entry)
        size += entry_bytes
    return chunks


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
        """Estimate the size of the longest log that was written since the process started."""
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

    def _report(self, committed: EntryCommitted) -> None:
        size = self._estimate(committed.sequence)
        if size > self.large_bytes and committed.chat not in self._reported:
            self._reported.add(committed.chat)
            self.on_large(committed.chat, size)
