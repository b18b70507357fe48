"""How far a group is behind, asked of the brokers in a thread of its own.

A client's own idea of the end of a log comes with what it fetches, so it stands still for a partition
that is paused: just when somebody wants to know. The admin client would be the obvious one to ask, but its
`list_consumer_group_offsets` aborts the whole process when the coordinator dies (an assertion in librdkafka
2.16); a consumer that never joins gives the same answers and lives.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, KafkaException, TopicPartition
from msgspec import Struct

from tidings.platform.kafka.connection import KafkaConfig
from tidings.platform.kafka.records import PartitionKey

_ANSWER_S = 3.0


class Lag(Struct, frozen=True):
    """`committed` is where the group would go on; the start of the log if it never got that far."""

    topic: str
    partition: int
    high: int
    committed: int

    @property
    def behind(self) -> int:
        return max(0, self.high - self.committed)


class LagProbe:
    def __init__(self, connection: KafkaConfig, group: str, topics: list[str]) -> None:
        self._looker = Consumer({**connection.admin_config(), "group.id": group})
        self._topics = topics
        self._thread = ThreadPoolExecutor(1, "kafka-survey")

    async def ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        """Raises KafkaException at the first question that nobody answers."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, keys)

    async def partitions(self, topic: str) -> int:
        """Count the partitions of a topic. Raises KafkaException."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._partitions, topic)

    def close(self) -> None:
        """Not waited for: a question under way ends first."""
        self._thread.submit(self._looker.close)
        self._thread.shutdown(wait=False)

    def _ask(self, keys: list[PartitionKey]) -> dict[PartitionKey, Lag]:
        if not keys:
            self._looker.list_topics(self._topics[0], timeout=_ANSWER_S)
            return {}
        parts = self._looker.committed([TopicPartition(*key) for key in keys], timeout=_ANSWER_S)
        return {(part.topic, part.partition): self._lag(part) for part in parts if part.error is None}

    def _partitions(self, name: str) -> int:
        topic = self._looker.list_topics(name, timeout=_ANSWER_S).topics[name]
        if topic.error is not None:
            raise KafkaException(topic.error)
        return len(topic.partitions)

    def _lag(self, committed: TopicPartition) -> Lag:
        place = TopicPartition(committed.topic, committed.partition)
        low, high = self._looker.get_watermark_offsets(place, timeout=_ANSWER_S)
        return Lag(place.topic, place.partition, high, max(committed.offset, low))
