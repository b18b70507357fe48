"""List, inspect, replay and drop dead letters. The console and `tidings dead-letter` use the same service.

Kafka cannot delete a single record. A dead letter that was replayed or dropped gets a mark, lists leave it out, and the
topic's retention deletes it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tidings.dead_letters.model import (
    DeadLetter,
    DeadLetterAction,
    DeadLetterCount,
    DeadLetterMark,
    DeadLetterPage,
    DeadLetterPosition,
    TopicState,
)
from tidings.dead_letters.ports import DeadLetterMarks, DeadLetterTopics
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError

MAX_READ: Final = 1_000
"""Records that one page reads at most. Above it a page can be short, or empty, and still have a next one."""


class DeadLetters:
    def __init__(
        self,
        topics: DeadLetterTopics,
        marks: DeadLetterMarks,
        clock: Clock,
        replays_to: Mapping[str, Sequence[str]],
    ) -> None:
        """`replays_to`: the topics that the records of each dead-letter topic came from, the usual one first."""
        self._topics = topics
        self._marks = marks
        self._clock = clock
        self._replays_to = replays_to

    async def counts(self) -> list[DeadLetterCount]:
        """Count the dead letters of each topic. Reads no record, and all marks."""
        return [
            DeadLetterCount(topic, sources[0], await self._waiting(topic))
            for topic, sources in self._replays_to.items()
        ]

    async def page(self, topic: str, limit: int, start: DeadLetterPosition | None = None) -> DeadLetterPage:
        """List dead letters without a mark, by partition, each from the oldest."""
        state = await self._describe(topic)
        found: list[DeadLetter] = []
        budget = MAX_READ
        for partition, bounds in sorted(state.partitions.items()):
            at = max(bounds.low, _start_in(partition, start))
            while at < bounds.high:
                position = DeadLetterPosition(topic, partition, at)
                if len(found) >= limit or budget <= 0:
                    return DeadLetterPage(found, position)
                read, at = await self._unmarked(state.id, position, min(limit - len(found), budget))
                budget -= at - position.offset
                found += read
        return DeadLetterPage(found, None)

    async def find(self, position: DeadLetterPosition) -> tuple[DeadLetter, DeadLetterMark | None]:
        """Read one dead letter and its mark. Raises `request_invalid` if it does not exist or is no longer kept."""
        letter, mark, _ = await self._find(position)
        return letter, mark

    async def replay(self, position: DeadLetterPosition) -> DeadLetter:
        """Publish the record to the topic that it came from, then mark it. Raises `no_change` if it is marked.

        The record is published at least once: a process that dies before the mark leaves the dead letter in the list.
        Workers process a repeated record without a second effect.
        """
        letter, topic_id = await self._find_unmarked(position)
        await self._topics.publish(self._source_topic(letter), letter)
        await self._mark(letter, topic_id, DeadLetterAction.REPLAYED)
        return letter

    async def drop(self, position: DeadLetterPosition) -> DeadLetter:
        """Mark the record without a replay. Raises `no_change` if it is marked."""
        letter, topic_id = await self._find_unmarked(position)
        await self._mark(letter, topic_id, DeadLetterAction.DROPPED)
        return letter

    def _source_topic(self, letter: DeadLetter) -> str:
        """Return the topic that a record came from. Its recorded name starts with the prefix of the installation."""
        recorded, sources = letter.source.rsplit("/", 2)[0], self._replays_to[letter.position.topic]
        return next((name for name in sources if recorded.endswith(name)), sources[0])

    async def _find(self, position: DeadLetterPosition) -> tuple[DeadLetter, DeadLetterMark | None, str]:
        state = await self._describe(position.topic)
        bounds = state.partitions.get(position.partition)
        if bounds is None or not bounds.low <= position.offset < bounds.high:
            raise _not_found(position)
        letter = next(iter(await self._topics.read(position, 1)), None)
        if letter is None or letter.position != position:
            raise _not_found(position)
        offset = position.offset
        marks = await self._marks.find(state.id, position.partition, offset, offset)
        return letter, marks.get(offset), state.id

    async def _find_unmarked(self, position: DeadLetterPosition) -> tuple[DeadLetter, str]:
        letter, mark, topic_id = await self._find(position)
        if mark is not None:
            raise _already(position, mark.action)
        return letter, topic_id

    async def _mark(self, letter: DeadLetter, topic_id: str, action: DeadLetterAction) -> None:
        # Race: two operators act on the same dead letter. The first mark is kept. A record that both replay is
        # published twice, which workers tolerate; of a replay and a drop, the second one fails.
        mark = DeadLetterMark(action, self._clock.now_ms())
        if not await self._marks.add(topic_id, letter.position, mark):
            raise _already(letter.position, None)
        note_change({"position": str(letter.position), "reason": letter.reason}, {"state": action.value})

    async def _unmarked(
        self, topic_id: str, start: DeadLetterPosition, limit: int
    ) -> tuple[list[DeadLetter], int]:
        """Return the records without a mark of one read, and the offset after it."""
        read = await self._topics.read(start, limit)
        if not read:
            raise TidingsError(Code.OVERLOADED, f"Kafka: {start} could not be read. Try again.")
        last = read[-1].position.offset
        marks = await self._marks.find(topic_id, start.partition, start.offset, last)
        return [each for each in read if each.position.offset not in marks], last + 1

    async def _waiting(self, topic: str) -> int:
        state = await self._describe(topic)
        waiting = 0
        for partition, (low, high) in state.partitions.items():
            if high > low:
                marks = await self._marks.find(state.id, partition, low, high - 1)
                waiting += high - low - len(marks)
        return waiting

    async def _describe(self, topic: str) -> TopicState:
        if topic not in self._replays_to:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"{topic!r} is not a dead-letter topic. Choose one of: {', '.join(self._replays_to)}.",
            )
        return await self._topics.describe(topic) or TopicState("", {})


def _start_in(partition: int, start: DeadLetterPosition | None) -> int:
    """Return the first offset to read in this partition: all of it, none of it, or from `start`."""
    if start is None or partition > start.partition:
        return 0
    return start.offset if partition == start.partition else 2**63


def _not_found(position: DeadLetterPosition) -> TidingsError:
    return TidingsError(
        Code.REQUEST_INVALID,
        f"There is no dead letter at {position}.",
        hint="Kafka deletes dead letters after 14 days. `tidings dead-letter list` shows the others.",
    )


def _already(position: DeadLetterPosition, action: DeadLetterAction | None) -> TidingsError:
    done = "replayed or dropped" if action is None else action.value
    return TidingsError(Code.NO_CHANGE, f"The dead letter {position} has been {done} already.")
