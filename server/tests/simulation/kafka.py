"""One Kafka topic: partitions, offsets and a consumer group. Its log can be deleted and its offsets lost."""

import asyncio
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, override

from simulation.loop import Process, Scheduler
from simulation.network import Network, NoAnswerError, RefusedForNowError

from tidings.kernel.errors import UnavailableError
from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatKey
from tidings.messages import model
from tidings.platform.kafka.errors import UnknownOutcomeError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Headers, Record
from tidings.schema.topics.model import MESSAGES

PARTITIONS = 2
_SESSION_S = 5.0
_DELIVERED_WITHIN_S = 30.0


@dataclass
class Partition:
    """A partition. `term` is raised at each reassignment: a previous owner can no longer commit."""

    number: int
    records: list[Record] = field(default_factory=list)
    committed: int = 0
    holder: Process | None = None
    term: int = 0

    @property
    def end(self) -> int:
        return len(self.records)

    def pass_to(self, holder: Process | None) -> None:
        self.holder = holder
        self.term += 1


class Held(NamedTuple):
    """An assigned partition.

    `is_wanted_back`: another member has less than its share, so this one must commit its progress and release it.
    """

    partition: Partition
    term: int
    is_wanted_back: bool


class Topic:
    def __init__(self, scheduler: Scheduler, network: Network) -> None:
        self.scheduler, self.network = scheduler, network
        self.partitions = [Partition(number) for number in range(PARTITIONS)]
        self._heard_at: dict[Process, float] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def of(self, key: bytes) -> Partition:
        return self.partitions[zlib.crc32(key) % PARTITIONS]

    def append(self, key: bytes, value: bytes) -> RecordMetadata:
        partition = self.of(key)
        at = partition.end
        partition.records.append(Record(MESSAGES.name, partition.number, at, 0, key, value, ()))
        self._wake()
        return RecordMetadata(partition.number, at)

    def reached(self, key: bytes) -> PartitionProgress:
        partition = self.of(key)
        return PartitionProgress(partition.number, partition.end, partition.committed)

    def wipe(self) -> None:
        """Delete the log and create it again. The group and its committed offsets are deleted with it."""
        for partition in self.partitions:
            partition.records.clear()
            partition.committed = 0
        self._disband()

    def rewind(self, back: int) -> None:
        """Reset the group to an earlier offset, so that all later records are delivered again."""
        for partition in self.partitions:
            partition.committed = max(0, partition.committed - back)
        self._disband()

    def _disband(self) -> None:
        self._heard_at.clear()
        for partition in self.partitions:
            partition.pass_to(None)
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    def next_append(self) -> "asyncio.Future[None]":
        """Return a future that completes with the next record or the next reassignment."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return waiter

    def beat(self, process: Process) -> list[Held]:
        """Process a heartbeat and return the member's partitions.

        Members without a heartbeat for a session are removed.
        """
        now = self._heard_at[process] = self.scheduler.now
        for member in [each for each, at in self._heard_at.items() if now - at > _SESSION_S]:
            del self._heard_at[member]
            self._pass_on(member)
        share = -(-PARTITIONS // len(self._heard_at))
        mine = [p for p in self.partitions if p.holder is process]
        for partition in self.partitions:
            if partition.holder is None and len(mine) < share:
                partition.pass_to(process)
                mine.append(partition)
        return [Held(p, p.term, at >= share) for at, p in enumerate(mine)]

    def _pass_on(self, member: Process) -> None:
        for partition in self.partitions:
            if partition.holder is member:
                partition.pass_to(None)

    def let_go(self, held: Held) -> None:
        if held.partition.term == held.term:
            held.partition.pass_to(None)
            self._wake()

    def commit(self, held: Held, offset: int) -> bool:
        """Commit an offset. Return False if another member owns the partition."""
        if held.partition.term != held.term:
            return False
        held.partition.committed = max(held.partition.committed, offset)
        return True


class SimPublisher(KafkaPublisher):
    """The publisher of one process: in order, with an answer for each record.

    A kill loses the records that still wait.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._last_at = 0.0

    @override
    def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> "asyncio.Future[RecordMetadata]":
        del headers
        loop, network = asyncio.get_running_loop(), self._topic.network
        answer: asyncio.Future[RecordMetadata] = loop.create_future()
        is_sent, is_answered = not network.is_lost(), not network.is_lost()
        self._last_at = max(self._last_at, loop.time() + network.delay_s())
        if topic == MESSAGES.name and is_sent and key is not None and value is not None:
            loop.call_at(self._last_at, self._arrive, key, value, answer if is_answered else None)
        if not (is_sent and is_answered):
            loop.call_later(_DELIVERED_WITHIN_S, _unknown, answer)
        return answer

    def _arrive(self, key: bytes, value: bytes, answer: "asyncio.Future[RecordMetadata] | None") -> None:
        placed = self._topic.append(key, value)
        if answer is not None and not answer.done():
            asyncio.get_running_loop().call_later(self._topic.network.delay_s(), _placed, answer, placed)


def _placed(answer: "asyncio.Future[RecordMetadata]", placed: RecordMetadata) -> None:
    if not answer.done():
        answer.set_result(placed)


def _unknown(answer: "asyncio.Future[RecordMetadata]") -> None:
    if not answer.done():
        answer.set_exception(UnknownOutcomeError("no answer"))


class SimConsumers:
    """The offsets of the group, as the relay reads them."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        def read() -> Mapping[ChatKey, PartitionProgress]:
            return {chat: self._topic.reached(model.partition_key(chat)) for chat in sorted(chats)}

        try:
            return await self._topic.network.ask("kafka.reached", read)
        except (NoAnswerError, RefusedForNowError) as error:
            raise UnavailableError(str(error)) from error
