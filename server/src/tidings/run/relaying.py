"""Joins the relay's use cases with the engines: what it publishes, which marks it believes, which log it reads."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from tidings.kernel.errors import TidingsError
from tidings.kernel.fences import Fence
from tidings.kernel.ids import ChatId, ChatKey, MessageId, TenantId, message_id
from tidings.messages.events import Committed, encode, kafka_key
from tidings.messages.model import Entry
from tidings.messages.store import DynamoReader
from tidings.platform.kafka.errors import PublishError
from tidings.platform.kafka.publisher import Publisher
from tidings.relay import rules
from tidings.relay.model import Expired
from tidings.relay.ports import AwayError
from tidings.routing.model import Answers, RoutesAwayError
from tidings.routing.store import RedisMarks
from tidings.topics.declaration import EXPIRED, MESSAGES

_MAX_ENTRIES, _MAX_BYTES = 50, 262_144
"""Of one record: far below what the topic takes, and no more than a worker handles at a time."""
_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


class MessageExpired(Struct, frozen=True, kw_only=True, tag_field="event", tag="message.expired"):
    """As the topic `expired` has it."""

    tenant: TenantId
    chat_id: ChatId
    sequence: int
    message_id: MessageId


class KafkaOutbox:
    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> Fence:
        parts = rules.in_parts(_sized(entries), _MAX_ENTRIES, _MAX_BYTES)
        answers = [
            self._publisher.send(MESSAGES.name, kafka_key(chat), encode(_event(chat, part))) for part in parts
        ]
        try:
            placed = await asyncio.gather(*answers)
        except PublishError as error:
            raise AwayError(f"Kafka: {error}") from error
        last = max(placed, key=lambda each: each.offset)
        return Fence(last.partition, last.offset + 1)

    async def expired(self, gone: Sequence[Expired]) -> None:
        answers = [self._publisher.send(EXPIRED.name, kafka_key(each.chat), _expired(each)) for each in gone]
        try:
            await asyncio.gather(*answers)
        except PublishError as error:
            raise AwayError(f"Kafka: {error}") from error


class BelievedMarks:
    def __init__(self, marks: RedisMarks) -> None:
        self._marks = marks

    async def of(self, chats: Sequence[ChatKey]) -> Answers[ChatKey, int]:
        answers = await self._marks.of(chats)
        if len(answers.unknown) == len(chats):
            raise AwayError(f"Redis: {answers.why}")
        return answers

    async def begin(self, chat: ChatKey, at: int) -> None:
        try:
            await self._marks.mark(chat, at, at)
        except RoutesAwayError as error:
            raise AwayError(f"Redis: {error}") from error


class ReadLog:
    def __init__(self, reader: DynamoReader) -> None:
        self._reader = reader

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        try:
            return await self._reader.between(chat, after, up_to)
        except TidingsError as error:
            if not error.retryable:
                raise
            raise AwayError(f"the log: {error.message}") from error


def _sized(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int]]:
    return ((entry, len(_to_msgpack(entry))) for entry in entries)


def _event(chat: ChatKey, entries: Sequence[Entry]) -> Committed:
    return Committed(chat.tenant, chat.chat, tuple(entries), entries[0].epoch)


def _expired(gone: Expired) -> bytes:
    tenant, chat = gone.chat
    told = MessageExpired(
        tenant=tenant, chat_id=chat, sequence=gone.sequence, message_id=message_id(chat, gone.sequence)
    )
    return _to_json(told)
