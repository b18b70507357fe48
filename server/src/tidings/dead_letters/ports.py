"""The dead-letter topics, and the marks of handled dead letters."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidings.dead_letters.model import DeadLetter, DeadLetterMark, DeadLetterPosition, TopicState


class DeadLetterTopics(Protocol):
    """Every method raises `overloaded` while Kafka does not answer."""

    async def describe(self, topic: str, /) -> TopicState | None:
        """Return the id of a topic and its offsets. None: the topic does not exist."""
        ...

    async def read(self, start: DeadLetterPosition, limit: int, /) -> Sequence[DeadLetter]:
        """Return up to `limit` records of one partition, in order, from this offset or the first one after it."""
        ...

    async def publish(self, topic: str, letter: DeadLetter, /) -> None:
        """Publish the original record, and return when it is acknowledged. Raises `outcome_unknown`."""
        ...


class DeadLetterMarks(Protocol):
    """Every method raises `overloaded` while the store is unavailable.

    Marks have the id of the topic. After Kafka has lost its data, offsets start again from 0 in a topic with another id,
    so old marks do not hide new dead letters.
    """

    async def find(
        self, topic_id: str, partition: int, first: int, last: int, /
    ) -> Mapping[int, DeadLetterMark]:
        """Return the marks of offsets from `first` to `last`, both included, of one partition."""
        ...

    async def add(self, topic_id: str, position: DeadLetterPosition, mark: DeadLetterMark, /) -> bool:
        """Mark a dead letter. False: it has a mark already, which is kept."""
        ...
