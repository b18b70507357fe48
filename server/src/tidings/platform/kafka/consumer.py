"""How far a group is behind, asked of the brokers in a thread of its own.

A client's own idea of the end of a log comes with what it fetches, so it stands still for a partition
that is paused: just when somebody wants to know. The admin client would be the obvious one to ask, but its
`list_consumer_group_offsets` aborts the whole process when the coordinator dies (an assertion in librdkafka
2.16); a consumer that never joins gives the same answers and lives.
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
    """`committed` is where the group would go on; the start of the log if it never got that far."""

    topic: str
    partition: int
    high: int
    committed: int

    @property
    def behind(self) -> int:
        return max(0, self.high - self.committed)


class LagProbe:
    def __init__(self, connection: KafkaConfig, group: str, topics: list[str]) -> None:
        self._looker = Consumer({**connection.admin_config(), "group.id": group})
        self._topics = topics
        self._thread = ThreadPoolExecutor(1, "kafka-survey")

    async def ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        """Raises KafkaException at the first question that nobody answers."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, keys)

    async def partitions(self, topic: str) -> int:
        """Count the partitions of a topic. Raises KafkaException."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._partitions, topic)

    def close(self) -> None:
        """Not waited for: a question under way ends first."""
        self._thread.submit(self._looker.close)
        self._thread.shutdown(wait=False)

    def _ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        if not keys:
            self._looker.list_topics(self._topics[0], timeout=_ANSWER_S)
            return {}
        parts = self._looker.committed([TopicPartition(*key) for key in keys], timeout=_ANSWER_S)
        return {(part.topic, part.partition): self._lag(part) for part in parts if part.error is None}

    def _partitions(self, name: str) -> int:
        topic = self._looker.list_topics(name, timeout=_ANSWER_S).topics[name]
        if topic.error is not None:
            raise KafkaException(topic.error)
        return len(topic.partitions)

    def _lag(self, committed: TopicPartition) -> Lag:
        place = TopicPartition(committed.topic, committed.partition)
        low, high = self._looker.get_watermark_offsets(place, timeout=_ANSWER_S)
        return Lag(place.topic, place.partition, high, max(committed.offset, low))


class KafkaConsumerLag[K: Hashable]:
    """`key_of` gives the key under which the events of a K are published."""

    def __init__(
        self, connection: KafkaConfig, *, topic: str, group: str, key_of: Callable[[K], bytes]
    ) -> None:
        self._topic = connection.topic(topic)
        self._survey = LagProbe(connection, connection.group(group), [self._topic])
        self._key_of = key_of

    def close(self) -> None:
        self._survey.close()

    async def progress(self, wanted: Collection[K]) -> Mapping[K, PartitionProgress]:
        """Ask for the partitions of these alone. Raises `UnavailableError`."""
        try:
            count = await self._survey.partitions(self._topic)
            # As `murmur2_random`, the publisher's partitioner, chooses.
            places = {each: murmur2(self._key_of(each), count) for each in wanted}
            lags = await self._survey.ask([(self._topic, place) for place in sorted(set(places.values()))])
        except KafkaException as error:
            raise UnavailableError(f"Kafka: {error_text(error.args[0])}") from error
        found = {
            each: lags[self._topic, place] for each, place in places.items() if (self._topic, place) in lags
        }
        return {
            each: PartitionProgress(lag.partition, lag.high, lag.committed) for each, lag in found.items()
        }


_RENEW_AFTER_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerTuning:
    worker: PartitionWorkerOptions = field(default_factory=PartitionWorkerOptions)
    reader: ReaderTuning = field(default_factory=ReaderTuning)
    survey_every_s: float = 5.0
    close_s: float = 5.0
    """How long to wait for the group to know that we left; librdkafka would wait for ever while no broker answers."""


class PausedPartition(Struct, frozen=True):
    """A partition whose batch is tried again and again, because something it needs fails."""

    topic: str
    partition: int
    since: float
    tries: int
    why: str


class KafkaConsumer[T]:
    """Made inside the running loop."""

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
        self._broke_with = ""
        self._lag: dict[PartitionKey, Lag] = {}
        self._stalled: dict[PartitionKey, int | None] = {}

    async def run(self) -> None:
        """Until `stop`, or until a handler raises what is neither retryable nor `UndecodableError`: that is raised here."""
        survey = asyncio.create_task(self._survey_again_and_again())
        survey.add_done_callback(self._crash_with)
        try:
            while not self._stop.is_set():
                await self._serve()
        finally:
            survey.cancel()
            await asyncio.wait([survey])

    def stop(self) -> None:
        """Ask `run` to end: batches at hand are finished, what is done is committed, the group is left."""
        self._stop.set()

    def lag(self) -> tuple[Lag, ...]:
        """As of the last survey, for the partitions that are ours."""
        return tuple(self._lag[key] for key in sorted(self._lag) if key in self._workers)

    def paused(self) -> tuple[PausedPartition, ...]:
        troubles = ((lane.key, lane.trouble) for lane in self._workers.values())
        return tuple(
            PausedPartition(*key, trouble.since, trouble.tries, trouble.why)
            for key, trouble in sorted(troubles, key=lambda pair: pair[0])
            if trouble is not None
        )

    def assigned(self) -> tuple[PartitionKey, ...]:
        return tuple(sorted(self._workers))

    def health(self) -> KafkaHealth:
        """Whether brokers answer and the group has us. Partitions that are paused are no trouble of Kafka's."""
        how = self._health.status()
        if how.is_ok and self._broke_with and not (self._reader and self._reader.is_member):
            return KafkaHealth(is_ok=False, reason=f"not in the group since: {self._broke_with}")
        return how

    async def _serve(self) -> None:
        """One life of librdkafka's consumer. After a fatal error of its own comes another."""
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
            log.warning("left group %s without a word: %s", self._group, self.health().reason or "no answer")

    async def _renew_after(self, error: BaseException | None) -> None:
        if error is None:
            return
        if not isinstance(error, ConsumerFatalError):
            raise error
        self._broke_with = str(error)
        self._health.failed(self._broke_with)
        log.warning("consumer %s is made anew: %s", self._group, error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), _RENEW_AFTER_S)

    def _make_reader(self) -> ConsumerThread[T]:
        config = consumer_config(self._connection, self._group)
        maker = PartitionWorkerFactory(
            lambda key: PartitionWorker(key, self._work, self._tuning.worker), self._start_worker
        )
        return ConsumerThread(config, self._topics, maker, self._health, self._tuning.reader)

    def _start_worker(self, worker: PartitionWorker[T], on_progress: Callable[[], None]) -> None:
        def on_end(task: asyncio.Task[None]) -> None:
            if self._workers.get(worker.key) is worker:
                del self._workers[worker.key]
            self._crash_with(task)

        self._workers[worker.key] = worker
        worker.start(on_end, on_progress)

    def _crash_with(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._crash.done():
            self._crash.set_exception(error)

    async def _survey_again_and_again(self) -> None:
        with contextlib.closing(LagProbe(self._connection, self._group, self._topics)) as survey:
            while True:
                await asyncio.sleep(self._tuning.survey_every_s)
                try:
                    self._lag = await survey.ask(list(self._workers))
                except KafkaException as error:
                    self._health.failed(error_text(error.args[0]))
                else:
                    self._health.answered()
                    self._kick_stalled()

    def _kick_stalled(self) -> None:
        """A lane that is well, empty, has records waiting and got none since the last survey is stuck in librdkafka."""
        suspects = {
            key: lane.position
            for key, lane in self._workers.items()
            if key in self._lag and _is_starved(lane, self._lag[key])
        }
        stalled = [key for key, at in suspects.items() if self._stalled.get(key, -1) == at]
        self._stalled = suspects
        if stalled and self._reader is not None:
            log.warning("no records from %s though there are some; paused and resumed", stalled)
            self._reader.kick(stalled)


def _is_starved[T](worker: PartitionWorker[T], lag: Lag) -> bool:
    position = lag.committed if worker.position is None else worker.position
    return worker.trouble is None and worker.is_empty and position < lag.high


# With both, partitions move one by one, and no member stops for a rebalance.
_GROUP_PROTOCOLS: Mapping[str, LibrdkafkaConfig] = {
    "consumer": {"group.protocol": "consumer"},  # KIP-848: the broker assigns
    "classic": {
        "group.protocol": "classic",
        "partition.assignment.strategy": "cooperative-sticky",
        # set by the members here: the least that brokers accept by default
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
        # a partition that is resumed waits for the fetch under way to end
        "fetch.wait.max.ms": 200,
    }
