"""Wrapped keys and settings of tenants, wrapped keys of users, and the list of erased users."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence

import msgspec

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    condition_held,
    raise_key_read_error,
    translate_key_read_errors,
    translate_key_write_errors,
)
from tidings.platform.dynamo.protected_rows import MAC, AuthenticatedRows
from tidings.platform.dynamo.requests import Check, Put, Query
from tidings.schema.tables.items.accounts import LISTED_TENANT_KEY, SETTINGS_KEY, SYSTEM, TENANT
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.items.erasure import ERASURE_KEY
from tidings.schema.tables.model import KeyPartError
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.model import KeyName, Tenant, TenantSettings, UserKeyRow, WrappedKey

_PREFIX = "data_key#"
_DELETED = "deleted_at"
"""Marks the tombstone of a deleted tenant."""


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
        added = Put(table="tenants", item=key_item(tenant, key), condition="attribute_not_exists(tenant)")
        exists = Check(
            table="tenants",
            key={"tenant": tenant, "item": SETTINGS_KEY.render()},
            condition=f"attribute_not_exists({_DELETED})",
        )
        try:
            # Safe to repeat: a put that finds its own item returns it, as it would that of another process.
            await self._client.transact_write(patterns.PUT_DATA_KEY, [added, exists], repeatable=True)
        except TransactionCancelledError as cancelled:
            of_key, of_tenant = cancelled.reasons
            if of_tenant.is_condition:
                # A process may still read rows of the deleted tenant. No process can open later what this key seals.
                return key
            stored = key_from_item(of_key.item) if of_key.is_condition and of_key.item else None
            if stored is None:
                raise_key_read_error(cancelled)
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
        # Not verified: this would create keys of the deleted tenant again.
        if item is not None and _DELETED in item:
            return None
        item = await self._rows.verified(tenant, item)
        return None if item is None else _tenant_from_item(item)

    async def is_deleted(self, tenant: TenantId, /) -> bool:
        with translate_key_read_errors:
            item = await self._client.get(patterns.READ_SETTINGS, _key(tenant))
        return item is not None and _DELETED in item

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


_ERASURE_KEPT_S = 400 * 86_400
"""How long an erasure is listed: longer than any backup is kept."""


class DynamoUserKeyStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(
        self, tenant: TenantId, users: Collection[UserId], /, *, is_strong: bool
    ) -> Mapping[UserId, UserKeyRow]:
        pattern = patterns.CONFIRM_USER_KEYS if is_strong else patterns.READ_USER_KEYS
        with translate_key_read_errors:
            items = await self._client.batch_get(pattern, [_user_key(tenant, user) for user in users])
        return {UserId(item["user_id"].partition("#")[2]): _user_keys_from_item(item) for item in items}

    async def add(self, tenant: TenantId, user: UserId, before: UserKeyRow, wrapped: bytes, /) -> UserKeyRow:
        keys = (*before.wrapped, wrapped)
        item = _user_key(tenant, user) | {"wrapped_keys": list(keys), "newest": len(keys)}
        try:
            # Safe to repeat: a put that finds its own item returns it, as it would that of another process.
            await self._client.put(
                patterns.PUT_USER_KEY,
                item,
                condition="newest = :before" if before.wrapped else "attribute_not_exists(user_id)",
                values={":before": len(before.wrapped)} if before.wrapped else None,
                repeatable=True,
            )
        except ConditionFailedError as failed:
            if failed.item is None:
                raise_key_read_error(failed)
            return _user_keys_from_item(failed.item)
        except DynamoError as error:
            raise_key_read_error(error)
        return UserKeyRow(keys)

    async def destroy(self, tenant: TenantId, user: UserId, at_ms: int, /) -> None:
        # The list first: a process that dies in between leaves keys that the next attempt destroys. In the other order,
        # a restore would bring the keys back.
        erasure = {
            "tenant": TENANT.render(tenant=tenant),
            "erasure": ERASURE_KEY.render(at_ms=at_ms, user=user),
            "ttl": at_ms // 1000 + _ERASURE_KEPT_S,
        }
        with translate_key_read_errors:
            await self._client.put(patterns.PUT_ERASURE, erasure, repeatable=True)
        await self._destroy(tenant, user, at_ms)

    async def _destroy(self, tenant: TenantId, user: UserId, at_ms: int) -> None:
        row = _user_key(tenant, user) | {"erased_at": format_ms(at_ms)}
        with translate_key_read_errors:
            await self._client.put(patterns.DESTROY_USER_KEYS, row, repeatable=True)

    async def destroy_again(self, tenant: TenantId, since_ms: int) -> int:
        """Destroy the keys of all users of a tenant who were erased since a time. Return their number.

        After a restore, `user_keys` may have their keys again, as of the backup.
        """
        count = 0
        async for user, at_ms in self.erased(tenant, since_ms):
            await self._destroy(tenant, user, at_ms)
            count += 1
        return count

    async def erased(self, tenant: TenantId, since_ms: int) -> AsyncIterator[tuple[UserId, int]]:
        """List the users whose erasure was requested since a time, with this time. Requests that wait for an approval are not listed."""
        query = Query(
            condition="tenant = :tenant AND erasure >= :since",
            values={":tenant": TENANT.render(tenant=tenant), ":since": f"{max(since_ms, 0):013d}"},
        )
        with translate_key_read_errors:
            async for page in self._client.pages(patterns.LIST_ERASURES, query):
                for item in page.items:
                    if "waiting" in item:
                        continue
                    at_ms, _, user = item["erasure"].partition("#")
                    yield UserId(user), int(at_ms)


def _user_key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user)}


def _user_keys_from_item(item: Item) -> UserKeyRow:
    if "erased_at" in item:
        return UserKeyRow((), is_destroyed=True)
    return UserKeyRow(tuple(item["wrapped_keys"]))
