"""The contract suite of a topic and its consumer group on the simulated Kafka: the same tests as on a broker."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import pytest
from contract.kafka import test_group
from contract.kafka.consumer_env import PARTITIONS, STALLS_NEVER, ConsumerEnv, Effect
from contract.kafka.harness import as_number, never_bury
from simulation.group_member import GroupMember
from simulation.kafka import SimConsumers, SimPublisher, Topic
from simulation.loop import Process, Scheduler
from simulation.network import Network

from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatKey
from tidings.platform.kafka.partition_worker import RecordHandlers
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Batch

SUITE = [test for name, test in vars(test_group).items() if name.startswith("test_")]
type Contract = Callable[[ConsumerEnv], Coroutine[None, None, None]]

_ENDS_S = 600.0
_LONG_S = 60.0


@dataclass
class SimMember:
    process: Process
    stalls_from: int
    noted: list[Effect] = field(default_factory=list)

    def effects(self) -> list[Effect]:
        return self.noted

    def die(self) -> None:
        self.process.kill()

    def freeze(self) -> None:
        self.process.stop_for(_LONG_S)

    def thaw(self) -> None:
        self.process.go_on()

    async def handle(self, batch: Batch[int]) -> None:
        first, last = batch.events[0].record.offset, batch.events[-1].record.offset
        self.noted.append(Effect(batch.partition, first, last, tuple(event.body for event in batch.events)))
        if last >= self.stalls_from:
            await asyncio.Event().wait()


class SimConsumerEnv:
    def __init__(self, seed: int) -> None:
        self.scheduler = Scheduler(seed)
        self.topic = Topic(self.scheduler, Network(self.scheduler, seed))
        self._number = count()

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[KafkaPublisher]:
        yield SimPublisher(self.topic)

    def keys(self) -> Mapping[int, bytes]:
        found: dict[int, bytes] = {}
        for number in range(100):
            key = f"key-{number}".encode()
            found.setdefault(self.topic.of(key).number, key)
        return dict(sorted(found.items()))

    def join(self, stalls_from: int = STALLS_NEVER) -> SimMember:
        process = self.scheduler.process(f"member-{next(self._number)}")
        member = SimMember(process, stalls_from)
        work = RecordHandlers(as_number, member.handle, never_bury)
        process.call_soon(lambda: process.begin(GroupMember(self.topic, process, work).run()))
        return member

    def committed(self, partition: int) -> int:
        return self.topic.partitions[partition].committed

    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]:
        return await SimConsumers(self.topic).progress(chats)

    async def wipe(self) -> None:
        self.topic.wipe()

    async def set_back(self, offset: int) -> None:
        self.topic.rewind(self.topic.partitions[0].committed - offset)


def run_contract(contract: Contract, seed: int) -> None:
    """Run a contract in virtual time, and raise its error."""
    env = SimConsumerEnv(seed)
    process = env.scheduler.process("test")
    ended: list[BaseException | None] = []

    async def act() -> None:
        try:
            await contract(env)
        except BaseException as error:  # noqa: BLE001 - raised again below, where pytest sees it
            ended.append(error)
        else:
            ended.append(None)

    process.spawn(act())
    env.scheduler.run_until(lambda: bool(ended), _ENDS_S)
    env.scheduler.end()
    assert ended, "the contract did not end"
    assert env.scheduler.faults == []
    if ended[0] is not None:
        raise ended[0]


def test_all_tests_of_the_suite_run() -> None:
    assert len(SUITE) >= 8
    assert {tuple(inspect.signature(test).parameters) for test in SUITE} == {("consumer_env",)}
    assert len(SimConsumerEnv(0).keys()) == PARTITIONS


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("contract", SUITE, ids=lambda test: test.__name__)
def test_the_simulated_kafka_keeps_the_contract(contract: Contract, seed: int) -> None:
    run_contract(contract, seed)
