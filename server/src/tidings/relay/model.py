"""Shards, records and leases of the stream."""

from collections.abc import Sequence
from typing import NamedTuple, NewType

from msgspec import Struct

from tidings.kernel.ids import ChatKey

ShardId = NewType("ShardId", str)
END = "end"
"""Checkpoint of a closed shard whose records are all processed."""


class StreamShard(NamedTuple):
    id: ShardId
    parent: ShardId | None = None


class EntryCommitted(NamedTuple):
    """An entry was added to the log of its chat."""

    chat: ChatKey
    sequence: int


class ContentExpired(NamedTuple):
    """The content of an ephemeral message was deleted by its TTL, not by a redaction."""

    chat: ChatKey
    sequence: int


class ShardRecord(NamedTuple):
    """`number` is the record's sequence number in the shard. `changes` is None if the relay ignores the record."""

    number: str
    at_ms: int | None
    changes: EntryCommitted | ContentExpired | None
    size_bytes: int = 0


class RecordPage(NamedTuple):
    """`iterator` reads the next page; None if the shard is closed and this is its last page."""

    records: Sequence[ShardRecord]
    iterator: str | None


class Lease(Struct, frozen=True, kw_only=True):
    """The process that reads a shard, and the record up to which everything is processed (`checkpoint`).

    `counter` rises with every write. A write is conditional on the counter, so a process with an outdated lease cannot
    change it.
    """

    shard: ShardId
    counter: int
    holder: str | None = None
    checkpoint: str | None = None

    @property
    def is_finished(self) -> bool:
        return self.checkpoint == END
