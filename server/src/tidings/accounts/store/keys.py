"""API keys and signing keys in the table `tenants`."""

from collections.abc import Sequence

import msgspec

from tidings.accounts.api_keys import ApiKey, ApiKeyName
from tidings.accounts.model import Revocation, Scope
from tidings.accounts.signing_keys import SigningKey
from tidings.accounts.store.sessions import revocation_put
from tidings.kernel.clock import Clock, SystemClock, format_ms, parse_ms, parse_ms_or_none
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    condition_held,
    raise_key_read_error,
    raise_key_write_error,
    translate_key_read_errors,
    translate_key_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.protected_rows import MAC, AuthenticatedRows
from tidings.platform.dynamo.requests import Put, Query
from tidings.schema.tables.items.accounts import API_KEY_KEY, SIGNING_KEY_KEY, TENANT
from tidings.schema.tables.model import KeyPartError
from tidings.schema.tables.patterns import accounts as patterns

_API_KEY_PREFIX = "key#"


class DynamoApiKeyStore:
    def __init__(self, client: DynamoClient, rows: AuthenticatedRows) -> None:
        self._client = client
        # The MAC does not cover the last use, which changes often. A forged time there gives no access.
        self._rows = rows.without("last_used_at")

    async def add(self, key: ApiKey, /) -> None:
        at = format_ms(key.created_at_ms)
        row = _key(key.name) | {
            "name": key.title,
            "secret_hash": key.secret_hash,
            "scopes": sorted(key.scopes),
            "created_at": at,
            "updated_at": at,
        }
        if key.expires_at_ms is not None:
            row["expires_at"] = format_ms(key.expires_at_ms)
        signed = await self._rows.sign(key.name.tenant, row)
        with translate_key_write_errors:
            # Not retried: after a lost answer the operator issues another key, and this secret is unknown to all.
            await self._client.put(patterns.PUT_API_KEY, signed, condition="attribute_not_exists(tenant)")

    async def find(self, name: ApiKeyName, /) -> ApiKey | None:
        item = await self._find(name)
        return None if item is None else _api_key_from_item(item)

    async def list(self, tenant: TenantId, /) -> Sequence[ApiKey]:
        items = await _list_items(self._client, patterns.LIST_API_KEYS, tenant, _API_KEY_PREFIX)
        verified = [await self._rows.verified(tenant, item) for item in items]
        return [_api_key_from_item(item) for item in verified if item is not None]

    async def revoke(self, name: ApiKeyName, at_ms: int, /) -> bool:
        item = await self._find(name)
        if item is None or "revoked_at" in item:
            return item is not None
        now = format_ms(at_ms)
        mac = (await self._rows.sign(name.tenant, {**item, "revoked_at": now, "updated_at": now}))[MAC]
        try:
            await self._client.update(
                patterns.REVOKE_API_KEY,
                _key(name),
                "SET revoked_at = :now, updated_at = :now, mac = :mac",
                condition="mac = :before",
                values={":now": now, ":mac": mac, ":before": item[MAC]},
                repeatable=True,
            )
        except ConditionFailedError as failed:
            # Race: another operator revoked the key first, or our own first attempt did before its answer was lost.
            return await self._rows.verified(name.tenant, failed.item) is not None
        except DynamoError as error:
            raise_key_write_error(error)
        return True

    async def use(self, name: ApiKeyName, at_ms: int, before_ms: int, /) -> None:
        try:
            await self._client.update(
                patterns.USE_API_KEY,
                _key(name),
                "SET last_used_at = :now",
                condition="attribute_exists(tenant) AND (attribute_not_exists(last_used_at) OR last_used_at < :before)",
                values={":now": format_ms(at_ms), ":before": format_ms(before_ms)},
                repeatable=True,
            )
        except ConditionFailedError:
            return
        except DynamoError as error:
            raise_key_write_error(error)

    async def _find(self, name: ApiKeyName) -> Item | None:
        try:
            item = await self._client.get(patterns.FIND_API_KEY, _key(name))
        except KeyPartError:
            return None
        except DynamoError as error:
            raise_key_read_error(error)
        return await self._rows.verified(name.tenant, item)


async def _list_items(
    client: DynamoClient, pattern: AccessPattern, tenant: TenantId, prefix: str
) -> list[Item]:
    query = Query(
        condition="tenant = :t AND begins_with(#i, :p)",
        values={":t": TENANT.render(tenant=tenant), ":p": prefix},
        names={"#i": "item"},
    )
    with translate_key_read_errors:
        return [item async for page in client.pages(pattern, query) for item in page.items]


def _key(name: ApiKeyName) -> dict[str, object]:
    return {"tenant": TENANT.render(tenant=name.tenant), "item": API_KEY_KEY.render(key=name.key)}


def _api_key_from_item(item: Item) -> ApiKey:
    return ApiKey(
        name=ApiKeyName(TenantId(item["tenant"]), item["item"].removeprefix(_API_KEY_PREFIX)),
        title=item["name"],
        # Ignore scopes of newer versions.
        scopes=frozenset(Scope(scope) for scope in item["scopes"] if scope in Scope),
        secret_hash=item["secret_hash"],
        created_at_ms=parse_ms(item["created_at"]),
        revoked_at_ms=parse_ms_or_none(item.get("revoked_at")),
        expires_at_ms=parse_ms_or_none(item.get("expires_at")),
        last_used_at_ms=parse_ms_or_none(item.get("last_used_at")),
    )


_SIGNING_KEY_PREFIX = "jwk#"


class DynamoSigningKeyStore:
    def __init__(self, client: DynamoClient, rows: AuthenticatedRows, clock: Clock | None = None) -> None:
        self._client = client
        self._rows = rows
        self._clock = clock or SystemClock()

    async def list(self, tenant: TenantId, /) -> Sequence[SigningKey]:
        items = await _list_items(self._client, patterns.LIST_SIGNING_KEYS, tenant, _SIGNING_KEY_PREFIX)
        verified = [await self._rows.verified(tenant, item) for item in items]
        return [_signing_key_from_item(item) for item in verified if item is not None]

    async def add(self, key: SigningKey, /) -> bool:
        signed = await self._rows.sign(key.tenant, _row(key))
        with translate_key_write_errors:
            return await condition_held(
                self._client.put(patterns.PUT_SIGNING_KEY, signed, condition="attribute_not_exists(tenant)")
            )

    async def retire(self, key: SigningKey, not_after_ms: int, /) -> bool:
        row = await self._rows.sign(key.tenant, _row(key) | {"not_after": format_ms(not_after_ms)})
        retired = Put(table="tenants", item=row, condition="jwk = :jwk", values={":jwk": row["jwk"]})
        revocation = revocation_put(
            Revocation(tenant=key.tenant, kid=key.kid, from_ms=not_after_ms), self._clock.now_ms()
        )
        with translate_key_write_errors:
            return await self._client.try_transact_write(patterns.RETIRE_SIGNING_KEY, [retired, revocation])


def _row(key: SigningKey) -> dict[str, object]:
    try:
        row = {"tenant": TENANT.render(tenant=key.tenant), "item": SIGNING_KEY_KEY.render(key=key.kid)}
    except KeyPartError as error:
        raise TidingsError(
            Code.REQUEST_INVALID, f"The `kid` of the key cannot be stored: {error}."
        ) from error
    at = format_ms(key.created_at_ms)
    return {**row, "jwk": msgspec.json.encode(key.jwk, order="sorted"), "created_at": at, "updated_at": at}


def _signing_key_from_item(item: Item) -> SigningKey:
    return SigningKey(
        tenant=TenantId(item["tenant"]),
        kid=item["item"].removeprefix(_SIGNING_KEY_PREFIX),
        jwk=msgspec.json.decode(item["jwk"]),
        created_at_ms=parse_ms(item["created_at"]),
        not_after_ms=parse_ms_or_none(item.get("not_after")),
    )
