"""Shards, records and leases of the stream, and the ports of the relay.

Every method of a port raises `UnavailableError` if its engine does not answer; the relay retries later.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, NewType, Protocol

from msgspec import Struct

from tidings.kernel.fences import OffsetFence, PartitionProgress
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry

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


class StreamIteratorExpiredError(Exception):
    """The iterator is older than 15 minutes. Create another one."""


class TrimmedError(Exception):
    """The position is older than the 24 hours that the stream keeps. Records after it can no longer be audited."""


class ChangeStream(Protocol):
    """The stream of the table `messages`."""

    async def shards(self) -> Sequence[StreamShard]:
        """List all readable shards, open and closed, in no order."""
        ...

    async def iterator(self, shard: ShardId, after: str | None) -> str:
        """Create an iterator after a record, or at the oldest record. Raises `TrimmedError`."""
        ...

    async def page(self, iterator: str) -> RecordPage:
        """Read a page, which may be empty. Raises `StreamIteratorExpiredError` and `TrimmedError`."""
        ...


class LeaseStore(Protocol):
    """Every write is conditional: it changes nothing if another process has written the lease since it was read."""

    async def read(self, shards: Collection[ShardId]) -> Mapping[ShardId, Lease]:
        """Read leases, strongly consistent. Shards without a lease are left out."""
        ...

    async def take(self, shard: ShardId, seen: Lease | None, holder: str) -> Lease | None:
        """Take a lease that was last seen as `seen`. Return None if another process was faster."""
        ...

    async def renew(self, lease: Lease, checkpoint: str | None) -> Lease | None:
        """Renew and set the checkpoint. Return None if another process has the lease; nothing was changed then."""
        ...

    async def release(self, lease: Lease, checkpoint: str | None) -> None:
        """Give the lease to any other process. Does nothing if another process has it."""
        ...


class ConsumerLag(Protocol):
    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        """Read end and committed offset of the partition that each chat belongs to."""
        ...


class EventPublisher(Protocol):
    """Both methods return when Kafka has acknowledged all events. If they raise, some may have been published."""

    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> OffsetFence:
        """Publish entries as committed events. All of them are below the returned fence."""
        ...

    async def publish_expired(self, expired: Sequence[ContentExpired]) -> None: ...
