"""Which offsets are done, on their way to the broker, and known there. Used by the reader's thread alone.

Commits are not waited for: an outage of the coordinator stops nobody's work, only the moving of offsets.
"""

import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, TopicPartition

from tidings.platform.kafka.errors import error_text
from tidings.platform.kafka.health import KafkaHealthTracker
from tidings.platform.kafka.lane import PartitionWorker
from tidings.platform.kafka.records import PartitionKey


class OffsetCommits[T]:
    def __init__(self, health: KafkaHealthTracker, every_s: float) -> None:
        self._health = health
        self._every_s = every_s
        self._next_at = 0.0
        self._is_under_way = False
        self._sent: dict[PartitionKey, int] = {}
        self._known: dict[PartitionKey, int] = {}

    def send(
        self, consumer: Consumer, lanes: Iterable[PartitionWorker[T]], *, is_urgent: bool = False
    ) -> None:
        """What is done since the last time: after the effect, never before it. One commit at a time."""
        if self._is_under_way or (time.monotonic() < self._next_at and not is_urgent):
            return
        offsets = _done(lanes, self._sent)
        if offsets:
            self._next_at = time.monotonic() + self._every_s
            self._is_under_way = True
            self._sent |= {(part.topic, part.partition): part.offset for part in offsets}
            consumer.commit(offsets=offsets, asynchronous=True)

    def due(self, lanes: Iterable[PartitionWorker[T]]) -> list[TopicPartition]:
        """What is done and not known to be committed, on its way or not."""
        return _done(lanes, self._known)

    def on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Librdkafka's answer, given inside `poll`."""
        self._is_under_way = False
        for part in partitions:
            key = part.topic, part.partition
            if failure := error or part.error:
                self._sent.pop(key, None)  # goes again, if the partition is still ours
                self._health.failed(f"commit: {error_text(failure)}")
            else:
                self._known[key] = part.offset
                self._health.answered()

    def drop(self, lanes: Iterable[PartitionWorker[T]]) -> None:
        """Of partitions that were taken away: what we know of them is no longer true."""
        for lane in lanes:
            self._sent.pop(lane.key, None)
            self._known.pop(lane.key, None)


def _done[T](lanes: Iterable[PartitionWorker[T]], but: dict[PartitionKey, int]) -> list[TopicPartition]:
    return [
        TopicPartition(*lane.key, done)
        for lane in lanes
        if (done := lane.done) is not None and done != but.get(lane.key)
    ]
