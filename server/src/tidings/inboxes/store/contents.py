"""Contents of notifications: the current one at `v#0000`, above it every version. And the keys of sends."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from tidings.inboxes.model import InboxId, KeyClaim, KeyOrigin, NotificationContent, NotificationId
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Delete, Put, TransactAction
from tidings.schema.tables.items.inboxes import CONTENT_SORT, KEY_SORT, OF_KEY, OF_NOTIFICATION
from tidings.schema.tables.patterns import inboxes as patterns
from tidings.schema.tables.patterns import jobs as job_patterns

_TABLE = "inbox"
_CURRENT = 0
KEY_TTL_S = 7 * 24 * 3600


class DynamoContentStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def put(self, tenant: TenantId, content: NotificationContent) -> None:
        head = Put(table=_TABLE, item=_item(tenant, content, _CURRENT), condition="attribute_not_exists(PK)")
        # The result does not matter: ids are unique, so an existing item is from an earlier attempt.
        await self._write(patterns.PUT_CONTENT, [head, _version(tenant, content)])

    async def find(self, tenant: TenantId, notification: NotificationId) -> NotificationContent | None:
        with translate_read_errors:
            item = await self._client.get(patterns.FIND_CONTENT, _key(tenant, notification, _CURRENT))
        return None if item is None else _content_from_item(item)

    async def of(
        self, tenant: TenantId, ids: Collection[NotificationId]
    ) -> Mapping[NotificationId, NotificationContent]:
        keys = [_key(tenant, notification, _CURRENT) for notification in ids]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_CONTENT, keys) if keys else []
        return {(content := _content_from_item(item)).id: content for item in found}

    async def amend(self, tenant: TenantId, content: NotificationContent) -> bool:
        head = Put(
            table=_TABLE,
            item=_item(tenant, content, _CURRENT),
            condition="version = :v AND attribute_not_exists(redacted)",
            values={":v": content.version - 1},
        )
        return await self._write(patterns.AMEND_CONTENT, [head, _version(tenant, content)])

    async def redact(self, tenant: TenantId, content: NotificationContent, at_ms: int, recall: str) -> bool:
        redacted = replace(content, sealed=None, redacted_ms=at_ms, recall=recall)
        head = Put(
            table=_TABLE,
            item=_item(tenant, redacted, _CURRENT),
            condition="version = :v AND attribute_not_exists(redacted)",
            values={":v": content.version},
        )
        versions = range(1, content.version + 1)
        deletes = [Delete(table=_TABLE, key=_key(tenant, content.id, version)) for version in versions]
        return await self._write(patterns.REDACT_CONTENT, [head, *deletes])

    async def claim(
        self, tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str, claim: KeyClaim
    ) -> KeyClaim | None:
        item = _claim_key(tenant, inbox, origin, key) | {
            "notification": claim.notification,
            "job": claim.job,
            "fingerprint": claim.fingerprint,
            "created_at": format_ms(claim.at_ms),
        }
        if origin is KeyOrigin.KEY:
            item["ttl"] = claim.at_ms // 1000 + KEY_TTL_S
        try:
            await self._client.put(
                job_patterns.CLAIM_KEY, item, condition="attribute_not_exists(PK)", repeatable=True
            )
        except ConditionFailedError as failed:
            return _claim_from_item(failed.item or {})
        except DynamoError as error:
            raise_write_error(error)
        return None

    async def claimed(self, tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str) -> KeyClaim | None:
        with translate_read_errors:
            item = await self._client.get(job_patterns.FIND_KEY, _claim_key(tenant, inbox, origin, key))
        return None if item is None else _claim_from_item(item)

    async def _write(self, pattern: AccessPattern, actions: list[TransactAction]) -> bool:
        with translate_write_errors:
            return await self._client.try_transact_write(pattern, actions, repeatable=True)


def _key(tenant: TenantId, notification: NotificationId, version: int) -> dict[str, ItemValue]:
    return {
        "PK": OF_NOTIFICATION.render(tenant=tenant, notification=notification),
        "SK": CONTENT_SORT.render(version=version),
    }


def _version(tenant: TenantId, content: NotificationContent) -> Put:
    item = _key(tenant, content.id, content.version) | {
        "message": content.sealed,
        "created_at": format_ms(content.created_ms),
    }
    return Put(table=_TABLE, item=item)


def _item(tenant: TenantId, content: NotificationContent, at: int) -> dict[str, ItemValue]:
    item = _key(tenant, content.id, at) | {
        "message": content.sealed,
        "sender": content.sender,
        "created_at": format_ms(content.created_ms),
        "version": content.version,
        "inbox": content.inbox,
        "category": content.category,
        "job": content.job,
        "recall": content.recall,
        "host_system_id": content.host_system_id,
        "label": content.label,
        "count": content.count,
        "expires_at_ms": content.expires_ms,
        "redacted": content.redacted_ms,
        "reach": content.reach,
        "tracked": content.is_tracked or None,
        "critical": content.is_critical or None,
        "digest_key": content.digest_key,
    }
    return {name: value for name, value in item.items() if value is not None}


def _content_from_item(item: Item) -> NotificationContent:
    expires, redacted = item.get("expires_at_ms"), item.get("redacted")
    return NotificationContent(
        id=NotificationId(item["PK"].rpartition("#")[2]),
        inbox=InboxId(item["inbox"]),
        category=int(item["category"]),
        version=int(item["version"]),
        sealed=item.get("message"),
        created_ms=parse_ms(item["created_at"]),
        job=item["job"],
        count=int(item["count"]),
        sender=item.get("sender"),
        label=item.get("label"),
        host_system_id=item.get("host_system_id"),
        expires_ms=None if expires is None else int(expires),
        redacted_ms=None if redacted is None else int(redacted),
        recall=item.get("recall"),
        reach=item.get("reach"),
        is_tracked=bool(item.get("tracked", False)),
        is_critical=bool(item.get("critical", False)),
        digest_key=item.get("digest_key"),
    )


def _claim_key(tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str) -> dict[str, ItemValue]:
    return {
        "PK": OF_KEY.render(tenant=tenant, inbox=inbox, origin=origin.value, host_key=key),
        "SK": KEY_SORT.render(),
    }


def _claim_from_item(item: Item) -> KeyClaim:
    return KeyClaim(
        notification=NotificationId(item["notification"]),
        job=item["job"],
        fingerprint=item["fingerprint"],
        at_ms=parse_ms(item["created_at"]),
    )
