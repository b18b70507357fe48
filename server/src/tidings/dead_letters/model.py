"""Dead letters, and what an operator did with them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError

type Headers = tuple[tuple[str, bytes | None], ...]


class DeadLetterPosition(NamedTuple):
    """The position of a record in a dead-letter topic. As text: `messages-dead/0/17`."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def parse(cls, text: str) -> "DeadLetterPosition":
        """Read a position. Raises `request_invalid`."""
        match text.split("/"):
            case [topic, partition, offset] if partition.isdecimal() and offset.isdecimal():
                return cls(topic, int(partition), int(offset))
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{text!r} is not the position of a dead letter.",
            hint="A position is <topic>/<partition>/<offset>, for example messages-dead/0/17.",
        )


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A record of a dead-letter topic. `source`: its position in the topic where it could not be decoded.

    `headers` are those of the original record.
    """

    position: DeadLetterPosition
    at_ms: int
    reason: str
    source: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    @property
    def size_bytes(self) -> int:
        return len(self.value or b"")

    @property
    def key_text(self) -> str | None:
        return None if self.key is None else self.key.decode("utf-8", "backslashreplace")


class DeadLetterAction(StrEnum):
    REPLAYED = "replayed"
    DROPPED = "dropped"


class DeadLetterMark(Struct, frozen=True):
    """An operator replayed or dropped the dead letter."""

    action: DeadLetterAction
    at_ms: int


class DeadLetterPage(NamedTuple):
    """Dead letters that wait for an operator. `next`: where the next page starts."""

    letters: list[DeadLetter]
    next: DeadLetterPosition | None


class DeadLetterCount(NamedTuple):
    """The number of dead letters of a topic that wait for an operator. `replays_to`: where most of them came from."""

    topic: str
    replays_to: str
    waiting: int


class TopicState(NamedTuple):
    """`id` is chosen by Kafka when the topic is created. A topic that is created again has another id."""

    id: str
    partitions: Mapping[int, "OffsetRange"]


class OffsetRange(NamedTuple):
    """The offsets of a partition: `low` is the first that is kept, `high` the next that is written."""

    low: int
    high: int
