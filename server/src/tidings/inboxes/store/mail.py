"""Configurations and results of e-mail in the table `inbox`."""

from collections.abc import Mapping, Sequence

import msgspec

from tidings.inboxes.mail.model import MailConfig, MailResult, MailState
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.store.items import inbox_partition
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import TenantId, UserId, ulid_ms
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.protected_rows import put_if_version
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.inboxes import MAIL_CONFIG_SORT, MAIL_SORT, OF_TENANT
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import mail as patterns

_FIRST = KeyTemplate("w#").render()
_TTL_S = 90 * 86_400
_decode = msgspec.json.Decoder(MailConfig).decode
_MAY_CLAIM = "attribute_not_exists(PK) OR #s = :deferred OR (#s = :sending AND #u <= :now)"


class DynamoMailConfigStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, inbox: InboxId) -> MailConfig | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_MAIL_CONFIG, _config_key(tenant, inbox))
        return None if item is None else _decode(item["config"])

    async def write(self, tenant: TenantId, inbox: InboxId, config: MailConfig) -> bool:
        item = _config_key(tenant, inbox) | {
            "config": msgspec.json.encode(config),
            "version": config.version,
            "updated_at": format_ms(config.updated_ms),
        }
        return await put_if_version(self._client, patterns.WRITE_MAIL_CONFIG, item, config.version)


class DynamoMailResultStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def of(
        self, tenant: TenantId, inbox: InboxId, notification: NotificationId, users: Sequence[UserId]
    ) -> Mapping[UserId, MailResult]:
        inbox_keys = [InboxKey(tenant, user, inbox) for user in users]
        partitions = {inbox_partition(key): key.user for key in inbox_keys}
        keys = [_key(inbox_key, notification) for inbox_key in inbox_keys]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_MAILS, keys) if keys else []
        return {partitions[item["PK"]]: _result_from_item(item) for item in found}

    async def claim(self, inbox_key: InboxKey, claimed: MailResult, now_ms: int) -> bool:
        with translate_write_errors:
            # Not repeatable: after an automatic retry, a failed condition could be the effect of our own first attempt.
            return await condition_held(
                self._client.put(
                    patterns.CLAIM_MAIL,
                    _item(inbox_key, claimed),
                    condition=_MAY_CLAIM,
                    names={"#s": "state", "#u": "until"},
                    values={
                        ":deferred": MailState.DEFERRED.value,
                        ":sending": MailState.SENDING.value,
                        ":now": now_ms,
                    },
                )
            )

    async def put(self, inbox_key: InboxKey, result: MailResult) -> None:
        with translate_write_errors:
            await self._client.put(patterns.PUT_MAIL, _item(inbox_key, result), repeatable=True)

    async def page(self, inbox_key: InboxKey, limit: int) -> Sequence[MailResult]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :w)",
            values={":p": inbox_partition(inbox_key), ":w": _FIRST},
            limit=limit,
            backward=True,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_MAILS, query)
        return [_result_from_item(item) for item in page.items]


def _config_key(tenant: TenantId, inbox: InboxId) -> dict[str, ItemValue]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": MAIL_CONFIG_SORT.render(inbox=inbox)}


def _key(inbox_key: InboxKey, notification: NotificationId) -> dict[str, ItemValue]:
    return {"PK": inbox_partition(inbox_key), "SK": MAIL_SORT.render(notification=notification)}


def _item(inbox_key: InboxKey, result: MailResult) -> dict[str, ItemValue]:
    item = _key(inbox_key, result.notification) | {
        "state": result.state.value,
        "at": result.at_ms,
        "attempts": result.attempts,
        "until": result.until_ms or None,
        "reason": result.reason or None,
        "ttl": max(result.at_ms, ulid_ms(result.notification)) // 1000 + _TTL_S,
    }
    return {name: value for name, value in item.items() if value is not None}


def _result_from_item(item: Item) -> MailResult:
    return MailResult(
        notification=NotificationId(item["SK"].rpartition("#")[2]),
        state=MailState(item["state"]),
        at_ms=int(item["at"]),
        attempts=int(item["attempts"]),
        until_ms=int(item.get("until", 0)),
        reason=item.get("reason", ""),
    )
