"""What a tenant's new inboxes get, in the table `inbox`: one item, with a version."""

from typing import Final

import msgspec
from msgspec import Struct

from tidings.kernel.clock import time_ms, time_text
from tidings.kernel.ids import TenantId
from tidings.notices.config import Defaults
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import unread
from tidings.platform.dynamo.values import Item, Value
from tidings.platform.dynamo.versions import put_version
from tidings.tables.items.inbox import OF_TENANT, SETTINGS_SORT
from tidings.tables.patterns import notices as patterns


class _Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The item's `settings`. What a later version puts there is not known here, and is lost by a change from here."""

    retention_days: int | None = None
    known_users: bool = False


_decode: Final = msgspec.json.Decoder(_Settings).decode


class DynamoDefaults:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, tenant: TenantId) -> Defaults | None:
        try:
            item = await self._client.get(patterns.READ_SETTINGS, _key(tenant))
        except DynamoError as error:
            unread(error)
        return None if item is None else _defaults_of(item)

    async def write(self, tenant: TenantId, defaults: Defaults) -> bool:
        return await put_version(
            self._client, patterns.WRITE_SETTINGS, _key(tenant) | _attributes(defaults), defaults.version
        )


def _key(tenant: TenantId) -> dict[str, Value]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": SETTINGS_SORT.render()}


def _attributes(defaults: Defaults) -> dict[str, Value]:
    settings = _Settings(retention_days=defaults.retention_days, known_users=defaults.is_for_known_users)
    return {
        "settings": msgspec.json.encode(settings),
        "version": defaults.version,
        "created_at": time_text(defaults.created_ms),
        "updated_at": time_text(defaults.updated_ms),
    }


def _defaults_of(item: Item) -> Defaults:
    settings = _decode(item["settings"])
    return Defaults(
        retention_days=settings.retention_days,
        is_for_known_users=settings.known_users,
        version=int(item["version"]),
        created_ms=time_ms(item["created_at"]),
        updated_ms=time_ms(item["updated_at"]),
    )
