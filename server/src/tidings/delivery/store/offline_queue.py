"""The offline queue in DynamoDB: one item per message and user, sorted by the messages' times.

The key contains the message's own time, so every attempt to put or withdraw a message uses the same key.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import batched

import msgspec

from tidings.delivery.model import (
    OfflineMessage,
    OfflineQueueBatch,
    OfflineQueueKey,
    OfflineQueueMessage,
    OfflineQueuePage,
)
from tidings.kernel.clock import Clock, format_ms, parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId, message_id
from tidings.messages.model import Entry, EntryKind
from tidings.platform.dynamo.batch import MAX_WRITES
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.platform.kafka.errors import PublishError
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.schema.tables.items.chats import PENDING_SORT, chat_key, user_key
from tidings.schema.tables.patterns import delivery as patterns
from tidings.schema.topics.model import OFFLINE

RETENTION_S = 30 * 24 * 3600


class DynamoOfflineQueue:
    def __init__(self, client: DynamoClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def put(self, queued: Sequence[OfflineQueueBatch]) -> None:
        # Race: a gateway deletes an acknowledged item, then a worker that repeats its batch puts it again. The device
        # ignores the message at the next drain, because its position is further; the item expires by its TTL.
        items = _items(queued, self._clock.now_ms() // 1000 + RETENTION_S)
        await gather_limited(map(self._put, batched(items, MAX_WRITES)))

    async def _put(self, items: Sequence[Attributes]) -> None:
        with translate_write_errors:
            await self._client.batch_write(patterns.PUT_PENDING, puts=items, repeatable=True)

    async def withdraw(self, chat: ChatKey, users: Sequence[UserId], message: Entry) -> None:
        # Race: the previous worker of the partition puts the message after this delete, so the queue keeps a redacted
        # message. The device receives it, and after it the redaction entry, which removes it from the device.
        keys = [_key(chat, user, message) for user in users]
        with translate_write_errors:
            await self._client.batch_write(patterns.WITHDRAW_PENDING, deletes=keys, repeatable=True)

    async def drain(
        self, tenant: TenantId, user: UserId, after: OfflineQueueKey | None = None, limit: int = 200
    ) -> OfflineQueuePage:
        # Race: a worker puts a message that sorts before `after` while a gateway reads the following pages, and this
        # drain misses it. The device still receives the entry: its chat row is ahead, so the gateway reads the log.
        owner = user_key(tenant, user)
        query = Query(
            condition="user_id = :u",
            values={":u": owner},
            limit=limit,
            start=None if after is None else {"user_id": owner, "message_key": after},
        )
        with translate_read_errors:
            page = await self._client.query(patterns.DRAIN_PENDING, query)
        now_s = self._clock.now_ms() // 1000
        found = (_message_from_item(item) for item in page.items if int(item["ttl"]) > now_s)
        return OfflineQueuePage(
            tuple(found), None if page.start is None else OfflineQueueKey(page.start["message_key"])
        )

    async def queued_for(
        self, chat: ChatKey, users: Sequence[UserId], message: Entry
    ) -> Mapping[UserId, int | None]:
        """Return the users whose queues have the message, with the time of the put; None for an ephemeral message."""
        keys = [_key(chat, user, message) for user in users]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.FIND_PENDING, keys)
        now_s = self._clock.now_ms() // 1000
        return {_owner(item): _put_ms(item) for item in found if int(item["ttl"]) > now_s}

    async def delete(self, tenant: TenantId, user: UserId, keys: Sequence[OfflineQueueKey]) -> None:
        owner = user_key(tenant, user)
        items = [{"user_id": owner, "message_key": key} for key in keys]
        with translate_write_errors:
            await self._client.batch_write(patterns.DELETE_PENDING, deletes=items, repeatable=True)


def _key(chat: ChatKey, user: UserId, message: Entry) -> dict[str, ItemValue]:
    return {"user_id": user_key(chat.tenant, user), "message_key": _queue_key(chat, message)}


def _queue_key(chat: ChatKey, message: Entry) -> str:
    name = message_id(chat.chat, message.sequence)
    return PENDING_SORT.render(at_ms=message.created_at_ms, message=name)


def _items(queued: Sequence[OfflineQueueBatch], until_s: int) -> Iterator[Attributes]:
    """Return the items to put. Items of one message differ only in the user, so the rest is built once."""
    shared: dict[tuple[ChatKey, int], dict[str, ItemValue]] = {}
    for chat, user, messages in queued:
        for message in messages:
            key = chat, message.sequence
            if key not in shared:
                shared[key] = _shared_attributes(chat, message, until_s)
            yield shared[key] | {"user_id": user_key(chat.tenant, user)}


def _shared_attributes(chat: ChatKey, message: Entry, until_s: int) -> dict[str, ItemValue]:
    """Return the attributes of an item except its user. Ephemeral content is not copied; the item expires with it."""
    item: dict[str, ItemValue] = {
        "message_key": _queue_key(chat, message),
        "chat_id": chat_key(chat),
        "sequence": message.sequence,
        "ordinal": message.ordinal,
        "kind": message.kind.value,
        "sender_id": message.sender,
        "client_message_id": message.client_key,
        "fingerprint": message.fingerprint,
        "created_at": format_ms(message.created_at_ms),
        "ttl": until_s,
    }
    if message.epoch:
        item["epoch"] = message.epoch
    if message.content_type is not None:
        item["content_type"] = message.content_type
    if message.visible_until_ms is not None:
        expires_s = -(-message.visible_until_ms // 1000)
        item |= {
            "visible_until": message.visible_until_ms,
            "expires_at": expires_s,
            "ttl": min(until_s, expires_s),
        }
    elif message.content is not None:
        item["content"] = message.content
    return item


def _owner(item: Item) -> UserId:
    return UserId(item["user_id"].partition("#")[2])


def _put_ms(item: Item) -> int | None:
    return None if "expires_at" in item else (int(item["ttl"]) - RETENTION_S) * 1000


def _message_from_item(item: Item) -> OfflineQueueMessage:
    tenant, _, chat = item["chat_id"].partition("#")
    until = item.get("visible_until")
    entry = Entry(
        sequence=int(item["sequence"]),
        ordinal=int(item["ordinal"]),
        kind=EntryKind(item["kind"]),
        sender=UserId(item["sender_id"]),
        client_key=ClientKey(item["client_message_id"]),
        fingerprint=item["fingerprint"],
        created_at_ms=parse_ms(item["created_at"]),
        epoch=int(item.get("epoch", 0)),
        content=item.get("content"),
        content_type=item.get("content_type"),
        visible_until_ms=None if until is None else int(until),
    )
    return OfflineQueueMessage(
        OfflineQueueKey(item["message_key"]), ChatKey(TenantId(tenant), ChatId(chat)), entry
    )


_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class KafkaOfflineEvents:
    """`publish` raises `overloaded` if Kafka does not accept an event that a retry may deliver."""

    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    async def publish(self, event: OfflineMessage) -> None:
        key = user_key(event.tenant, event.recipient).encode()
        try:
            await self._publisher.send(OFFLINE.name, key, _encode(event))
        except PublishError as error:
            if not error.retryable:
                # A retry of the same bytes would be rejected again and block the partition forever.
                _log.exception("Kafka rejected an offline event")
                return
            raise TidingsError(Code.OVERLOADED, f"Kafka did not accept an event: {error}") from error
