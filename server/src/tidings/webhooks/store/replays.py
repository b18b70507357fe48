"""Find the entries of a replay in Kafka: all records of `messages` since a time. Joins no consumer group."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from typing import Final

import msgspec
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId
from tidings.messages.model import decode_event
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.errors import error_text
from tidings.schema.topics.model import MESSAGES

_TIMEOUT_S: Final = 10.0
_RECORDS_PER_READ: Final = 1_000
_MARGIN_MS: Final = 60_000
"""An entry is published after its commit, and its record has the time of the publication."""

type _Runs = dict[ChatKey, tuple[int, int]]


class KafkaReplaySource:
    def __init__(self, connection: KafkaConfig) -> None:
        self._connection = connection

    async def runs_since(self, tenant: TenantId, since_ms: int) -> Mapping[ChatKey, tuple[int, int]]:
        """Read the topic in a thread. Raises `overloaded` while Kafka does not answer."""
        try:
            return await asyncio.to_thread(self._read, tenant, since_ms)
        except KafkaException as error:
            raise TidingsError(Code.OVERLOADED, f"Kafka: {error_text(error.args[0])}") from error

    def _read(self, tenant: TenantId, since_ms: int) -> _Runs:
        topic = self._connection.topic(MESSAGES.name)
        runs: _Runs = {}
        config = {
            **self._connection.admin_config(),
            "group.id": self._connection.group("webhook-replays"),
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        with closing(Consumer(config)) as reader:
            found = reader.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
            for partition in found.partitions:
                self._read_partition(
                    reader, TopicPartition(topic, partition, since_ms - _MARGIN_MS), runs, tenant, since_ms
                )
        return runs

    def _read_partition(
        self, reader: Consumer, since: TopicPartition, runs: _Runs, tenant: TenantId, since_ms: int
    ) -> None:
        """Read one partition up to the end that it has now: later entries are sent as usual."""
        [start] = reader.offsets_for_times([since], timeout=_TIMEOUT_S)
        if start.error is not None:
            raise KafkaException(start.error)
        low, end = reader.get_watermark_offsets(start, timeout=_TIMEOUT_S)
        at = end if start.offset < 0 else max(low, start.offset)
        if at >= end:
            return
        reader.assign([TopicPartition(start.topic, start.partition, at)])
        while at < end:
            some = reader.consume(min(_RECORDS_PER_READ, end - at), timeout=_TIMEOUT_S)
            if not some:
                raise TidingsError(Code.OVERLOADED, f"Kafka: partition {start.partition} could not be read.")
            for record in some:
                _add(record, runs, tenant, since_ms)
                at = (record.offset() or 0) + 1


def _add(record: Message, runs: _Runs, tenant: TenantId, since_ms: int) -> None:
    key, value = record.key(), record.value()
    if record.error() is not None or not isinstance(key, bytes) or not isinstance(value, bytes):
        return
    if not key.startswith(f"{tenant}#".encode()):
        return
    try:
        event = decode_event(value)
    except msgspec.DecodeError:  # the delivery worker has put it into the dead-letter topic
        return
    sequences = [entry.sequence for entry in event.entries if entry.created_at_ms >= since_ms]
    if event.tenant == tenant and sequences:
        first, last = runs.get(event.key, (sequences[0], sequences[-1]))
        runs[event.key] = min(first, sequences[0]), max(last, sequences[-1])
