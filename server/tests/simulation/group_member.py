"""A member of the group, in the place of the reader's thread: hands records to lanes, commits what they have done.

The lanes are the real ones, with their batches, repeats and ends; the reader's rules are kept here.
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
    """A partition that is this member's. `arrives_at`: when the last of what was fetched is here."""

    held: Held
    lane: PartitionWorker[T]
    committed: int
    arrives_at: float = 0.0


class GroupMember[T]:
    """Made inside its process, which it ends with: it is killed, or stands still, and never leaves with a word."""

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
                self._end(number, line.lane.end(0))
            elif held.is_wanted_back:
                self._end(number, self._give_back(line))
        for number, held in holds.items():
            if number not in self._lines and number not in self._ending and not held.is_wanted_back:
                self._lines[number] = self._take(held)
        for line in self._lines.values():
            self._fetch(line)

    def _end(self, number: int, ending: Awaitable[None]) -> None:
        """What is given back is not taken again before its lane has ended."""
        del self._lines[number]
        self._ending.add(number)

        async def end() -> None:
            await ending
            self._ending.discard(number)
            self._stir()

        self._process.begin(end())

    def _take(self, held: Held) -> _Line[T]:
        lane = PartitionWorker((MESSAGES.name, held.partition.number), self._work, _LANE, self._stir)
        lane.start(self._ended)
        lane.position = held.partition.committed
        return _Line(held, lane, held.partition.committed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._process.call_exception_handler({"message": "a lane ended", "exception": error})

    def _fetch(self, line: _Line[T]) -> None:
        lane = line.lane
        at = lane.position or 0
        records = line.held.partition.records[at : at + _READER.lot_records]
        if records and not lane.is_full and lane.trouble is None:
            lane.hand(records)
            line.arrives_at = max(line.arrives_at, self._process.time() + self._topic.network.delay_s())
            self._process.call_at(line.arrives_at, lane.receive, records)

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
        """False: nobody answered, and it is tried again if it is still ours."""
        done, topic = line.lane.done, self._topic
        if done is None or done == line.committed:
            return True
        try:
            await topic.network.ask("kafka.commit", lambda: topic.commit(line.held, done))
        except (NoAnswerError, RefusedForNowError):
            return False
        line.committed = done
        return True

    async def _give_back(self, line: _Line[T]) -> None:
        await line.lane.end(_READER.drain_s)
        await self._committed(line)
        self._topic.let_go(line.held)
