"""Records that were read, and the batches that a handler receives."""

from collections.abc import Awaitable, Callable

from confluent_kafka import Message
from msgspec import Struct

type Headers = tuple[tuple[str, bytes | None], ...]
type PartitionKey = tuple[str, int]


class Record(Struct, frozen=True, gc=False):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def size_bytes(self) -> int:
        return len(self.value or b"") + len(self.key or b"")


class DecodedRecord[T](Struct, frozen=True):
    record: Record
    body: T


class Batch[T](Struct, frozen=True):
    """Consecutive events of one partition, in order. Never empty."""

    topic: str
    partition: int
    events: tuple[DecodedRecord[T], ...]


type RecordDecoder[T] = Callable[[Record], T]
"""Raises `UndecodableError` for an invalid record. Any other error ends the consumer."""

type BatchHandler[T] = Callable[[Batch[T]], Awaitable[None]]
"""Returns when the effect is applied. Must be idempotent: it may receive the same events again."""


def record_from_message(message: Message) -> Record:
    """Convert a message without an error, which always has a topic, a partition and an offset."""
    return Record(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),  # type: ignore[arg-type]  # the stub allows text, which a consumer never returns
    )
