"""A member of the consumer group, in place of the reader thread: passes records to partition workers, commits offsets.

The partition workers are the real ones, with their batches, retries and shutdown. This file follows the rules of the reader.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

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
class _Line[T]:
    """A partition assigned to this member. `arrives_at` is when the last fetched record arrives."""

    held: Held
    worker: PartitionWorker[T]
    committed: int
    arrives_at: float = 0.0


class GroupMember[T]:
    """A member that runs in its process.

    It ends only with the process, by a kill or a freeze, without leaving the group.
    """

    def __init__(self, topic: Topic, process: Process, work: RecordHandlers[T]) -> None:
        self._topic, self._process = topic, process
        self._handle = work.handle
        self._work = RecordHandlers(work.decode, self._handled, work.dead_letter)
        self._lines: dict[int, _Line[T]] = {}
        self._ending: set[int] = set()
        self._is_commit_due = False
        self._news = topic.news()
        self._stirred: asyncio.Future[None] = process.create_future()

    async def run(self) -> None:
        while True:
            self._turn()
            self._stirred = self._process.create_future()
            if self._news.done():
                self._news = self._topic.news()
            self._news.add_done_callback(self._stir)
            await asyncio.wait([self._stirred], timeout=_BEATS_EVERY_S)

    def _stir(self, _: object = None) -> None:
        if not self._stirred.done():
            self._stirred.set_result(None)

    def _turn(self) -> None:
        holds = {held.partition.number: held for held in self._topic.beat(self._process)}
        for number, line in list(self._lines.items()):
            held = holds.get(number)
            if held is None or held.term != line.held.term:
                self._end(number, line.worker.end(0))
            elif held.is_wanted_back:
                self._end(number, self._give_back(line))
        for number, held in holds.items():
            if number not in self._lines and number not in self._ending and not held.is_wanted_back:
                self._lines[number] = self._take(held)
        for line in self._lines.values():
            self._fetch(line)

    def _end(self, number: int, ending: Awaitable[None]) -> None:
        """Release a partition. It is not consumed again before its worker has ended."""
        del self._lines[number]
        self._ending.add(number)

        async def end() -> None:
            await ending
            self._ending.discard(number)
            self._stir()

        self._process.begin(end())

    def _take(self, held: Held) -> _Line[T]:
        worker = PartitionWorker((MESSAGES.name, held.partition.number), self._work, _LANE, self._stir)
        worker.start(self._ended)
        worker.position = held.partition.committed
        return _Line(held, worker, held.partition.committed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._process.call_exception_handler({"message": "a worker ended", "exception": error})

    def _fetch(self, line: _Line[T]) -> None:
        worker = line.worker
        at = worker.position or 0
        records = line.held.partition.records[at : at + _READER.lot_records]
        if records and not worker.is_full and worker.trouble is None:
            worker.hand(records)
            line.arrives_at = max(line.arrives_at, self._process.time() + self._topic.network.delay_s())
            self._process.call_at(line.arrives_at, worker.receive, records)

    async def _handled(self, batch: Batch[T]) -> None:
        await self._handle(batch)
        self._commit_soon()

    def _commit_soon(self) -> None:
        if not self._is_commit_due:
            self._is_commit_due = True
            self._process.call_later(_READER.commit_every_s, lambda: self._process.begin(self._commit()))

    async def _commit(self) -> None:
        self._is_commit_due = False
        for line in list(self._lines.values()):
            if not await self._committed(line):
                self._commit_soon()

    async def _committed(self, line: _Line[T]) -> bool:
        """Commit progress. Return False without an answer; it is tried again while the partition is assigned."""
        done, topic = line.worker.done, self._topic
        if done is None or done == line.committed:
            return True
        try:
            await topic.network.ask("kafka.commit", lambda: topic.commit(line.held, done))
        except (NoAnswerError, RefusedForNowError):
            return False
        line.committed = done
        return True

    async def _give_back(self, line: _Line[T]) -> None:
        await line.worker.end(_READER.drain_s)
        await self._committed(line)
        self._topic.let_go(line.held)
