"""Credentials of push providers in the table `tenants`, encrypted with the tenant's key."""

from collections.abc import Mapping

import msgspec

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    condition_held,
    translate_key_read_errors,
    translate_key_write_errors,
)
from tidings.platform.dynamo.requests import Query
from tidings.push.model import PushKind
from tidings.push.provider_config import ProviderConfig, StoredProvider, provider_kind
from tidings.schema.tables.items.push import PROVIDER_SORT
from tidings.schema.tables.patterns import push as patterns
from tidings.tenants.model import SecretKeyProvider, SecretKeys

_PREFIX = "push#"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ProviderConfig).decode


class DynamoProviderStore:
    def __init__(self, client: DynamoClient, keys: SecretKeyProvider) -> None:
        self._client = client
        self._keys = keys

    async def read(self, tenant: TenantId, /) -> Mapping[PushKind, StoredProvider]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": tenant, ":p": _PREFIX},
            names={"#i": "item"},
        )
        with translate_key_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_PROVIDERS, query)]
        items = [item for page in pages for item in page.items]
        keys = await self._keys.to_read(tenant, [item["config"] for item in items]) if items else None
        found = [_provider_from_item(item, keys) for item in items if keys is not None]
        return {provider_kind(each.config): each for each in found if each is not None}

    async def put(self, tenant: TenantId, provider: StoredProvider, /) -> bool:
        kind, version = provider_kind(provider.config), provider.version
        keys = await self._keys.of(tenant)
        item: dict[str, ItemValue] = {
            "tenant": tenant,
            "item": PROVIDER_SORT.render(provider=kind.value),
            "config": keys.seal_secret(_secret_name(kind.value, version), _encode(provider.config)),
            "version": version,
            "updated_at": format_ms(provider.updated_ms),
        }
        before = version - 1
        with translate_key_write_errors:
            return await condition_held(
                self._client.put(
                    patterns.PUT_PROVIDER,
                    item,
                    condition="version = :v" if before else "attribute_not_exists(tenant)",
                    values={":v": before} if before else None,
                )
            )


def _secret_name(kind: str, version: int) -> str:
    return f"push provider {kind} {version}"


def _provider_from_item(item: Item, keys: SecretKeys) -> StoredProvider | None:
    kind, version = item["item"].removeprefix(_PREFIX), int(item["version"])
    config = keys.open_secret(_secret_name(kind, version), item["config"])
    if config is None:
        return None
    return StoredProvider(config=_decode(config), version=version, updated_ms=parse_ms(item["updated_at"]))
