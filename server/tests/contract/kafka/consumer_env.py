"""A consumer group as a test sees it, on a broker or in the simulation."""

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatKey
from tidings.platform.kafka.publisher import KafkaPublisher

PARTITIONS = 2
STALLS_NEVER = 1_000_000


class Effect(NamedTuple):
    """A batch that a member received: its partition, first and last offset, and values."""

    partition: int
    first: int
    last: int
    values: tuple[int, ...]


class GroupConsumer(Protocol):
    """A consumer in a process of its own."""

    def effects(self) -> list[Effect]:
        """Return the processed values. Each was processed before its offset was committed."""
        ...

    def die(self) -> None:
        """Die as after SIGKILL."""
        ...

    def freeze(self) -> None:
        """Stop as after SIGSTOP."""
        ...

    def thaw(self) -> None: ...


class ConsumerEnv(Protocol):
    """A topic with two partitions and its consumer group."""

    def publishing(self) -> AbstractAsyncContextManager[KafkaPublisher]: ...

    def keys(self) -> Mapping[int, bytes]:
        """Return a key for each partition."""
        ...

    def join(self, stalls_from: int = STALLS_NEVER) -> GroupConsumer:
        """Another member. One that stalls has the effect of the batch with that offset, and never ends it."""
        ...

    def committed(self, partition: int) -> int:
        """Return the committed offset of the group."""
        ...

    async def progress(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, PartitionProgress]: ...

    async def wipe(self) -> None:
        """Delete and recreate the log. The group is deleted with it."""
        ...

    async def set_back(self, offset: int) -> None:
        """Set the offset of both partitions, once the group has no members."""
        ...


def offsets(member: GroupConsumer, partition: int) -> list[int]:
    """In the order of their effects."""
    return [
        n
        for each in member.effects()
        if each.partition == partition
        for n in range(each.first, each.last + 1)
    ]


def values(*members: GroupConsumer) -> set[int]:
    return {value for member in members for each in member.effects() for value in each.values}
