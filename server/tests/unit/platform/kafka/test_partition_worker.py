"""The worker of one partition, without a broker."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.partition_worker import PartitionWorker, PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.records import Batch, Record

TUNING = PartitionWorkerOptions(
    max_batch_records=3, max_queued_records=4, first_retry_s=0.001, max_retry_s=0.002
)


class UnavailableEngineError(Exception):
    retryable = True


def record(offset: int, value: bytes = b"x", key: bytes | None = None) -> Record:
    return Record("t", 0, offset, 0, key, value, ())


def records(count: int) -> list[Record]:
    return [record(offset) for offset in range(count)]


def text(one: Record) -> str:
    if one.value == b"poison":
        raise UndecodableError("no text")
    return (one.value or b"").decode()


@dataclass
class Handler:
    """Record the offsets of each try. `fails` has the errors of the next tries."""

    fails: list[BaseException] = field(default_factory=list)
    tries: list[list[int]] = field(default_factory=list)
    buried: list[tuple[int, str]] = field(default_factory=list)
    hold: asyncio.Event | None = None
    breaks: frozenset[int] = frozenset()
    """Offsets whose processing raises an unexpected error."""

    async def handle(self, batch: Batch[str]) -> None:
        self.tries.append([event.record.offset for event in batch.events])
        if self.hold is not None:
            await self.hold.wait()
        if self.fails:
            raise self.fails.pop(0)
        if self.breaks & {event.record.offset for event in batch.events}:
            raise ValueError("a value that it cannot process")

    async def bury(self, one: Record, reason: str) -> None:
        self.buried.append((one.offset, reason))
        if self.fails:
            raise self.fails.pop(0)

    def worker(
        self, on_progress: Callable[[], None] = lambda: None, *, is_ordered: bool = False
    ) -> PartitionWorker[str]:
        work = RecordHandlers(text, self.handle, self.bury, is_ordered=is_ordered)
        return PartitionWorker(("t", 0), work, TUNING, on_progress)


def give(worker: PartitionWorker[str], given: list[Record]) -> None:
    worker.hand(given)
    worker.receive(given)


async def reaches(worker: PartitionWorker[str], offset: int) -> None:
    async with asyncio.timeout(5):
        while worker.done != offset:  # noqa: ASYNC110 - the reader's thread looks at it in the same way
            await asyncio.sleep(0.001)


class Started:
    """A running worker. `ended` returns the error that ended it."""

    def __init__(self, worker: PartitionWorker[str]) -> None:
        self.ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        worker.start(self._on_end)

    def _on_end(self, task: "asyncio.Task[None]") -> None:
        self.ended.set_result(None if task.cancelled() else task.exception())


async def test_batches_are_handled_in_order_and_done_advances_after_the_effect() -> None:
    handler = Handler(hold=asyncio.Event())
    worker = handler.worker()
    Started(worker)
    give(worker, records(7))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert handler.tries == [[0, 1, 2]]
    assert worker.done is None
    handler.hold.set()  # type: ignore[union-attr]
    await reaches(worker, 7)
    assert handler.tries == [[0, 1, 2], [3, 4, 5], [6]]
    await worker.end(1)


async def test_the_same_batch_is_tried_again_while_a_dependency_fails() -> None:
    handler = Handler(
        fails=[
            UnavailableEngineError("redis"),
            UnavailableEngineError("redis"),
            UnavailableEngineError("dynamo"),
        ]
    )
    troubles: list[tuple[int, str]] = []

    def note_trouble() -> None:
        if trouble := worker.trouble:
            troubles.append((trouble.tries, trouble.why))

    worker = handler.worker(note_trouble)
    worker.start(lambda _: None)
    give(worker, records(5))
    await reaches(worker, 5)
    assert handler.tries == [[0, 1, 2]] * 4 + [[3, 4]]
    assert troubles == [
        (1, "UnavailableEngineError: redis"),
        (2, "UnavailableEngineError: redis"),
        (3, "UnavailableEngineError: dynamo"),
    ]
    assert worker.trouble is None
    await worker.end(1)


async def test_a_dead_letter_that_fails_is_tried_again_and_the_batch_waits_for_it() -> None:
    handler = Handler(fails=[UnavailableEngineError("kafka")])
    worker = handler.worker()
    Started(worker)
    give(worker, [record(0), record(1, b"poison"), record(2)])
    await reaches(worker, 3)
    assert handler.buried == [(1, "no text"), (1, "no text")]
    assert handler.tries == [[0, 2]]
    await worker.end(1)


async def test_a_batch_of_only_undecodable_records_is_done_too() -> None:
    handler = Handler()
    worker = handler.worker()
    Started(worker)
    give(worker, [record(0, b"poison")])
    await reaches(worker, 1)
    assert handler.tries == []
    await worker.end(1)


async def test_a_record_that_always_fails_becomes_a_dead_letter_and_the_others_are_processed() -> None:
    handler = Handler(breaks=frozenset({1}))
    worker = handler.worker()
    Started(worker)
    give(worker, records(4))
    await reaches(worker, 4)
    assert handler.buried == [(1, "It failed 3 times: ValueError: a value that it cannot process")]
    assert handler.tries == [[0, 1, 2], [0], [1, 2], [1], [1], [1], [2], [3]]
    await worker.end(1)


async def test_a_record_that_fails_once_is_processed() -> None:
    handler = Handler(fails=[ValueError("once")])
    worker = handler.worker()
    Started(worker)
    give(worker, records(1))
    await reaches(worker, 1)
    assert (handler.tries, handler.buried) == ([[0], [0]], [])
    await worker.end(1)


async def test_many_records_of_one_key_do_not_delay_those_of_another() -> None:
    handler = Handler(breaks=frozenset(range(4)))
    worker = handler.worker()
    Started(worker)
    for batch in ([record(n, key=b"bad") for n in range(3)], [record(3, key=b"bad"), record(4, key=b"good")]):
        give(worker, batch)
        await reaches(worker, batch[-1].offset + 1)
    assert [offset for offset, _ in handler.buried] == [0, 1, 2, 3]
    assert handler.buried[-1][1].startswith("Records of its key failed before: ValueError")
    assert handler.tries[-1] == [4]
    assert not any(3 in tried for tried in handler.tries)
    await worker.end(1)


@pytest.mark.parametrize(
    ("error", "is_ordered"),
    [(ValueError("a defect"), True), (UndecodableError("which one?"), False)],
)
async def test_an_error_that_names_no_record_ends_the_worker_and_nothing_of_the_batch_is_done(
    error: Exception, *, is_ordered: bool
) -> None:
    handler = Handler(fails=[error])
    worker = handler.worker(is_ordered=is_ordered)
    ended = Started(worker).ended
    give(worker, records(3))
    assert await ended is error
    assert worker.done is None


async def test_a_named_record_that_is_not_in_the_batch_is_a_defect_not_an_endless_loop() -> None:
    handler = Handler(fails=[UndecodableError("stranger", record(99))])
    worker = handler.worker()
    ended = Started(worker).ended
    give(worker, records(3))
    assert isinstance(await ended, UndecodableError)
    assert handler.buried == []


async def test_an_ending_worker_finishes_the_current_batch_and_starts_no_other() -> None:
    handler = Handler(hold=asyncio.Event())
    worker = handler.worker()
    Started(worker)
    give(worker, records(6))
    await asyncio.sleep(0)
    ending = asyncio.create_task(worker.end(5))
    await asyncio.sleep(0)
    handler.hold.set()  # type: ignore[union-attr]
    await ending
    assert (worker.done, handler.tries) == (3, [[0, 1, 2]])


async def test_a_batch_that_takes_too_long_is_abandoned() -> None:
    handler = Handler(hold=asyncio.Event())
    worker = handler.worker()
    ended = Started(worker).ended
    give(worker, records(3))
    await worker.end(0.01)
    assert await ended is None
    assert worker.done is None


def test_a_worker_is_full_at_its_bound_and_accepts_more_below() -> None:
    worker = Handler().worker()

    def state() -> tuple[bool, bool]:
        return worker.is_full, worker.wants_more

    assert state() == (False, True)
    worker.hand(records(3))
    assert state() == (False, False)
    worker.hand(records(1))
    assert state() == (True, False)
    worker.taken_records = 2
    assert state() == (False, True)


def test_bytes_count_towards_the_bound_as_well_as_records() -> None:
    worker = Handler().worker()
    worker.hand([record(0, b"x" * TUNING.max_queued_bytes)])
    assert worker.is_full
