"""The consumer of a group, and the lag of a group as the brokers report it.

A consumer learns the end of a log only when it fetches, so its own figure does not change while a partition is paused.
`LagProbe` therefore queries the brokers, in a thread of its own. It uses a consumer that never joins the group: the
admin client's `list_consumer_group_offsets` aborts the process when the coordinator fails (an assertion in librdkafka
2.16).
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.cimpl import murmur2
from msgspec import Struct

from tidings.kernel.errors import UnavailableError
from tidings.kernel.fences import PartitionProgress
from tidings.platform.kafka.config import KafkaConfig, KafkaHealth, KafkaHealthTracker, LibrdkafkaConfig, log
from tidings.platform.kafka.consumer_thread import (
    ConsumerFatalError,
    ConsumerThread,
    PartitionWorkerFactory,
    ReaderTuning,
)
from tidings.platform.kafka.errors import error_text
from tidings.platform.kafka.partition_worker import PartitionWorker, PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.records import PartitionKey

_ANSWER_S = 3.0


class Lag(Struct, frozen=True):
    """`committed`: where the group would continue, at least the start of the log."""

    topic: str
    partition: int
    high: int
    committed: int

    @property
    def behind(self) -> int:
        return max(0, self.high - self.committed)


class LagProbe:
    def __init__(self, connection: KafkaConfig, group: str, topics: list[str]) -> None:
        self._consumer = Consumer({**connection.admin_config(), "group.id": group})
        self._topics = topics
        self._thread = ThreadPoolExecutor(1, "kafka-lag")

    async def ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        """Return the lag of partitions. Raises KafkaException if a broker does not answer."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, keys)

    async def partitions(self, topic: str) -> int:
        """Count the partitions of a topic. Raises KafkaException."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._partitions, topic)

    def close(self) -> None:
        """Close in the background, after the query in progress."""
        self._thread.submit(self._consumer.close)
        self._thread.shutdown(wait=False)

    def _ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        if not keys:
            self._consumer.list_topics(self._topics[0], timeout=_ANSWER_S)
            return {}
        parts = self._consumer.committed([TopicPartition(*key) for key in keys], timeout=_ANSWER_S)
        return {(part.topic, part.partition): self._lag(part) for part in parts if part.error is None}

    def _partitions(self, name: str) -> int:
        topic = self._consumer.list_topics(name, timeout=_ANSWER_S).topics[name]
        if topic.error is not None:
            raise KafkaException(topic.error)
        return len(topic.partitions)

    def _lag(self, committed: TopicPartition) -> Lag:
        partition = TopicPartition(committed.topic, committed.partition)
        low, high = self._consumer.get_watermark_offsets(partition, timeout=_ANSWER_S)
        return Lag(partition.topic, partition.partition, high, max(committed.offset, low))


class KafkaConsumerLag[K: Hashable]:
    """Progress of a group, by the keys of events. `key_of` returns the Kafka key of a K."""

    def __init__(
        self, connection: KafkaConfig, *, topic: str, group: str, key_of: Callable[[K], bytes]
    ) -> None:
        self._topic = connection.topic(topic)
        self._probe = LagProbe(connection, connection.group(group), [self._topic])
        self._key_of = key_of

    def close(self) -> None:
        self._probe.close()

    async def progress(self, wanted: Collection[K]) -> Mapping[K, PartitionProgress]:
        """Return the progress in the partition of each key. Raises `UnavailableError`."""
        try:
            count = await self._probe.partitions(self._topic)
            # The publisher's partitioner `murmur2_random` chooses the same partition.
            partitions = {each: murmur2(self._key_of(each), count) for each in wanted}
            lags = await self._probe.ask(
                [(self._topic, number) for number in sorted(set(partitions.values()))]
            )
        except KafkaException as error:
            raise UnavailableError(f"Kafka: {error_text(error.args[0])}") from error
        return {
            each: PartitionProgress(lag.partition, lag.high, lag.committed)
            for each, number in partitions.items()
            if (lag := lags.get((self._topic, number))) is not None
        }


_RENEW_AFTER_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerTuning:
    worker: PartitionWorkerOptions = field(default_factory=PartitionWorkerOptions)
    reader: ReaderTuning = field(default_factory=ReaderTuning)
    survey_every_s: float = 5.0
    close_s: float = 5.0
    """How long to wait until the consumer has left the group. librdkafka waits without limit while no broker answers."""


class PausedPartition(Struct, frozen=True):
    """A partition whose batch is retried because of a retryable error."""

    topic: str
    partition: int
    since: float
    tries: int
    why: str


class KafkaConsumer[T]:
    """A member of a consumer group, with a worker per partition. Create it in the running event loop."""

    def __init__(
        self,
        connection: KafkaConfig,
        work: RecordHandlers[T],
        *,
        group: str,
        topics: list[str],
        tuning: ConsumerTuning | None = None,
    ) -> None:
        self._tuning = tuning or ConsumerTuning()
        self._work = work
        self._connection = connection
        self._group = connection.group(group)
        self._topics = [connection.topic(topic) for topic in topics]
        self._health = KafkaHealthTracker(f"consumer {self._group}")
        self._stop = asyncio.Event()
        self._crash: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._workers: dict[PartitionKey, PartitionWorker[T]] = {}
        self._reader: ConsumerThread[T] | None = None
        self._fatal_error = ""
        self._lag: dict[PartitionKey, Lag] = {}
        self._stalled: dict[PartitionKey, int | None] = {}

    async def run(self) -> None:
        """Consume until `stop`. Raises an error of a handler that is neither retryable nor `UndecodableError`."""
        survey = asyncio.create_task(self._measure_lag_forever())
        survey.add_done_callback(self._crash_with)
        try:
            while not self._stop.is_set():
                await self._serve()
        finally:
            survey.cancel()
            await asyncio.wait([survey])

    def stop(self) -> None:
        """Make `run` finish the current batches, commit, leave the group and return."""
        self._stop.set()

    def lag(self) -> tuple[Lag, ...]:
        """Return the last measured lag of the assigned partitions."""
        return tuple(self._lag[key] for key in sorted(self._lag) if key in self._workers)

    def paused(self) -> tuple[PausedPartition, ...]:
        troubles = ((worker.key, worker.trouble) for worker in self._workers.values())
        return tuple(
            PausedPartition(*key, trouble.since, trouble.tries, trouble.why)
            for key, trouble in sorted(troubles, key=lambda pair: pair[0])
            if trouble is not None
        )

    def assigned(self) -> tuple[PartitionKey, ...]:
        return tuple(sorted(self._workers))

    def health(self) -> KafkaHealth:
        """Return whether brokers answer and the consumer is in its group. Paused partitions do not count."""
        status = self._health.status()
        if status.is_ok and self._fatal_error and not (self._reader and self._reader.is_member):
            return KafkaHealth(is_ok=False, reason=f"not in the group since: {self._fatal_error}")
        return status

    async def _serve(self) -> None:
        """Run one consumer of librdkafka until it stops or has a fatal error."""
        reader = self._reader = self._make_reader()
        reader.start()
        stop = asyncio.create_task(self._stop.wait())
        ends: set[asyncio.Future[Any]] = {stop, self._crash, reader.left}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            reader.ask_to_stop()
            await asyncio.wait([reader.left])
            await self._leave(reader)
        if self._crash.done():
            self._crash.result()
        await self._renew_after(reader.left.exception())

    async def _leave(self, reader: ConsumerThread[T]) -> None:
        await asyncio.wait([reader.closed], timeout=self._tuning.close_s)
        if not reader.closed.done():
            reason = self.health().reason or "no answer"
            log.warning("left consumer group %s without acknowledgement: %s", self._group, reason)

    async def _renew_after(self, error: BaseException | None) -> None:
        if error is None:
            return
        if not isinstance(error, ConsumerFatalError):
            raise error
        self._fatal_error = str(error)
        self._health.failed(self._fatal_error)
        log.warning("consumer %s: fatal error, replacing it: %s", self._group, error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), _RENEW_AFTER_S)

    def _make_reader(self) -> ConsumerThread[T]:
        config = consumer_config(self._connection, self._group)
        factory = PartitionWorkerFactory(self._make_worker, self._start_worker)
        return ConsumerThread(config, self._topics, factory, self._health, self._tuning.reader)

    def _make_worker(self, key: PartitionKey, on_progress: Callable[[], None]) -> PartitionWorker[T]:
        return PartitionWorker(key, self._work, self._tuning.worker, on_progress)

    def _start_worker(self, worker: PartitionWorker[T]) -> None:
        def on_end(task: asyncio.Task[None]) -> None:
            if self._workers.get(worker.key) is worker:
                del self._workers[worker.key]
            self._crash_with(task)

        self._workers[worker.key] = worker
        worker.start(on_end)

    def _crash_with(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._crash.done():
            self._crash.set_exception(error)

    async def _measure_lag_forever(self) -> None:
        with contextlib.closing(LagProbe(self._connection, self._group, self._topics)) as probe:
            while True:
                await asyncio.sleep(self._tuning.survey_every_s)
                try:
                    self._lag = await probe.ask(list(self._workers))
                except KafkaException as error:
                    self._health.failed(error_text(error.args[0]))
                else:
                    self._health.answered()
                    self._kick_stalled()

    def _kick_stalled(self) -> None:
        """Resume partitions that are stuck in librdkafka.

        A partition is stuck if its worker has no failure and no records, the log has some, and none arrived since the
        last measurement.
        """
        suspects = {
            key: worker.position
            for key, worker in self._workers.items()
            if key in self._lag and _is_starved(worker, self._lag[key])
        }
        stalled = [key for key, at in suspects.items() if self._stalled.get(key, -1) == at]
        self._stalled = suspects
        if stalled and self._reader is not None:
            log.warning("no records from %s although the log has some; pausing and resuming it", stalled)
            self._reader.kick(stalled)


def _is_starved[T](worker: PartitionWorker[T], lag: Lag) -> bool:
    position = lag.committed if worker.position is None else worker.position
    return worker.trouble is None and worker.is_empty and position < lag.high


# With both protocols partitions move one by one, and no member stops for a rebalance.
_GROUP_PROTOCOLS: Mapping[str, LibrdkafkaConfig] = {
    "consumer": {"group.protocol": "consumer"},  # KIP-848: the broker assigns
    "classic": {
        "group.protocol": "classic",
        "partition.assignment.strategy": "cooperative-sticky",
        # With this protocol the members set it. 6 s is the minimum that brokers accept by default.
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 2_000,
    },
}


def consumer_config(connection: KafkaConfig, group: str) -> LibrdkafkaConfig:
    return {
        **connection.config(),
        "group.id": group,
        **_GROUP_PROTOCOLS[connection.group_protocol],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "queued.max.messages.kbytes": 4_096,
        "fetch.queue.backoff.ms": 5,
        # A resumed partition waits until the current fetch ends.
        "fetch.wait.max.ms": 200,
    }
