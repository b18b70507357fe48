"""What the relay reads and remembers: shards, records, leases, and how far consumers have come."""

from collections.abc import Sequence
from typing import NamedTuple, NewType

from msgspec import Struct

from tidings.kernel.ids import ChatKey

ShardId = NewType("ShardId", str)
END = "end"
"""A checkpoint: the shard is closed, and everything in it was handled."""


class StreamShard(NamedTuple):
    id: ShardId
    parent: ShardId | None = None


class EntryCommitted(NamedTuple):
    """An entry is new in its chat's log."""

    chat: ChatKey
    sequence: int


class ContentExpired(NamedTuple):
    """The content of an ephemeral message is gone, by its time and not by a redaction."""

    chat: ChatKey
    sequence: int


class ShardRecord(NamedTuple):
    """`number` is its place in the shard. `changes` None: nothing that the relay has to do with."""

    number: str
    at_ms: int | None
    changes: EntryCommitted | ContentExpired | None
    size_bytes: int = 0


class RecordPage(NamedTuple):
    """`iterator` reads on; None: the shard is closed and read to its end."""

    records: Sequence[ShardRecord]
    iterator: str | None


class Lease(Struct, frozen=True, kw_only=True):
    """Who reads a shard, and up to where everything in it was handled (`checkpoint`, None: nothing yet).

    `counter` goes up with every write, so that who has not seen the last one can change nothing.
    """

    shard: ShardId
    counter: int
    holder: str | None = None
    checkpoint: str | None = None

    @property
    def is_finished(self) -> bool:
        return self.checkpoint == END
