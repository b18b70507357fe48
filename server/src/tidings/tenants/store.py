"""Wrapped keys and settings of tenants, in the table `tenants`."""

from collections.abc import Sequence

import msgspec

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    condition_held,
    raise_key_read_error,
    translate_key_read_errors,
    translate_key_write_errors,
)
from tidings.platform.dynamo.protected_rows import MAC, AuthenticatedRows
from tidings.platform.dynamo.requests import Put, Query
from tidings.schema.tables.items.accounts import LISTED_TENANT_KEY, SETTINGS_KEY, SYSTEM, TENANT
from tidings.schema.tables.model import KeyPartError
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.model import KeyName, Tenant, TenantSettings, WrappedKey

_PREFIX = "data_key#"


class DynamoKeyStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def list(self, tenant: TenantId, /) -> Sequence[WrappedKey]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": tenant, ":p": _PREFIX},
            names={"#i": "item"},
        )
        with translate_key_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_DATA_KEYS, query)]
        keys = [key_from_item(item) for page in pages for item in page.items]
        return [key for key in keys if key is not None]

    async def add(self, tenant: TenantId, key: WrappedKey, /) -> WrappedKey:
        try:
            # Safe to repeat: a put that finds its own item returns it, as it would that of another process.
            await self._client.put(
                patterns.PUT_DATA_KEY,
                key_item(tenant, key),
                condition="attribute_not_exists(tenant)",
                repeatable=True,
            )
        except ConditionFailedError as failed:
            stored = None if failed.item is None else key_from_item(failed.item)
            if stored is None:
                raise_key_read_error(failed)
            return stored
        except DynamoError as error:
            raise_key_read_error(error)
        return key

    async def replace(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, /) -> bool:
        item = key_item(tenant, after)
        with translate_key_read_errors:
            return await condition_held(
                self._client.update(
                    patterns.REPLACE_DATA_KEY,
                    {"tenant": item["tenant"], "item": item["item"]},
                    "SET wrapped_key = :after, wrapped_by = :by",
                    condition="wrapped_key = :before",
                    values={":before": before.wrapped, ":after": after.wrapped, ":by": after.wrapped_by},
                )
            )


def key_item(tenant: TenantId, key: WrappedKey) -> Attributes:
    return {
        "tenant": tenant,
        "item": f"{_PREFIX}{key.name}",
        "wrapped_key": key.wrapped,
        "wrapped_by": key.wrapped_by,
        "created_at": format_ms(key.created_at_ms),
    }


def key_from_item(item: Item) -> WrappedKey | None:
    name = KeyName.parse(item["item"].removeprefix(_PREFIX))
    if name is None:
        return None
    return WrappedKey(
        name=name,
        wrapped=item["wrapped_key"],
        wrapped_by=item["wrapped_by"],
        created_at_ms=parse_ms(item["created_at"]),
    )


_LISTED = "tenant#"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TenantSettings).decode


class DynamoTenantStore:
    def __init__(self, client: DynamoClient, rows: AuthenticatedRows) -> None:
        self._client = client
        self._rows = rows

    async def create(self, tenant: TenantId, settings: TenantSettings, at_ms: int, /) -> bool:
        now = format_ms(at_ms)
        row = await self._rows.sign(
            tenant,
            _key(tenant)
            | {
                "name": settings.name,
                "settings": _encode(settings),
                "version": 1,
                "created_at": now,
                "updated_at": now,
            },
        )
        with translate_key_write_errors:
            # Not retried: a retry could not distinguish an existing tenant from its own first attempt.
            created = Put(table="tenants", item=row, condition="attribute_not_exists(tenant)")
            listed = Put(table="tenants", item=_listed_key(tenant) | {"created_at": now})
            return await self._client.try_transact_write(patterns.CREATE_TENANT, [created, listed])

    async def read(self, tenant: TenantId, /) -> Tenant | None:
        try:
            item = await self._client.get(patterns.READ_SETTINGS, _key(tenant))
        except KeyPartError:
            return None
        except DynamoError as error:
            raise_key_read_error(error)
        item = await self._rows.verified(tenant, item)
        return None if item is None else _tenant_from_item(item)

    async def list(self, after: TenantId | None, limit: int, /) -> Sequence[TenantId]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": SYSTEM.render(), ":p": _LISTED},
            names={"#i": "item"},
            limit=limit,
            start=None if after is None else _listed_key(after),
        )
        with translate_key_read_errors:
            page = await self._client.query(patterns.LIST_TENANTS, query)
        return [TenantId(item["item"].removeprefix(_LISTED)) for item in page.items]

    async def update(self, tenant: TenantId, settings: TenantSettings, version: int, at_ms: int, /) -> bool:
        found = await self.read(tenant)
        if found is None or found.version != version:
            return False
        changed = {
            "name": settings.name,
            "settings": _encode(settings),
            "version": version + 1,
            "updated_at": format_ms(at_ms),
        }
        row = _key(tenant) | changed | {"created_at": format_ms(found.created_at_ms)}
        mac = (await self._rows.sign(tenant, row))[MAC]
        with translate_key_write_errors:
            return await condition_held(
                self._client.update(
                    patterns.UPDATE_SETTINGS,
                    _key(tenant),
                    "SET #n = :name, settings = :settings, version = :version, updated_at = :updated_at, mac = :mac",
                    condition="version = :before",
                    names={"#n": "name"},
                    values={":before": version, ":mac": mac}
                    | {f":{name}": value for name, value in changed.items()},
                )
            )


def _key(tenant: TenantId) -> dict[str, object]:
    return {"tenant": TENANT.render(tenant=tenant), "item": SETTINGS_KEY.render()}


def _listed_key(tenant: TenantId) -> dict[str, object]:
    return {"tenant": SYSTEM.render(), "item": LISTED_TENANT_KEY.render(tenant=tenant)}


def _tenant_from_item(item: Item) -> Tenant:
    return Tenant(
        id=TenantId(item["tenant"]),
        settings=_decode(item["settings"]),
        version=int(item["version"]),
        created_at_ms=parse_ms(item["created_at"]),
        updated_at_ms=parse_ms(item["updated_at"]),
    )
