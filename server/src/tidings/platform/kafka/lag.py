"""How far a group is behind, asked of the brokers.

A client's own idea of the end of a log comes with what it fetches, so it stands still for a partition
that is paused: just when somebody wants to know.
"""

import asyncio
from collections.abc import Iterable

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # public all the same
from msgspec import Struct

from tidings.platform.kafka.connection import Connection
from tidings.platform.kafka.records import PartitionKey

_ANSWER_S = 3.0
_LATEST, _EARLIEST = OffsetSpec.latest(), OffsetSpec.earliest()  # type: ignore[no-untyped-call]


class Lag(Struct, frozen=True):
    """`committed` is where the group would go on; the start of the log if it never committed."""

    topic: str
    partition: int
    high: int
    committed: int

    @property
    def behind(self) -> int:
        return max(0, self.high - self.committed)


class Survey:
    def __init__(self, connection: Connection, group: str) -> None:
        self._admin = AdminClient(connection.admin_config())
        self._group = group

    async def ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        """Partitions that the brokers don't know are left out. Raises KafkaException if no broker answers."""
        if not keys:
            await asyncio.wrap_future(self._admin.describe_cluster(request_timeout=_ANSWER_S))
            return {}
        high, committed = await asyncio.gather(self._ends(keys, _LATEST), self._committed(keys))
        fresh = [key for key in high if key not in committed]
        committed |= await self._ends(fresh, _EARLIEST)
        return {key: Lag(*key, high[key], committed[key]) for key in high if key in committed}

    async def _ends(self, keys: Iterable[PartitionKey], which: OffsetSpec) -> dict[PartitionKey, int]:
        asked = {TopicPartition(*key): which for key in keys}
        if not asked:
            return {}
        futures = self._admin.list_offsets(asked, request_timeout=_ANSWER_S)
        answers = await asyncio.gather(
            *(asyncio.wrap_future(future) for future in futures.values()), return_exceptions=True
        )
        found = dict(zip(futures, answers, strict=True))
        if all(isinstance(answer, BaseException) for answer in answers):
            raise next(answer for answer in answers if isinstance(answer, BaseException))
        return {
            (part.topic, part.partition): answer.offset
            for part, answer in found.items()
            if not isinstance(answer, BaseException)
        }

    async def _committed(self, keys: Iterable[PartitionKey]) -> dict[PartitionKey, int]:
        parts = [TopicPartition(*key) for key in keys]
        asked = ConsumerGroupTopicPartitions(self._group, parts)
        future = self._admin.list_consumer_group_offsets([asked], request_timeout=_ANSWER_S)[self._group]
        answer = await asyncio.wrap_future(future)
        return {
            (part.topic, part.partition): part.offset
            for part in answer.topic_partitions
            if part.error is None and part.offset >= 0
        }
