"""The thread that polls librdkafka's consumer, hands records to partition workers and commits their offsets.

`FlowControl` decides which partitions are fetched. Pausing one is expensive: librdkafka drops the records that it
fetched ahead, and a resumed partition waits until the current fetch ends. So a worker whose queue just became full first
gets a short time to catch up, and only slow ones are paused.
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

# librdkafka ignores a resume that arrives before its own thread has seen the pause. The partition would stay paused.
_MIN_PAUSE_S = 0.1


class FlowControl[T]:
    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        # In librdkafka a pause survives a revocation and a new assignment, so it is remembered longer than the worker.
        self._paused_at: dict[PartitionKey, float] = {}
        self._slow: set[PartitionKey] = set()
        self._kicks: set[PartitionKey] = set()
        self.has_room = threading.Event()
        self.is_holding_back = False
        """A partition is paused only because its queue is full, so it must be resumed soon."""

    def kick(self, keys: Iterable[PartitionKey]) -> None:
        """Pause and resume partitions that are stuck in librdkafka. May be called from any thread."""
        self._kicks |= set(keys)

    def steer(self, consumer: Consumer, workers: Mapping[PartitionKey, PartitionWorker[T]]) -> None:
        """Pause partitions with a full queue or a failure, resume those that want more.

        Each is paused or resumed once, because librdkafka does not handle repeated calls.
        """
        now, kicks = time.monotonic(), self._kicks
        self._kicks = set()
        pause = [
            key for key, worker in workers.items() if key not in self._paused_at and _must_wait(worker, kicks)
        ]
        resume = [
            key
            for key, since in self._paused_at.items()
            if key in workers and workers[key].wants_more and now - since >= _MIN_PAUSE_S
        ]
        if pause:
            consumer.pause([TopicPartition(*key) for key in pause])
        if resume:
            consumer.resume([TopicPartition(*key) for key in resume])
        self._paused_at |= dict.fromkeys(pause, now)
        for key in resume:
            del self._paused_at[key]
        self.is_holding_back = any(key in workers and not workers[key].trouble for key in self._paused_at)

    def await_room(self, workers: Mapping[PartitionKey, PartitionWorker[T]]) -> None:
        """Wait up to `patience_s` for workers with a full queue.

        A worker that does not catch up in this time is slow: it is not waited for again until its queue is empty, so
        that it delays the others only once.
        """
        self._slow -= {key for key in self._slow if key not in workers or workers[key].is_empty}
        deadline = time.monotonic() + self._patience_s
        while full := [key for key, worker in workers.items() if self._is_worth_waiting_for(key, worker)]:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self._slow |= set(full)
                return
            self.has_room.clear()
            if all(workers[key].is_full for key in full):  # Otherwise a worker made room before `clear`.
                self.has_room.wait(left_s)

    def _is_worth_waiting_for(self, key: PartitionKey, worker: PartitionWorker[T]) -> bool:
        return (
            worker.is_full and worker.trouble is None and key not in self._slow and key not in self._paused_at
        )


def _must_wait[T](worker: PartitionWorker[T], kicks: set[PartitionKey]) -> bool:
    return worker.is_full or worker.trouble is not None or worker.key in kicks


_POLL_S = 0.1
_SHORT_POLL_S = 0.01
_LOOP_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderTuning:
    lot_records: int = 500
    commit_every_s: float = 0.2
    poll_timeout_s: float = 0.1
    drain_s: float = 10.0
    """How long a batch may take when its partition is revoked or the consumer stops. Then it is cancelled."""
    last_commit_s: float = 5.0


@dataclass(frozen=True, slots=True)
class PartitionWorkerFactory[T]:
    """`make` is called in the consumer's thread, with the worker's `on_progress`; `start` in the event loop."""

    make: Callable[[PartitionKey, Callable[[], None]], PartitionWorker[T]]
    start: Callable[[PartitionWorker[T]], None]


class ConsumerFatalError(Exception):
    """librdkafka's consumer failed and must be replaced."""


class ConsumerThread[T]:
    def __init__(
        self,
        config: LibrdkafkaConfig,
        topics: list[str],
        workers: PartitionWorkerFactory[T],
        health: KafkaHealthTracker,
        tuning: ReaderTuning,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._topics = topics
        self._factory = workers
        self._health = health
        self._tuning = tuning
        self._commits: OffsetCommits[T] = OffsetCommits(health, tuning.commit_every_s)
        self._flow: FlowControl[T] = FlowControl(tuning.poll_timeout_s)
        self._workers: dict[PartitionKey, PartitionWorker[T]] = {}
        self._assignments = 0
        self._assigned_in: dict[PartitionKey, int] = {}
        """The number of the assignment in which a partition was received."""
        self._is_stopping = threading.Event()
        self.is_member = False
        """The consumer has joined the group, perhaps without a partition."""
        self.left: asyncio.Future[None] = self._loop.create_future()
        """Ends when no record is handed over or committed any more, with the error if there was one."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Ends when the consumer has left the group. librdkafka waits for a broker to answer."""
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
        self._call_in_loop(_settle, self.left, error)
        try:
            self._consumer.close()
        finally:
            self._call_in_loop(_settle, self.closed, None)

    def _read(self) -> Exception | None:
        try:
            self._consumer.subscribe(
                self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not self._is_stopping.is_set():
                self._turn()
            self._wind_down()
        except Exception as error:  # noqa: BLE001 - returned with `left`
            self._end(self._take_away(list(self._workers)), 0)
            return error
        return None

    def _turn(self) -> None:
        self._flow.steer(self._consumer, self._workers)
        self._commits.send(self._consumer, self._workers.values())
        # `consume(n, t)` alone would wait the whole `t` unless `n` records arrive.
        message = self._consumer.poll(_SHORT_POLL_S if self._flow.is_holding_back else _POLL_S)
        if message is not None:
            self._hand_over(self._with_rest(message))
            self._flow.await_room(self._workers)

    def _with_rest(self, message: Message) -> list[Message]:
        assignments = self._assignments
        rest = self._consumer.consume(self._tuning.lot_records - 1, 0)
        if self._assigned_in.get(_key(message), 0) > assignments:
            # Race: the group revoked the partition and assigned it again during `consume`. The new assignment starts
            # at the committed offset and delivers `message` again; handing it over now would skip records before it.
            return rest
        return [message, *rest]

    def _hand_over(self, messages: list[Message]) -> None:
        """Pass records to their workers with one wake-up of the event loop. Those of revoked partitions are dropped."""
        parts: dict[PartitionKey, list[Record]] = {}
        for message in messages:
            error = message.error()
            if error is not None:
                self._take_error(error)
            elif (key := _key(message)) in self._workers:
                parts.setdefault(key, []).append(record_from_message(message))
        if parts:
            lot = [(self._workers[key], records) for key, records in parts.items()]
            for worker, records in lot:
                worker.hand(records)
            self._health.answered()
            self._call_in_loop(_deliver, lot)

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
            worker = self._factory.make((part.topic, part.partition), self._flow.has_room.set)
            self._workers[worker.key] = worker
            self._assigned_in[worker.key] = self._assignments
            self._call_in_loop(self._factory.start, worker)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """End the workers of revoked partitions and commit. The group waits until this returns."""
        workers = self._take_away([(part.topic, part.partition) for part in partitions])
        offsets = self._commits.due(workers) if self._end(workers, self._tuning.drain_s) else []
        try:
            if offsets:
                consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            self._health.failed(f"last commit: {error_text(error.args[0])}")
        self._commits.drop(workers)

    def _on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """End the workers of lost partitions without a commit: they may already be assigned to another consumer."""
        workers = self._take_away([(part.topic, part.partition) for part in partitions])
        self._end(workers, 0)
        self._commits.drop(workers)

    def _take_away(self, keys: list[PartitionKey]) -> list[PartitionWorker[T]]:
        return [self._workers.pop(key) for key in keys if key in self._workers]

    def _end(self, workers: list[PartitionWorker[T]], grace_s: float) -> bool:
        """End workers. Returns False if the event loop did not answer: their progress is unknown and not committed."""
        if not workers or self._loop.is_closed():
            return False
        ending = asyncio.run_coroutine_threadsafe(_end_all(workers, grace_s), self._loop)
        try:
            ending.result(grace_s + _LOOP_TIMEOUT_S)
        except TimeoutError:
            log.warning("event loop did not end %d partitions in time; their records repeat", len(workers))
            return False
        return True

    def _wind_down(self) -> None:
        """End all workers, then commit their offsets, each within a time limit."""
        self._end(list(self._workers.values()), self._tuning.drain_s)
        deadline = time.monotonic() + self._tuning.last_commit_s
        while self._commits.due(self._workers.values()) and time.monotonic() < deadline:
            self._commits.send(self._consumer, self._workers.values(), is_urgent=True)
            self._consumer.poll(
                _SHORT_POLL_S
            )  # Serves the commit's callback; records are not processed any more.
        self._workers.clear()

    def _call_in_loop[*Ts](self, what: Callable[[*Ts], object], *args: *Ts) -> None:
        with contextlib.suppress(RuntimeError):  # The event loop is closed.
            self._loop.call_soon_threadsafe(what, *args)


def _key(message: Message) -> PartitionKey:
    return message.topic() or "", message.partition() or 0


def _deliver[T](lot: list[tuple[PartitionWorker[T], list[Record]]]) -> None:
    for worker, records in lot:
        worker.receive(records)


async def _end_all[T](workers: list[PartitionWorker[T]], grace_s: float) -> None:
    await asyncio.gather(*(worker.end(grace_s) for worker in workers))


def _settle(waiter: asyncio.Future[None], error: Exception | None) -> None:
    if waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)
