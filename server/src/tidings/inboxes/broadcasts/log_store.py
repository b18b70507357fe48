"""Broadcast logs and read tracking in DynamoDB, and snapshots of logs in Redis."""

import asyncio
import zlib
from collections.abc import Collection, Sequence

import msgspec

from tidings.inboxes.broadcasts.model import (
    BroadcastEntry,
    BroadcastEntryKind,
    BroadcastLogId,
    BroadcastLogView,
    BucketRange,
)
from tidings.inboxes.broadcasts.ports import ReaderPage, ReadRecord
from tidings.inboxes.model import NotificationId
from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Query
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import RedisError
from tidings.platform.redis.keys import Key
from tidings.platform.telemetry import logs
from tidings.schema.tables.items.inboxes import ENTRY_SORT, OF_LOG, OF_NOTIFICATION, READER_SORT
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import inboxes as patterns

_FIRST = KeyTemplate("b#").render()
_PAGE = 1_000


class DynamoBroadcastLog:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def after(self, log: BroadcastLogId, sequence: int) -> Sequence[BroadcastEntry]:
        query = Query(
            condition="PK = :p AND SK > :s",
            values={":p": _partition(log), ":s": ENTRY_SORT.render(sequence=sequence)},
        )
        found: list[BroadcastEntry] = []
        with translate_read_errors:
            async for page in self._client.pages(patterns.FOLLOW_BROADCASTS, query):
                found += [_entry_from_item(item) for item in page.items]
        return found

    async def since(self, log: BroadcastLogId, at_ms: int) -> Sequence[BroadcastEntry]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :b)",
            values={":p": _partition(log), ":b": _FIRST},
            limit=_PAGE,
            backward=True,
        )
        found: list[BroadcastEntry] = []
        with translate_read_errors:
            async for page in self._client.pages(patterns.OPEN_BROADCASTS, query):
                found += [_entry_from_item(item) for item in page.items]
                if found and found[-1].at_ms < at_ms:
                    break
        return found[::-1]

    async def put(self, log: BroadcastLogId, entry: BroadcastEntry) -> BroadcastEntry | None:
        try:
            await self._client.put(
                patterns.APPEND_BROADCAST,
                _item(log, entry),
                condition="attribute_not_exists(PK)",
                repeatable=True,
            )
        except ConditionFailedError as failed:
            return _entry_from_item(failed.item or {})
        except DynamoError as error:
            raise_write_error(error)
        return None


def _partition(log: BroadcastLogId) -> str:
    return OF_LOG.render(tenant=log.tenant, inbox=log.inbox)


def _item(log: BroadcastLogId, entry: BroadcastEntry) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = {
        "PK": _partition(log),
        "SK": ENTRY_SORT.render(sequence=entry.sequence),
        "kind": entry.kind.value,
        "id": entry.id,
        "notification": entry.notification,
        "at": entry.at_ms,
        "category": entry.category or None,
        "segment": entry.segment,
        "hashes": None if entry.span is None else list(entry.span),
        "expires_at_ms": entry.expires_ms or None,
        "tracked": entry.is_tracked or None,
        "critical": entry.is_critical or None,
    }
    return {name: value for name, value in item.items() if value is not None}


def _entry_from_item(item: Item) -> BroadcastEntry:
    span = item.get("hashes")
    return BroadcastEntry(
        sequence=int(item["SK"].partition("#")[2]),
        kind=BroadcastEntryKind(item["kind"]),
        id=item["id"],
        notification=item["notification"],
        at_ms=int(item["at"]),
        category=int(item.get("category", 0)),
        segment=item.get("segment"),
        span=None if span is None else BucketRange(int(span[0]), int(span[1])),
        expires_ms=int(item.get("expires_at_ms", 0)),
        is_tracked=bool(item.get("tracked", False)),
        is_critical=bool(item.get("critical", False)),
    )


_FORMAT = "2"
"""Changes with the format of a view: snapshots of another format are not read."""
SNAPSHOT_TTL_S = 7 * 86_400
_TIMEOUT_S = 0.5
_encode = msgspec.msgpack.Encoder().encode
_decode = wrap_decoder(msgspec.msgpack.Decoder(BroadcastLogView).decode, msgspec.DecodeError)

log = logs.get_logger(__name__)


class RedisSnapshots:
    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._writing: set[asyncio.Task[None]] = set()

    async def read(self, log: BroadcastLogId) -> BroadcastLogView | None:
        try:
            found = await self._redis.read("GET", self._key(log), timeout_s=_TIMEOUT_S)
            return _decode(zlib.decompress(found)) if isinstance(found, bytes) else None
        except (RedisError, msgspec.MsgspecError, zlib.error):
            return None

    def write(self, log: BroadcastLogId, view: BroadcastLogView) -> None:
        task = asyncio.create_task(self._write(log, view))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, at: BroadcastLogId, view: BroadcastLogView) -> None:
        try:
            packed = zlib.compress(_encode(view), 1)
            await self._redis.write("SET", self._key(at), packed, "EX", SNAPSHOT_TTL_S, timeout_s=_TIMEOUT_S)
        except RedisError as error:
            log.info("snapshot not written", reason=str(error))

    def _key(self, log: BroadcastLogId) -> Key:
        return self._redis.keys.key(log.tenant, log.inbox, "broadcasts", _FORMAT)


class NoSnapshots:
    """For processes without Redis, which read the log itself."""

    async def read(self, _: BroadcastLogId) -> BroadcastLogView | None:
        return None

    def write(self, _: BroadcastLogId, __: BroadcastLogView) -> None:
        pass


_FIRST_READER = KeyTemplate("r#").render()


class DynamoReadTracker:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def note(
        self, tenant: TenantId, user: UserId, notifications: Collection[NotificationId], at_ms: int
    ) -> None:
        items = [_key(tenant, notification, user) | {"at": at_ms} for notification in notifications]
        with translate_write_errors:
            await self._client.batch_write(patterns.NOTE_READER, puts=items, repeatable=True)

    async def page(
        self, tenant: TenantId, notification: NotificationId, limit: int, below: UserId | None = None
    ) -> ReaderPage:
        query = Query(
            condition="PK = :p AND begins_with(SK, :r)",
            values={
                ":p": OF_NOTIFICATION.render(tenant=tenant, notification=notification),
                ":r": _FIRST_READER,
            },
            limit=limit,
            start=None if below is None else _key(tenant, notification, below),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_READERS, query)
        found = [ReadRecord(UserId(item["SK"].partition("#")[2]), int(item["at"])) for item in page.items]
        return ReaderPage(found, found[-1].user if page.start is not None else None)


def _key(tenant: TenantId, notification: NotificationId, user: UserId) -> dict[str, ItemValue]:
    return {
        "PK": OF_NOTIFICATION.render(tenant=tenant, notification=notification),
        "SK": READER_SORT.render(user=user),
    }
