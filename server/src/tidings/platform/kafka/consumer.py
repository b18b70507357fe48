"""Consumes as a member of a group: every record has its effect before its offset is committed.

Repeats are possible (after a crash, a lost partition, an outage) and are exactly what was handled and not
committed; nothing is skipped. Order holds within a partition. See docs/explanation/kafka-client.md.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from msgspec import Struct

from tidings.platform.kafka.connection import KafkaConfig, LibrdkafkaConfig, log
from tidings.platform.kafka.errors import error_text
from tidings.platform.kafka.health import KafkaHealth, KafkaHealthTracker
from tidings.platform.kafka.lag import Lag, LagProbe
from tidings.platform.kafka.lane import PartitionWorker, PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.reader import (
    ConsumerFatalError,
    ConsumerThread,
    PartitionWorkerFactory,
    ReaderTuning,
)
from tidings.platform.kafka.records import PartitionKey

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
