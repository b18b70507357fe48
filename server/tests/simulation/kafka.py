"""One topic as Kafka has it: partitions, offsets, a group of consumers. Its log can be wiped and its offsets lost."""

import asyncio
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import override

from simulation.loop import Process, Scheduler
from simulation.network import Network, NoAnswerError, RefusedForNowError

from tidings.delivery.worker import Worker
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey
from tidings.messages import events
from tidings.platform.kafka.errors import UnknownOutcomeError
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.kafka.pump import Placed
from tidings.platform.kafka.records import Headers
from tidings.relay.model import Reached
from tidings.relay.ports import AwayError
from tidings.topics.declaration import MESSAGES

PARTITIONS = 2
_SESSION_S = 5.0
_AT_ONCE = 8
_DELIVERED_WITHIN_S = 30.0


@dataclass
class Partition:
    """`holder` gets its records; a holder that is not heard of loses it to the next who asks."""

    first: int = 0
    records: list[bytes] = field(default_factory=list)
    committed: int = 0
    holder: Process | None = None
    heard_at: float = 0.0

    @property
    def end(self) -> int:
        return self.first + len(self.records)


class Topic:
    def __init__(self, scheduler: Scheduler, network: Network) -> None:
        self.scheduler, self.network = scheduler, network
        self.partitions = [Partition() for _ in range(PARTITIONS)]
        self._waiting: list[asyncio.Future[None]] = []

    def append(self, key: bytes, value: bytes) -> Placed:
        number = zlib.crc32(key) % PARTITIONS
        partition = self.partitions[number]
        partition.records.append(value)
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)
        return Placed(number, partition.end - 1)

    def reached(self, key: bytes) -> Reached:
        number = zlib.crc32(key) % PARTITIONS
        partition = self.partitions[number]
        return Reached(number, partition.end, partition.committed)

    def wipe(self) -> None:
        """The log is lost and made anew; what the group had committed goes with it."""
        for partition in self.partitions:
            partition.records.clear()
            partition.first = partition.committed = 0

    async def news(self) -> None:
        """Waits for the next record, or a while."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await asyncio.wait([waiter], timeout=2.0)

    def claim(self, process: Process) -> list[Partition]:
        """Those that are this process's now: its own, and what nobody has been heard of at."""
        now = self.scheduler.now
        held = sum(p.holder is process for p in self.partitions)
        for partition in self.partitions:
            is_free = partition.holder is None or now - partition.heard_at > _SESSION_S
            if (
                partition.holder is not process
                and is_free
                and (held == 0 or now - partition.heard_at > 2 * _SESSION_S)
            ):
                partition.holder = process
                held += 1
            if partition.holder is process:
                partition.heard_at = now
                if partition.committed > partition.end:
                    partition.committed = partition.first
        return [p for p in self.partitions if p.holder is process]


class SimPublisher(Publisher):
    """A process's own: in order, and with an answer for each. What waits in a process that is killed is not sent."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._last_at = 0.0

    @override
    def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> "asyncio.Future[Placed]":
        del headers
        loop, network = asyncio.get_running_loop(), self._topic.network
        answer: asyncio.Future[Placed] = loop.create_future()
        is_sent, is_answered = not network.is_lost(), not network.is_lost()
        self._last_at = max(self._last_at, loop.time() + network.delay_s())
        if topic == MESSAGES.name and is_sent and key is not None and value is not None:
            loop.call_at(self._last_at, self._arrive, key, value, answer if is_answered else None)
        if not (is_sent and is_answered):
            loop.call_later(_DELIVERED_WITHIN_S, _unknown, answer)
        return answer

    def _arrive(self, key: bytes, value: bytes, answer: "asyncio.Future[Placed] | None") -> None:
        placed = self._topic.append(key, value)
        if answer is not None and not answer.done():
            asyncio.get_running_loop().call_later(self._topic.network.delay_s(), _placed, answer, placed)


def _placed(answer: "asyncio.Future[Placed]", placed: Placed) -> None:
    if not answer.done():
        answer.set_result(placed)


def _unknown(answer: "asyncio.Future[Placed]") -> None:
    if not answer.done():
        answer.set_exception(UnknownOutcomeError("nobody answered"))


class SimConsumers:
    """What the relay asks of the group."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    async def reached(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, Reached]:
        def read() -> Mapping[ChatKey, Reached]:
            return {chat: self._topic.reached(events.kafka_key(chat)) for chat in sorted(chats)}

        try:
            return await self._topic.network.ask("kafka.reached", read)
        except (NoAnswerError, RefusedForNowError) as error:
            raise AwayError(str(error)) from error


async def consume(topic: Topic, process: Process, worker: Worker) -> None:
    """What the consumer's lanes do: a partition's records in order, again until it is done, then the offset."""
    busy: dict[int, asyncio.Task[None]] = {}
    while True:
        for partition in topic.claim(process):
            task = busy.get(id(partition))
            if (task is None or task.done()) and partition.committed < partition.end:
                busy[id(partition)] = asyncio.get_running_loop().create_task(
                    _batch(topic, process, partition, worker)
                )
        await topic.news()


async def _batch(topic: Topic, process: Process, partition: Partition, worker: Worker) -> None:
    at = max(partition.committed, partition.first) - partition.first
    batch = [events.decode(value) for value in partition.records[at : at + _AT_ONCE]]
    last = partition.first + at + len(batch)
    await asyncio.sleep(topic.network.delay_s())
    while partition.holder is process:
        try:
            await worker.handle((event.key, event.entries) for event in batch)
        except TidingsError as error:
            if not error.retryable:
                raise
            await asyncio.sleep(0.2)
        else:
            break
    if partition.holder is process:
        # also after a wipe: what a consumer commits then is an offset of the log that was
        partition.committed = max(partition.committed, last)
