"""Publish committed and expired entries to Kafka."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from tidings.kernel.errors import UnavailableError
from tidings.kernel.fences import OffsetFence
from tidings.kernel.ids import ChatId, ChatKey, MessageId, TenantId, message_id
from tidings.messages.model import CommittedEvent, Entry, encode_event, partition_key
from tidings.platform.kafka.errors import PublishError
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.relay import rules
from tidings.relay.model import ContentExpired
from tidings.schema.topics.model import EXPIRED, MESSAGES

_MAX_ENTRIES, _MAX_BYTES = 50, 262_144
"""Limits of one record: far below the topic's, and no more than a worker processes at a time."""
_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


class MessageExpired(Struct, frozen=True, kw_only=True, tag_field="event", tag="message.expired"):
    """Event of the topic `expired`."""

    tenant: TenantId
    chat_id: ChatId
    sequence: int
    message_id: MessageId


class KafkaEventPublisher:
    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    async def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> OffsetFence:
        sends = [
            self._publisher.send(MESSAGES.name, partition_key(chat), encode_event(_committed(chat, chunk)))
            for chunk in rules.chunk_by_size(_with_sizes(entries), _MAX_ENTRIES, _MAX_BYTES)
        ]
        try:
            placed = await asyncio.gather(*sends)
        except PublishError as error:
            raise UnavailableError(f"Kafka: {error}") from error
        last = max(placed, key=lambda each: each.offset)
        return OffsetFence(last.partition, last.offset + 1)

    async def publish_expired(self, expired: Sequence[ContentExpired]) -> None:
        sends = [
            self._publisher.send(EXPIRED.name, partition_key(each.chat), _expired(each)) for each in expired
        ]
        try:
            await asyncio.gather(*sends)
        except PublishError as error:
            raise UnavailableError(f"Kafka: {error}") from error


def _with_sizes(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int]]:
    return ((entry, len(_to_msgpack(entry))) for entry in entries)


def _committed(chat: ChatKey, entries: Sequence[Entry]) -> CommittedEvent:
    return CommittedEvent(chat.tenant, chat.chat, tuple(entries), entries[0].epoch)


def _expired(expired: ContentExpired) -> bytes:
    tenant, chat = expired.chat
    return _to_json(
        MessageExpired(
            tenant=tenant,
            chat_id=chat,
            sequence=expired.sequence,
            message_id=message_id(chat, expired.sequence),
        )
    )
