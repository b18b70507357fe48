"""Dead letters in Kafka, and their marks in the table `tenants`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from tidings.dead_letters.model import (
    DeadLetter,
    DeadLetterAction,
    DeadLetterMark,
    DeadLetterPosition,
    OffsetRange,
    TopicState,
)
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.errors import PublishError, error_text
from tidings.platform.kafka.publisher import OFFSET, PARTITION, REASON, TOPIC, KafkaPublisher
from tidings.platform.kafka.records import Record, record_from_message
from tidings.schema.tables.items.accounts import DEAD_LETTER_MARK_KEY, DEAD_LETTER_MARKS
from tidings.schema.tables.patterns import operators as patterns
from tidings.schema.topics.model import MESSAGES_DEAD

_TIMEOUT_S: Final = 5.0
_ADDED: Final = frozenset({REASON, TOPIC, PARTITION, OFFSET})
_DAY_S: Final = 86_400


class KafkaDeadLetterTopics:
    """Reads without a consumer group, with a client for each call: dead letters are read seldom."""

    def __init__(self, connection: KafkaConfig, publisher: KafkaPublisher) -> None:
        self._connection = connection
        self._publisher = publisher

    async def describe(self, topic: str, /) -> TopicState | None:
        return await self._call(lambda reader: self._describe(reader, topic))

    async def read(self, start: DeadLetterPosition, limit: int, /) -> Sequence[DeadLetter]:
        return await self._call(lambda reader: self._read(reader, start, limit))

    async def publish(self, topic: str, letter: DeadLetter, /) -> None:
        try:
            await self._publisher.send(topic, letter.key, letter.value, letter.headers)
        except PublishError as error:
            code = Code.OUTCOME_UNKNOWN if error.retryable else Code.REQUEST_INVALID
            raise TidingsError(code, f"Kafka did not accept the record: {error}") from error

    async def _call[T](self, work: Callable[[Consumer], T]) -> T:
        try:
            return await asyncio.to_thread(self._with_reader, work)
        except KafkaException as error:
            raise TidingsError(Code.OVERLOADED, f"Kafka: {error_text(error.args[0])}") from error

    def _with_reader[T](self, work: Callable[[Consumer], T]) -> T:
        config = {
            **self._connection.admin_config(),
            "group.id": self._connection.group("dead-letters"),
            "enable.auto.commit": False,
            # A record that the topic's retention deletes between two calls must not end the read.
            "auto.offset.reset": "earliest",
        }
        with closing(Consumer(config)) as reader:
            return work(reader)

    def _describe(self, reader: Consumer, topic: str) -> TopicState | None:
        name = self._connection.topic(topic)
        with AdminClient(self._connection.admin_config()) as admin:
            asked = admin.describe_topics(TopicCollection([name]), request_timeout=_TIMEOUT_S)
            try:
                found = asked[name].result(_TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    return None
                raise
        places = [TopicPartition(name, each.id) for each in found.partitions]
        return TopicState(
            str(found.topic_id),
            {
                place.partition: OffsetRange(*reader.get_watermark_offsets(place, timeout=_TIMEOUT_S))
                for place in places
            },
        )

    def _read(self, reader: Consumer, start: DeadLetterPosition, limit: int) -> list[DeadLetter]:
        place = TopicPartition(self._connection.topic(start.topic), start.partition, start.offset)
        _, high = reader.get_watermark_offsets(place, timeout=_TIMEOUT_S)
        reader.assign([place])
        found: list[DeadLetter] = []
        while len(found) < limit and (not found or found[-1].position.offset < high - 1):
            some = reader.consume(min(limit - len(found), high - start.offset), timeout=_TIMEOUT_S)
            if not some:
                break
            found += [_letter_from_message(start.topic, each) for each in some]
        return found


def _letter_from_message(topic: str, message: Message) -> DeadLetter:
    if (error := message.error()) is not None:
        raise KafkaException(error)
    record = record_from_message(message)
    added = {name: _text(value) for name, value in record.headers if name in _ADDED}
    source = "/".join(added.get(name, "?") for name in (TOPIC, PARTITION, OFFSET))
    return DeadLetter(
        position=DeadLetterPosition(topic, record.partition, record.offset),
        at_ms=record.timestamp_ms,
        reason=added.get(REASON, "unknown"),
        source=source,
        key=record.key,
        value=record.value,
        headers=_original_headers(record),
    )


def _original_headers(record: Record) -> tuple[tuple[str, bytes | None], ...]:
    """Leave out what was added. A replayed record that fails again gets new ones."""
    return tuple((name, value) for name, value in record.headers if name not in _ADDED)


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


class DynamoDeadLetterMarks:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def find(
        self, topic_id: str, partition: int, first: int, last: int, /
    ) -> Mapping[int, DeadLetterMark]:
        keys = (
            DEAD_LETTER_MARK_KEY.render(topic=topic_id, partition=partition, offset=offset)
            for offset in (first, last)
        )
        query = Query(
            condition="tenant = :t AND #item BETWEEN :first AND :last",
            values={":t": DEAD_LETTER_MARKS.render(), ":first": next(keys), ":last": next(keys)},
            names={"#item": "item"},
        )
        with translate_read_errors:
            pages = self._client.pages(patterns.FIND_DEAD_LETTER_MARKS, query)
            items = [item async for page in pages for item in page.items]
        return {int(item["item"].rpartition("#")[2]): _mark_from_item(item) for item in items}

    async def add(self, topic_id: str, position: DeadLetterPosition, mark: DeadLetterMark, /) -> bool:
        item = {
            "tenant": DEAD_LETTER_MARKS.render(),
            "item": DEAD_LETTER_MARK_KEY.render(
                topic=topic_id, partition=position.partition, offset=position.offset
            ),
            "action": mark.action.value,
            "marked_at": format_ms(mark.at_ms),
            # The record is older than its mark, so the mark outlasts it.
            "ttl": mark.at_ms // 1000 + MESSAGES_DEAD.retention_s + _DAY_S,
        }
        with translate_write_errors:
            return await condition_held(
                self._client.put(patterns.MARK_DEAD_LETTER, item, condition="attribute_not_exists(tenant)")
            )


def _mark_from_item(item: Item) -> DeadLetterMark:
    return DeadLetterMark(DeadLetterAction(item["action"]), parse_ms(item["marked_at"]))
