"""What is read: records, and batches of them as a handler gets them."""

from collections.abc import Awaitable, Callable

from confluent_kafka import Message
from msgspec import Struct

type Headers = tuple[tuple[str, bytes | None], ...]
type PartitionKey = tuple[str, int]


class Record(Struct, frozen=True, gc=False):
    """One message of a partition's log, as bytes."""

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
    """A record and what the decoder made of it."""

    record: Record
    body: T


class Batch[T](Struct, frozen=True):
    """Consecutive events of one partition, in order. Never empty."""

    topic: str
    partition: int
    events: tuple[DecodedRecord[T], ...]


type RecordDecoder[T] = Callable[[Record], T]
"""Raises `UndecodableError` for a record that can't be understood; anything else it raises is a defect of ours."""

type BatchHandler[T] = Callable[[Batch[T]], Awaitable[None]]
"""Returns when the effect is there. May see the same events again, so it must be idempotent."""


def record_from_message(message: Message) -> Record:
    """Of a message without an error: those have a topic, a partition and an offset."""
    return Record(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),  # type: ignore[arg-type]  # its stub allows text, which is never read
    )
