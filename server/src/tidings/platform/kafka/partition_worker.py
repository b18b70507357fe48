"""Process one partition: batches in order, one at a time, each repeated until its effect is applied.

A record whose processing raises an unexpected error three times becomes a dead letter, and the worker continues. Where the
order of records matters, the error ends the worker instead.

Workers of different partitions do not wait for each other. They run in the event loop, and the consumer's thread fills
them. A field that both use is written by one side only, as the comments say.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, TopicPartition

from tidings.kernel.concurrency import gather_limited
from tidings.platform.kafka.config import KafkaHealthTracker, log
from tidings.platform.kafka.errors import UndecodableError, error_text, is_retryable
from tidings.platform.kafka.publisher import DeadLetterPublisher
from tidings.platform.kafka.records import (
    Batch,
    BatchHandler,
    DecodedRecord,
    PartitionKey,
    Record,
    RecordDecoder,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionWorkerOptions:
    """Limits of one partition's queue, and the pauses between attempts."""

    max_batch_records: int = 500
    max_queued_records: int = 1_000
    max_queued_bytes: int = 1_048_576
    first_retry_s: float = 0.1
    max_retry_s: float = 5.0
    max_failures: int = 3
    """Unexpected errors of one record, and dead letters of one key, before the worker tries no more."""
    aside_s: float = 60.0
    """How long records of such a key become dead letters without a try, so that others do not wait for them."""


@dataclass(frozen=True, slots=True)
class PartitionFailure:
    """Why a partition does not advance. `since` is wall-clock time in seconds."""

    since: float
    tries: int
    why: str


@dataclass(frozen=True, slots=True)
class RecordHandlers[T]:
    """`is_ordered`: a record must not be processed before an earlier one of its key, so none can be set aside."""

    decode: RecordDecoder[T]
    handle: BatchHandler[T]
    dead_letter: DeadLetterPublisher
    is_ordered: bool = False


_MAX_FAILING_KEYS = 1_000


@dataclass(slots=True)
class _FailingKey:
    """The dead letters of one key within `aside_s`."""

    letters: int = 0
    last_at: float = 0.0
    why: str = ""

    def count(self, why: str, tuning: PartitionWorkerOptions) -> None:
        now = time.monotonic()
        self.letters = self.letters + 1 if now - self.last_at < tuning.aside_s else 1
        self.last_at, self.why = now, why

    def is_aside(self, tuning: PartitionWorkerOptions) -> bool:
        return self.letters >= tuning.max_failures and time.monotonic() - self.last_at < tuning.aside_s


class PartitionWorker[T]:
    def __init__(
        self,
        key: PartitionKey,
        work: RecordHandlers[T],
        tuning: PartitionWorkerOptions,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_progress` is called when the queue has room again and when an attempt failed."""
        self.key = key
        self._work = work
        self._tuning = tuning
        self._queue: deque[Record] = deque()
        self._has_some = asyncio.Event()
        self._is_ending = False
        self._task: asyncio.Task[None] | None = None
        self._on_progress = on_progress
        # written by the consumer's thread
        self.position: int | None = None
        """The offset after the last record that was handed over. None before the first."""
        self.handed_records = 0
        self.handed_bytes = 0
        # written by the event loop
        self.taken_records = 0
        self.taken_bytes = 0
        self.trouble: PartitionFailure | None = None
        self._failing_keys: dict[bytes, _FailingKey] = {}
        self.done: int | None = None
        """The offset to commit: all records below it are processed. None before the first batch."""

    @property
    def is_full(self) -> bool:
        return (
            self.handed_records - self.taken_records >= self._tuning.max_queued_records
            or self.handed_bytes - self.taken_bytes >= self._tuning.max_queued_bytes
        )

    @property
    def wants_more(self) -> bool:
        """Return whether the queue is at most half full and no attempt has failed, so fetching can resume."""
        return (
            self.trouble is None
            and (self.handed_records - self.taken_records) * 2 <= self._tuning.max_queued_records
            and (self.handed_bytes - self.taken_bytes) * 2 <= self._tuning.max_queued_bytes
        )

    def start(self, on_end: Callable[["asyncio.Task[None]"], None]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"kafka-partition-{self.key}")
        self._task.add_done_callback(on_end)

    @property
    def is_empty(self) -> bool:
        return self.handed_records == self.taken_records

    def hand(self, records: list[Record]) -> None:
        """Count records that the event loop will `receive`. Called by the consumer's thread."""
        self.position = records[-1].offset + 1
        self.handed_records += len(records)
        self.handed_bytes += sum(record.size_bytes for record in records)

    def receive(self, records: list[Record]) -> None:
        self._queue.extend(records)
        self._has_some.set()

    async def end(self, grace_s: float) -> None:
        """Finish the current batch within `grace_s`, else cancel it. Does not start another one."""
        self._is_ending = True
        self._has_some.set()
        if self._task is None or self._task.done():
            return
        if self.trouble is None:
            await asyncio.wait([self._task], timeout=grace_s)
        self._task.cancel()
        await asyncio.wait([self._task], timeout=1)

    async def _run(self) -> None:
        while records := await self._next():
            await self._finish(records)
            self.done = records[-1].offset + 1

    async def _next(self) -> list[Record]:
        """Return the next batch, or an empty list if the worker must end."""
        while not self._queue and not self._is_ending:
            self._has_some.clear()
            await self._has_some.wait()
        if self._is_ending:
            return []
        count = min(len(self._queue), self._tuning.max_batch_records)
        records = [self._queue.popleft() for _ in range(count)]
        self.taken_records += count
        self.taken_bytes += sum(record.size_bytes for record in records)
        self._on_progress()
        return records

    async def _finish(self, records: list[Record]) -> None:
        """Return when every record is processed or acknowledged in the dead-letter topic."""
        events = [event for record in records if (event := await self._decode(record)) is not None]
        await self._process(events)
        self.trouble = None

    async def _process(self, events: Sequence[DecodedRecord[T]]) -> None:
        """Process events in order. If they fail together, find those that fail alone: they become dead letters."""
        events, failures = await self._without_failing_keys(events), 0
        while events:
            try:
                await self._work.handle(Batch(*self.key, tuple(events)))
            except UndecodableError as error:
                rest = [event for event in events if event.record is not error.record]
                if error.record is None or len(rest) == len(events):
                    raise
                await self._dead_letter(error.record, error.reason)
                events = rest
            except Exception as error:
                if is_retryable(error):
                    await self._wait_out(error)
                elif self._work.is_ordered:
                    raise
                elif len(events) > 1:
                    middle = len(events) // 2
                    await self._process(events[:middle])
                    events = await self._without_failing_keys(events[middle:])
                elif (failures := failures + 1) < self._tuning.max_failures:
                    await asyncio.sleep(self._tuning.first_retry_s)
                else:
                    await self._set_aside(events[0].record, error)
                    return
            else:
                self.trouble = None
                return

    async def _without_failing_keys(self, events: Sequence[DecodedRecord[T]]) -> Sequence[DecodedRecord[T]]:
        """Make the events of keys that failed again and again dead letters, and return the others."""
        reasons = {
            key: f"Records of its key failed before: {failing.why}"
            for key, failing in self._failing_keys.items()
            if failing.is_aside(self._tuning)
        }
        if not reasons:
            return events
        await gather_limited(
            self._dead_letter(event.record, reasons[event.record.key])
            for event in events
            if event.record.key in reasons
        )
        return [event for event in events if event.record.key not in reasons]

    async def _set_aside(self, record: Record, error: Exception) -> None:
        """Make a record a dead letter because its processing failed again and again."""
        why = f"{type(error).__name__}: {error}"
        log.error("a record failed %s times: %s", self._tuning.max_failures, why, exc_info=error)
        await self._dead_letter(record, f"It failed {self._tuning.max_failures} times: {why}")
        if record.key is None:
            return
        if len(self._failing_keys) >= _MAX_FAILING_KEYS:
            self._failing_keys.clear()
        self._failing_keys.setdefault(record.key, _FailingKey()).count(why, self._tuning)

    async def _decode(self, record: Record) -> DecodedRecord[T] | None:
        try:
            return DecodedRecord(record, self._work.decode(record))
        except UndecodableError as error:
            await self._dead_letter(record, error.reason)
            return None

    async def _dead_letter(self, record: Record, reason: str) -> None:
        is_published = False
        while not is_published:
            try:
                await self._work.dead_letter(record, reason)
                is_published = True
            except Exception as error:
                if not is_retryable(error):
                    raise
                await self._wait_out(error)

    async def _wait_out(self, error: Exception) -> None:
        """Pause after a retryable error. The number of attempts is not limited."""
        tries = self.trouble.tries + 1 if self.trouble else 1
        since = self.trouble.since if self.trouble else time.time()
        self.trouble = PartitionFailure(since, tries, f"{type(error).__name__}: {error}")
        self._on_progress()
        ceiling_s = min(self._tuning.max_retry_s, self._tuning.first_retry_s * 2 ** min(tries - 1, 16))
        await asyncio.sleep(ceiling_s * random.uniform(0.5, 1))  # noqa: S311 - no secret


class OffsetCommits[T]:
    """Commit offsets of processed records, at most one commit at a time. Used by the consumer's thread."""

    def __init__(self, health: KafkaHealthTracker, every_s: float) -> None:
        self._health = health
        self._every_s = every_s
        self._next_at = 0.0
        self._is_in_flight = False
        self._sent: dict[PartitionKey, int] = {}
        self._known: dict[PartitionKey, int] = {}

    def send(
        self, consumer: Consumer, workers: Iterable[PartitionWorker[T]], *, is_urgent: bool = False
    ) -> None:
        """Commit what was processed since the last commit, if none is in flight and `every_s` has passed."""
        if self._is_in_flight or (time.monotonic() < self._next_at and not is_urgent):
            return
        offsets = _done(workers, self._sent)
        if offsets:
            self._next_at = time.monotonic() + self._every_s
            self._is_in_flight = True
            self._sent |= {(part.topic, part.partition): part.offset for part in offsets}
            consumer.commit(offsets=offsets, asynchronous=True)

    def due(self, workers: Iterable[PartitionWorker[T]]) -> list[TopicPartition]:
        """Return offsets without a confirmed commit, including those in flight."""
        return _done(workers, self._known)

    def on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Handle the result of a commit. librdkafka calls it inside `poll`."""
        self._is_in_flight = False
        for part in partitions:
            key = part.topic, part.partition
            if failure := error or part.error:
                self._sent.pop(key, None)  # Committed again, if the partition is still assigned.
                self._health.failed(f"commit: {error_text(failure)}")
            else:
                self._known[key] = part.offset
                self._health.answered()

    def drop(self, workers: Iterable[PartitionWorker[T]]) -> None:
        """Forget revoked partitions: another consumer may commit them."""
        for worker in workers:
            self._sent.pop(worker.key, None)
            self._known.pop(worker.key, None)


def _done[T](workers: Iterable[PartitionWorker[T]], but: dict[PartitionKey, int]) -> list[TopicPartition]:
    return [
        TopicPartition(*worker.key, done)
        for worker in workers
        if (done := worker.done) is not None and done != but.get(worker.key)
    ]
