"""API keys in the table `tenants`."""

from collections.abc import Sequence

from tidings.accounts.api_keys import ApiKey, ApiKeyName
from tidings.accounts.model import Scope
from tidings.accounts.store.failures import unread, unwritten
from tidings.kernel.clock import time_ms, time_text
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Item
from tidings.tables.items.accounts import API_KEY_KEY, TENANT
from tidings.tables.keys import KeyPartError
from tidings.tables.patterns import accounts as patterns

_PREFIX = "key#"


class DynamoApiKeyStore:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def add(self, key: ApiKey, /) -> None:
        at = time_text(key.created_at_ms)
        row = _key(key.name) | {
            "name": key.title,
            "secret_hash": key.secret_hash,
            "scopes": sorted(key.scopes),
            "created_at": at,
            "updated_at": at,
        }
        try:
            # not repeated by itself: who gets no answer issues another one, and this one nobody knows
            await self._client.put(patterns.PUT_API_KEY, row, condition="attribute_not_exists(tenant)")
        except DynamoError as error:
            raise unwritten(error) from error

    async def find(self, name: ApiKeyName, /) -> ApiKey | None:
        try:
            item = await self._client.get(patterns.FIND_API_KEY, _key(name))
        except KeyPartError:
            return None
        except DynamoError as error:
            raise unread(error) from error
        return None if item is None else _key_of(item)

    async def list(self, tenant: TenantId, /) -> Sequence[ApiKey]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": TENANT.render(tenant=tenant), ":p": _PREFIX},
            names={"#i": "item"},
        )
        try:
            pages = [page async for page in self._client.pages(patterns.LIST_API_KEYS, query)]
        except DynamoError as error:
            raise unread(error) from error
        return [_key_of(item) for page in pages for item in page.items]

    async def revoke(self, name: ApiKeyName, at_ms: int, /) -> bool:
        try:
            await self._client.update(
                patterns.REVOKE_API_KEY,
                _key(name),
                "SET revoked_at = if_not_exists(revoked_at, :now), updated_at = :now",
                condition="attribute_exists(tenant)",
                values={":now": time_text(at_ms)},
                repeatable=True,
            )
        except (ConditionFailedError, KeyPartError):
            return False
        except DynamoError as error:
            raise unwritten(error) from error
        return True


def _key(name: ApiKeyName) -> dict[str, object]:
    return {"tenant": TENANT.render(tenant=name.tenant), "item": API_KEY_KEY.render(key=name.key)}


def _key_of(item: Item) -> ApiKey:
    revoked_at = item.get("revoked_at")
    return ApiKey(
        name=ApiKeyName(TenantId(item["tenant"]), item["item"].removeprefix(_PREFIX)),
        title=item["name"],
        # a scope of a later Tidings gives nothing here
        scopes=frozenset(Scope(scope) for scope in item["scopes"] if scope in Scope),
        secret_hash=item["secret_hash"],
        created_at_ms=time_ms(item["created_at"]),
        revoked_at_ms=None if revoked_at is None else time_ms(revoked_at),
    )
