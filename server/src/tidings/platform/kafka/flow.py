"""Which partitions are fetched: those whose lanes keep up. Used by the reader's thread alone.

A pause is dear: librdkafka throws away what it fetched ahead, and a resumed partition waits for the
fetch under way. So a lane that just became full gets a moment first, and only slow ones are paused.
"""

import threading
import time
from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, TopicPartition

from tidings.platform.kafka.lane import PartitionWorker
from tidings.platform.kafka.records import PartitionKey

# librdkafka drops a resume that comes before its own thread has seen the pause: the partition would stay paused
_MIN_PAUSE_S = 0.1


class FlowControl[T]:
    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        # A pause outlives the assignment in librdkafka, so it is remembered beyond the lane too.
        self._paused_at: dict[PartitionKey, float] = {}
        self._slow: set[PartitionKey] = set()
        self._kicks: set[PartitionKey] = set()
        self.has_room = threading.Event()
        self.is_holding_back = False
        """Some lane is paused only because it is full, so it will want to be resumed soon."""

    def kick(self, keys: Iterable[PartitionKey]) -> None:
        """Pause and resume partitions that should give records and don't. From any thread."""
        self._kicks |= set(keys)

    def steer(self, consumer: Consumer, lanes: Mapping[PartitionKey, PartitionWorker[T]]) -> None:
        """Pause what is full or in trouble, resume what wants more. Each once: a repeated call confuses librdkafka."""
        now, kicks = time.monotonic(), self._kicks
        self._kicks = set()
        pause = [key for key, lane in lanes.items() if key not in self._paused_at and _must_wait(lane, kicks)]
        resume = [
            key
            for key, since in self._paused_at.items()
            if key in lanes and lanes[key].wants_more and now - since >= _MIN_PAUSE_S
        ]
        if pause:
            consumer.pause([TopicPartition(*key) for key in pause])
        if resume:
            consumer.resume([TopicPartition(*key) for key in resume])
        self._paused_at |= dict.fromkeys(pause, now)
        for key in resume:
            del self._paused_at[key]
        self.is_holding_back = any(key in lanes and not lanes[key].trouble for key in self._paused_at)

    def await_room(self, lanes: Mapping[PartitionKey, PartitionWorker[T]]) -> None:
        """A lane that keeps up has room in a moment. One that does not is slow, and gets no patience again
        until it has caught up: it costs the others that moment once.
        """
        self._slow -= {key for key in self._slow if key not in lanes or lanes[key].is_empty}
        deadline = time.monotonic() + self._patience_s
        while full := [key for key, lane in lanes.items() if self._is_worth_waiting_for(key, lane)]:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self._slow |= set(full)
                return
            self.has_room.clear()
            if all(lanes[key].is_full for key in full):  # else one made room before the flag was cleared
                self.has_room.wait(left_s)

    def _is_worth_waiting_for(self, key: PartitionKey, worker: PartitionWorker[T]) -> bool:
        return (
            worker.is_full and worker.trouble is None and key not in self._slow and key not in self._paused_at
        )


def _must_wait[T](worker: PartitionWorker[T], kicks: set[PartitionKey]) -> bool:
    return worker.is_full or worker.trouble is not None or worker.key in kicks
