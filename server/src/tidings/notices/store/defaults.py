"""What a tenant's new inboxes get, in the table `inbox`: one item, with a version."""

from typing import Final

import msgspec
from msgspec import Struct

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.notices.config import InboxDefaults
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.platform.dynamo.versions import put_if_version
from tidings.tables.items.inbox import OF_TENANT, SETTINGS_SORT
from tidings.tables.patterns import notices as patterns


class _Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The item's `settings`. What a later version puts there is not known here, and is lost by a change from here."""

    retention_days: int | None = None
    known_users: bool = False


_decode_defaults: Final = msgspec.json.Decoder(_Settings).decode


class DynamoDefaultsStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId) -> InboxDefaults | None:
        try:
            item = await self._client.get(patterns.READ_SETTINGS, _defaults_key(tenant))
        except DynamoError as error:
            raise_read_error(error)
        return None if item is None else _defaults_from_item(item)

    async def write(self, tenant: TenantId, defaults: InboxDefaults) -> bool:
        return await put_if_version(
            self._client,
            patterns.WRITE_SETTINGS,
            _defaults_key(tenant) | _attributes(defaults),
            defaults.version,
        )


def _defaults_key(tenant: TenantId) -> dict[str, ItemValue]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": SETTINGS_SORT.render()}


def _attributes(defaults: InboxDefaults) -> dict[str, ItemValue]:
    settings = _Settings(retention_days=defaults.retention_days, known_users=defaults.is_for_known_users)
    return {
        "settings": msgspec.json.encode(settings),
        "version": defaults.version,
        "created_at": format_ms(defaults.created_ms),
        "updated_at": format_ms(defaults.updated_ms),
    }


def _defaults_from_item(item: Item) -> InboxDefaults:
    settings = _decode_defaults(item["settings"])
    return InboxDefaults(
        retention_days=settings.retention_days,
        is_for_known_users=settings.known_users,
        version=int(item["version"]),
        created_ms=parse_ms(item["created_at"]),
        updated_ms=parse_ms(item["updated_at"]),
    )
