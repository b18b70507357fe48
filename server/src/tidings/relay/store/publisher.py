"""Joins the relay's use cases with the engines: what it publishes, which marks it believes, which log it reads."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from tidings.connections.model import LookupResult
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import ChatId, ChatKey, MessageId, TenantId, message_id
from tidings.messages.model import CommittedEvent, Entry, encode_event, partition_key
from tidings.messages.store import DynamoLogReader
from tidings.platform.kafka.errors import PublishError
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.relay import rules
from tidings.relay.model import ContentExpired
from tidings.schema.topics.model import EXPIRED, MESSAGES

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


class KafkaEventPublisher:
    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> OffsetFence:
        parts = rules.chunk_by_size(_sized(entries), _MAX_ENTRIES, _MAX_BYTES)
        answers = [
            self._publisher.send(MESSAGES.name, partition_key(chat), encode_event(_event(chat, part)))
            for part in parts
        ]
        try:
            placed = await asyncio.gather(*answers)
        except PublishError as error:
            raise UnavailableError(f"Kafka: {error}") from error
        last = max(placed, key=lambda each: each.offset)
        return OffsetFence(last.partition, last.offset + 1)

    async def expired(self, gone: Sequence[ContentExpired]) -> None:
        answers = [
            self._publisher.send(EXPIRED.name, partition_key(each.chat), _expired(each)) for each in gone
        ]
        try:
            await asyncio.gather(*answers)
        except PublishError as error:
            raise UnavailableError(f"Kafka: {error}") from error


class RelayCheckpoints:
    def __init__(self, checkpoints: RedisDeliveryCheckpoints) -> None:
        self._checkpoints = checkpoints

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        answers = await self._checkpoints.read(chats)
        if len(answers.unknown) == len(chats):
            raise UnavailableError(f"Redis: {answers.failure}")
        return answers

    async def begin(self, chat: ChatKey, at: int) -> None:
        await self._checkpoints.advance(chat, at, at)


class RelayLogReader:
    def __init__(self, reader: DynamoLogReader) -> None:
        self._reader = reader

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        try:
            return await self._reader.between(chat, after, up_to)
        except TidingsError as error:
            if not error.retryable:
                raise
            raise UnavailableError(f"DynamoDB, log: {error.message}") from error


def _sized(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int]]:
    return ((entry, len(_to_msgpack(entry))) for entry in entries)


def _event(chat: ChatKey, entries: Sequence[Entry]) -> CommittedEvent:
    return CommittedEvent(chat.tenant, chat.chat, tuple(entries), entries[0].epoch)


def _expired(gone: ContentExpired) -> bytes:
    tenant, chat = gone.chat
    told = MessageExpired(
        tenant=tenant, chat_id=chat, sequence=gone.sequence, message_id=message_id(chat, gone.sequence)
    )
    return _to_json(told)
