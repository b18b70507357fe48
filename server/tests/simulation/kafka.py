"""One topic as Kafka has it: partitions, offsets, a group of consumers. Its log can be wiped and its offsets lost."""

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
    """`term` goes up whenever it changes hands: who held it before commits nothing any more."""

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
    """`is_wanted_back`: another has less than its share, so it is to be let go, with what is done committed."""

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
        """The log is lost and made anew; the group and what it had committed go with it."""
        for partition in self.partitions:
            partition.records.clear()
            partition.committed = 0
        self._disband()

    def rewind(self, back: int) -> None:
        """The group begins again at an earlier offset: everything since comes a second time."""
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

    def news(self) -> "asyncio.Future[None]":
        """Done with the next record, or the next change of hands."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return waiter

    def beat(self, process: Process) -> list[Held]:
        """A member is heard of: those that are its own now. Whoever was not heard of for a session is a member no more."""
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
        """False: it is another's by now."""
        if held.partition.term != held.term:
            return False
        held.partition.committed = max(held.partition.committed, offset)
        return True


class SimPublisher(KafkaPublisher):
    """A process's own: in order, and with an answer for each. What waits in a process that is killed is not sent."""

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
        answer.set_exception(UnknownOutcomeError("nobody answered"))


class SimConsumers:
    """What the relay asks of the group."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        def read() -> Mapping[ChatKey, PartitionProgress]:
            return {chat: self._topic.reached(model.partition_key(chat)) for chat in sorted(chats)}

        try:
            return await self._topic.network.ask("kafka.reached", read)
        except (NoAnswerError, RefusedForNowError) as error:
            raise UnavailableError(str(error)) from error
