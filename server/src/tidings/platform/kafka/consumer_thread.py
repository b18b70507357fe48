"""Which partitions are fetched: those whose lanes keep up. Used by the reader's thread alone.

A pause is dear: librdkafka throws away what it fetched ahead, and a resumed partition waits for the
fetch under way. So a lane that just became full gets a moment first, and only slow ones are paused.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tidings.platform.kafka.config import KafkaHealthTracker, LibrdkafkaConfig, log
from tidings.platform.kafka.errors import error_text, is_fatal
from tidings.platform.kafka.partition_worker import OffsetCommits, PartitionWorker
from tidings.platform.kafka.records import PartitionKey, Record, record_from_message

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


_POLL_S = 0.1
_SHORT_POLL_S = 0.01
_LOOP_ANSWERS_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderTuning:
    lot_records: int = 500
    commit_every_s: float = 0.2
    poll_timeout_s: float = 0.1
    drain_s: float = 10.0
    """How long a batch at hand may take when its partition is taken away or we stop; then it is abandoned."""
    last_commit_s: float = 5.0


@dataclass(frozen=True, slots=True)
class PartitionWorkerFactory[T]:
    """`make` is called in the reader's thread, `start` on the loop, with whom to call when room is made."""

    make: Callable[[PartitionKey], PartitionWorker[T]]
    start: Callable[[PartitionWorker[T], Callable[[], None]], None]


class ConsumerFatalError(Exception):
    """librdkafka's consumer can't go on; another one can."""


class ConsumerThread[T]:
    def __init__(
        self,
        config: LibrdkafkaConfig,
        topics: list[str],
        lanes: PartitionWorkerFactory[T],
        health: KafkaHealthTracker,
        tuning: ReaderTuning,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._topics = topics
        self._maker = lanes
        self._health = health
        self._tuning = tuning
        self._commits: OffsetCommits[T] = OffsetCommits(health, tuning.commit_every_s)
        self._flow: FlowControl[T] = FlowControl(tuning.poll_timeout_s)
        self._workers: dict[PartitionKey, PartitionWorker[T]] = {}
        self._assignments = 0
        self._born: dict[PartitionKey, int] = {}
        self._is_stopping = threading.Event()
        self.is_member = False
        """The group has taken us in, be it without a partition."""
        self.left: asyncio.Future[None] = self._loop.create_future()
        """Ends when nothing is handed over or committed any more; with what went wrong, if something did."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Ends when the group knows that we left. Not while no broker answers: librdkafka waits for one."""
        callbacks = {"on_commit": self._commits.on_commit, "error_cb": self._on_error}
        self._consumer = Consumer({**config, **callbacks})

    def start(self) -> None:
        threading.Thread(target=self._run, name="kafka-reader", daemon=True).start()

    def ask_to_stop(self) -> None:
        self._is_stopping.set()

    def kick(self, keys: list[PartitionKey]) -> None:
        self._flow.kick(keys)

    def _run(self) -> None:
        error = self._read()
        self._tell(_settle, self.left, error)
        try:
            self._consumer.close()
        finally:
            self._tell(_settle, self.closed, None)

    def _read(self) -> Exception | None:
        try:
            self._consumer.subscribe(
                self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not self._is_stopping.is_set():
                self._turn()
            self._wind_down()
        except Exception as error:  # noqa: BLE001 - whoever waits for `left` decides about it
            self._end(self._take_away(list(self._workers)), 0)
            return error
        return None

    def _turn(self) -> None:
        self._flow.steer(self._consumer, self._workers)
        self._commits.send(self._consumer, self._workers.values())
        # `consume(n, t)` alone would wait the whole t unless n arrive
        message = self._consumer.poll(_SHORT_POLL_S if self._flow.is_holding_back else _POLL_S)
        if message is not None:
            self._hand_over(self._with_rest(message))
            self._flow.await_room(self._workers)

    def _with_rest(self, message: Message) -> list[Message]:
        assignments = self._assignments
        rest = self._consumer.consume(self._tuning.lot_records - 1, 0)
        if self._born.get(_key(message), 0) > assignments:
            return rest  # its partition was taken away and given back within `consume`: it will come in its place
        return [message, *rest]

    def _hand_over(self, messages: list[Message]) -> None:
        """One wake-up of the loop per lot. Records of partitions that are no longer ours are dropped."""
        parts: dict[PartitionKey, list[Record]] = {}
        for message in messages:
            error = message.error()
            if error is not None:
                self._take_error(error)
            elif (key := _key(message)) in self._workers:
                parts.setdefault(key, []).append(record_from_message(message))
        if parts:
            lot = [(self._workers[key], records) for key, records in parts.items()]
            for lane, records in lot:
                lane.hand(records)
            self._health.answered()
            self._tell(_deliver, lot)

    def _take_error(self, error: KafkaError) -> None:
        if is_fatal(error):
            raise ConsumerFatalError(error_text(error))
        log.warning("consumer: %s", error_text(error))
        self._health.failed(error_text(error))

    def _on_error(self, error: KafkaError) -> None:
        self._health.failed(error_text(error))

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        if self._is_stopping.is_set():
            return
        self._health.answered()
        self.is_member = True
        self._assignments += 1
        for part in partitions:
            lane = self._maker.make((part.topic, part.partition))
            self._workers[lane.key] = lane
            self._born[lane.key] = self._assignments
            self._tell(self._maker.start, lane, self._flow.has_room.set)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Still ours until this returns: end the work in bounded time and commit what is done."""
        lanes = self._take_away([(part.topic, part.partition) for part in partitions])
        offsets = self._commits.due(lanes) if self._end(lanes, self._tuning.drain_s) else []
        try:
            if offsets:
                consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            self._health.failed(f"last commit: {error_text(error.args[0])}")
        self._commits.drop(lanes)

    def _on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Somebody else's already: nothing may be committed for them."""
        lanes = self._take_away([(part.topic, part.partition) for part in partitions])
        self._end(lanes, 0)
        self._commits.drop(lanes)

    def _take_away(self, keys: list[PartitionKey]) -> list[PartitionWorker[T]]:
        return [self._workers.pop(key) for key in keys if key in self._workers]

    def _end(self, lanes: list[PartitionWorker[T]], grace_s: float) -> bool:
        """False if the loop did not answer; what the lanes did is then not known, and not committed."""
        if not lanes or self._loop.is_closed():
            return False
        ending = asyncio.run_coroutine_threadsafe(_end_all(lanes, grace_s), self._loop)
        try:
            ending.result(grace_s + _LOOP_ANSWERS_S)
        except TimeoutError:
            log.warning("the event loop did not end %d partitions in time; their work repeats", len(lanes))
            return False
        return True

    def _wind_down(self) -> None:
        """Lanes end, then what they did is committed, each in bounded time."""
        self._end(list(self._workers.values()), self._tuning.drain_s)
        deadline = time.monotonic() + self._tuning.last_commit_s
        while self._commits.due(self._workers.values()) and time.monotonic() < deadline:
            self._commits.send(self._consumer, self._workers.values(), is_urgent=True)
            self._consumer.poll(_SHORT_POLL_S)  # what it gives is not ours to handle any more
        self._workers.clear()

    def _tell[*Ts](self, what: Callable[[*Ts], object], *args: *Ts) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(what, *args)


def _key(message: Message) -> PartitionKey:
    return message.topic() or "", message.partition() or 0


def _deliver[T](lot: list[tuple[PartitionWorker[T], list[Record]]]) -> None:
    for lane, records in lot:
        lane.receive(records)


async def _end_all[T](lanes: list[PartitionWorker[T]], grace_s: float) -> None:
    await asyncio.gather(*(lane.end(grace_s) for lane in lanes))


def _settle(waiter: asyncio.Future[None], error: Exception | None) -> None:
    if waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)
