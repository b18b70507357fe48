"""Find the event of a message in its partition: a bounded number of records since its commit. Joins no group."""

import asyncio
from collections.abc import Callable
from contextlib import closing

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.errors import error_text
from tidings.trace.model import FoundEvent

_TIMEOUT_S = 5.0
MAX_RECORDS = 2_000
_RECORDS_PER_READ = 200

type EventMatcher = Callable[[ChatKey, int, bytes], bool]
"""Reports whether a record has this entry."""


class KafkaEventFinder:
    def __init__(self, connection: KafkaConfig, *, topic: str, carries: EventMatcher) -> None:
        self._connection = connection
        self._topic = connection.topic(topic)
        self._carries = carries

    async def find(
        self, chat: ChatKey, sequence: int, partition: int, since_ms: int
    ) -> tuple[FoundEvent | None, int]:
        since = TopicPartition(self._topic, partition, since_ms)
        try:
            return await asyncio.to_thread(self._find, chat, sequence, since)
        except KafkaException as error:
            raise UnavailableError(f"Kafka: {error_text(error.args[0])}") from error

    def _find(self, chat: ChatKey, sequence: int, since: TopicPartition) -> tuple[FoundEvent | None, int]:
        config = {
            **self._connection.admin_config(),
            "group.id": self._connection.group("trace"),
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
        with closing(Consumer(config)) as reader:
            [start] = reader.offsets_for_times([since], timeout=_TIMEOUT_S)
            if start.error is not None:
                raise KafkaException(start.error)
            _, end = reader.get_watermark_offsets(start, timeout=_TIMEOUT_S)
            if start.offset < 0 or start.offset >= end:
                return None, 0
            reader.assign([start])
            return self._read(reader, chat, sequence, min(end - start.offset, MAX_RECORDS))

    def _read(
        self, reader: Consumer, chat: ChatKey, sequence: int, count: int
    ) -> tuple[FoundEvent | None, int]:
        seen = 0
        while seen < count:
            some = reader.consume(min(_RECORDS_PER_READ, count - seen), timeout=_TIMEOUT_S)
            if not some:
                raise UnavailableError(f"Kafka: {self._topic} could not be read within {_TIMEOUT_S:.0f} s")
            for record in some:
                seen += 1
                if found := self._event(record, chat, sequence):
                    return found, seen
        return None, seen

    def _event(self, record: Message, chat: ChatKey, sequence: int) -> FoundEvent | None:
        error, value = record.error(), record.value()
        if error is not None:
            raise KafkaException(error)
        if not isinstance(value, bytes) or not self._carries(chat, sequence, value):
            return None
        return FoundEvent(record.offset() or 0, record.timestamp()[1])
