"""A member of the consumer group, in place of the reader thread: passes records to partition workers, commits offsets.

The partition workers are the real ones, with their batches, retries and shutdown. This file follows the rules of the reader.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from simulation.kafka import Held, Topic
from simulation.loop import Process
from simulation.network import NoAnswerError, RefusedForNowError

from tidings.platform.kafka.consumer_thread import ReaderTuning
from tidings.platform.kafka.partition_worker import PartitionWorker, PartitionWorkerOptions, RecordHandlers
from tidings.platform.kafka.records import Batch
from tidings.schema.topics.model import MESSAGES

_BEATS_EVERY_S = 2.0
_READER = ReaderTuning(lot_records=8)
_LANE = PartitionWorkerOptions(max_batch_records=8, max_queued_records=16)


@dataclass(slots=True, eq=False)
class _Assignment[T]:
    """A partition assigned to this member. `arrives_at` is when the last fetched record arrives."""

    held: Held
    worker: PartitionWorker[T]
    committed: int
    arrives_at: float = 0.0


class GroupMember[T]:
    """A member that is created inside its process and ends with it.

    The process is killed or frozen, so the member never leaves the group explicitly.
    """

    def __init__(self, topic: Topic, process: Process, work: RecordHandlers[T]) -> None:
        self._topic, self._process = topic, process
        self._handle = work.handle
        self._work = replace(work, handle=self._handled)
        self._assignments: dict[int, _Assignment[T]] = {}
        self._ending: set[int] = set()
        self._is_commit_due = False
        self._next_append = topic.next_append()
        self._stirred: asyncio.Future[None] = process.create_future()

    async def run(self) -> None:
        while True:
            self._turn()
            self._stirred = self._process.create_future()
            if self._next_append.done():
                self._next_append = self._topic.next_append()
            self._next_append.add_done_callback(self._stir)
            await asyncio.wait([self._stirred], timeout=_BEATS_EVERY_S)

    def _stir(self, _: object = None) -> None:
        if not self._stirred.done():
            self._stirred.set_result(None)

    def _turn(self) -> None:
        holds = {held.partition.number: held for held in self._topic.beat(self._process)}
        for number, assignment in list(self._assignments.items()):
            held = holds.get(number)
            if held is None or held.term != assignment.held.term:
                self._end(number, assignment.worker.end(0))
            elif held.is_wanted_back:
                self._end(number, self._give_back(assignment))
        for number, held in holds.items():
            if number not in self._assignments and number not in self._ending and not held.is_wanted_back:
                self._assignments[number] = self._take(held)
        for assignment in self._assignments.values():
            self._fetch(assignment)

    def _end(self, number: int, ending: Awaitable[None]) -> None:
        """Release a partition. It is not consumed again before its worker has ended."""
        del self._assignments[number]
        self._ending.add(number)

        async def end() -> None:
            await ending
            self._ending.discard(number)
            self._stir()

        self._process.begin(end())

    def _take(self, held: Held) -> _Assignment[T]:
        worker = PartitionWorker((MESSAGES.name, held.partition.number), self._work, _LANE, self._stir)
        worker.start(self._ended)
        worker.position = held.partition.committed
        return _Assignment(held, worker, held.partition.committed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._process.call_exception_handler({"message": "a worker ended", "exception": error})

    def _fetch(self, assignment: _Assignment[T]) -> None:
        worker = assignment.worker
        at = worker.position or 0
        records = assignment.held.partition.records[at : at + _READER.lot_records]
        if records and not worker.is_full and worker.trouble is None:
            worker.hand(records)
            assignment.arrives_at = max(
                assignment.arrives_at, self._process.time() + self._topic.network.delay_s()
            )
            self._process.call_at(assignment.arrives_at, worker.receive, records)

    async def _handled(self, batch: Batch[T]) -> None:
        await self._handle(batch)
        self._commit_soon()

    def _commit_soon(self) -> None:
        if not self._is_commit_due:
            self._is_commit_due = True
            self._process.call_later(_READER.commit_every_s, lambda: self._process.begin(self._commit()))

    async def _commit(self) -> None:
        self._is_commit_due = False
        for assignment in list(self._assignments.values()):
            if not await self._committed(assignment):
                self._commit_soon()

    async def _committed(self, assignment: _Assignment[T]) -> bool:
        """Commit progress. Return False without an answer; it is tried again while the partition is assigned."""
        done, topic = assignment.worker.done, self._topic
        if done is None or done == assignment.committed:
            return True
        try:
            await topic.network.ask("kafka.commit", lambda: topic.commit(assignment.held, done))
        except (NoAnswerError, RefusedForNowError):
            return False
        assignment.committed = done
        return True

    async def _give_back(self, assignment: _Assignment[T]) -> None:
        await assignment.worker.end(_READER.drain_s)
        await self._committed(assignment)
        self._topic.let_go(assignment.held)
