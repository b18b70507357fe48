"""Shown alerts and push preferences in the table `devices`."""

import msgspec

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.push.model import PushPreferences, ShownAlert
from tidings.push.ports import AlertState
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.items.push import ALERT_SORT, PREFERENCES_SORT
from tidings.schema.tables.patterns import push as patterns

_TTL_S = 30 * 86_400
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PushPreferences).decode


class DynamoAlertStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, chat: ChatKey, user: UserId, /) -> AlertState:
        alert, preferences = _alert_key(chat, user), _preferences_key(chat.tenant, user)
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_ALERT_STATE, [alert, preferences])
        items = {item["item"]: item for item in found}
        return AlertState(
            _alert_from_item(items.get(str(alert["item"]))),
            _preferences_from_item(items.get(str(preferences["item"]))),
        )

    async def preferences(self, tenant: TenantId, user: UserId, /) -> PushPreferences:
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_ALERT_STATE, [_preferences_key(tenant, user)])
        return _preferences_from_item(found[0] if found else None)

    async def raise_alert(self, chat: ChatKey, user: UserId, alert: ShownAlert, /) -> None:
        with translate_write_errors:
            # A failed condition means that a newer message is shown: this one must not replace it.
            await condition_held(
                self._client.update(
                    patterns.RAISE_ALERT,
                    _alert_key(chat, user),
                    "SET #s = :s, alerted_ms = :ms, alerted_sequence = :a, #ttl = :ttl",
                    condition="attribute_not_exists(#s) OR #s <= :s",
                    names={"#s": "sequence", "#ttl": "ttl"},
                    values={
                        ":s": alert.sequence,
                        ":ms": alert.alerted_ms,
                        ":a": alert.alerted_sequence,
                        ":ttl": alert.alerted_ms // 1000 + _TTL_S,
                    },
                    repeatable=True,
                )
            )

    async def withdraw(self, chat: ChatKey, user: UserId, sequence: int, /) -> None:
        with translate_write_errors:
            await condition_held(
                self._client.update(
                    patterns.WITHDRAW_ALERT,
                    _alert_key(chat, user),
                    "SET withdrawn = :s",
                    condition="attribute_exists(user_id) AND (attribute_not_exists(withdrawn) OR withdrawn < :s)",
                    values={":s": sequence},
                    repeatable=True,
                )
            )

    async def put_preferences(
        self, tenant: TenantId, user: UserId, preferences: PushPreferences, now_ms: int, /
    ) -> None:
        item = _preferences_key(tenant, user) | {
            "settings": _encode(preferences),
            "updated_at": format_ms(now_ms),
        }
        with translate_write_errors:
            await self._client.put(patterns.PUT_PREFERENCES, item, repeatable=True)


def _alert_key(chat: ChatKey, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(chat.tenant, user), "item": ALERT_SORT.render(chat=chat.chat)}


def _preferences_key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user), "item": PREFERENCES_SORT.render()}


def _alert_from_item(item: Item | None) -> ShownAlert | None:
    if item is None:
        return None
    return ShownAlert(
        sequence=int(item["sequence"]),
        alerted_sequence=int(item["alerted_sequence"]),
        alerted_ms=int(item["alerted_ms"]),
        withdrawn=int(item.get("withdrawn", 0)),
    )


def _preferences_from_item(item: Item | None) -> PushPreferences:
    return PushPreferences() if item is None else _decode(item["settings"])
