"""What the relay asks of the world. Each method says what it guarantees; whatever is away is asked again later."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tidings.connections.model import LookupResult
from tidings.kernel.fences import OffsetFence, PartitionProgress
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.relay.model import ContentExpired, Lease, RecordPage, ShardId, StreamShard


class StreamIteratorExpiredError(Exception):
    """An iterator lives a quarter of an hour. Another one is to be had."""


class TrimmedError(Exception):
    """The place has left the stream, which keeps 24 hours: what stood between can't be audited any more."""


class ChangeStream(Protocol):
    """The stream of the table `messages`. Every call raises `UnavailableError`."""

    async def shards(self) -> Sequence[StreamShard]:
        """All that can still be read, open and closed, in no order."""
        ...

    async def iterator(self, shard: ShardId, after: str | None) -> str:
        """Reads on after this record, or from the oldest that is left. Raises `TrimmedError`."""
        ...

    async def page(self, iterator: str) -> RecordPage:
        """May be empty and yet not the last. Raises `StreamIteratorExpiredError` and `TrimmedError`."""
        ...


class LeaseStore(Protocol):
    """Every change holds only if nobody else has changed the lease since it was read. Every call raises `UnavailableError`."""

    async def read(self, shards: Collection[ShardId]) -> Mapping[ShardId, Lease]:
        """Strong. Shards that nobody has begun are left out."""
        ...

    async def take(self, shard: ShardId, seen: Lease | None, holder: str) -> Lease | None:
        """None: somebody was quicker."""
        ...

    async def renew(self, lease: Lease, checkpoint: str | None) -> Lease | None:
        """None: it is another's by now, and the checkpoint was not moved."""
        ...

    async def release(self, lease: Lease, checkpoint: str | None) -> None:
        """Others may have it at once. Nothing happens if it is another's already."""
        ...


class DeliveryCheckpoints(Protocol):
    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        """Look up how far chats were handled. Chats without a mark are left out, those of a shard that does not answer
        are unknown. Raises `UnavailableError` if nothing at all was answered.
        """
        ...

    async def begin(self, chat: ChatKey, at: int) -> None:
        """Of a chat that has no mark. One that got one meanwhile keeps it, if that is further. Raises `UnavailableError`."""
        ...


class ConsumerLag(Protocol):
    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        """Ask for the partition that each chat's events go to. Raises `UnavailableError`."""
        ...


class EventPublisher(Protocol):
    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> OffsetFence:
        """Returns when all of them are acknowledged: they stand below the fence. Raises `UnavailableError`."""
        ...

    async def expired(self, gone: Sequence[ContentExpired]) -> None:
        """Returns when all of them are acknowledged. Raises `UnavailableError`."""
        ...


class RelayLogPort(Protocol):
    """Strong reads of a chat's log."""

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        """Entries of `(after, up_to]` in order, without holes: as many as one read gives."""
        ...
