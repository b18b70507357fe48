"""Webhook endpoints in the table `tenants`. Their secrets are encrypted with the tenant's key."""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.kernel.security import Secret
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import (
    condition_held,
    translate_key_read_errors,
    translate_key_write_errors,
)
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.accounts import TENANT
from tidings.schema.tables.items.webhooks import ENDPOINT_KEY
from tidings.schema.tables.patterns import webhooks as patterns
from tidings.webhooks.model import Endpoint, EndpointId, EndpointName, EndpointSettings, SigningSecret

_PREFIX = "hook#"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(EndpointSettings).decode


class SecretSealer(Protocol):
    def seal_secret(self, name: str, secret: bytes) -> bytes: ...

    def open_secret(self, name: str, sealed: bytes) -> bytes | None: ...


class SecretKeys(Protocol):
    """The keys of tenants that encrypt secrets."""

    async def of(self, tenant: TenantId, /) -> SecretSealer: ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> SecretSealer: ...


class DynamoEndpointStore:
    def __init__(self, client: DynamoClient, keys: SecretKeys, rows: AuthenticatedRows) -> None:
        self._client = client
        self._keys = keys
        self._rows = rows

    async def list(self, tenant: TenantId, /) -> Sequence[Endpoint]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": TENANT.render(tenant=tenant), ":p": _PREFIX},
            names={"#i": "item"},
        )
        with translate_key_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_ENDPOINTS, query)]
        found = [await self._opened(tenant, item) for page in pages for item in page.items]
        return [endpoint for endpoint in found if endpoint is not None]

    async def read(self, name: EndpointName, /) -> Endpoint | None:
        with translate_key_read_errors:
            item = await self._client.get(patterns.READ_ENDPOINT, _key(name))
        return None if item is None else await self._opened(name.tenant, item)

    async def put(self, endpoint: Endpoint, /) -> bool:
        tenant, before = endpoint.name.tenant, endpoint.version - 1
        keys = await self._keys.of(tenant)
        place = _place(endpoint.name)
        row = _key(endpoint.name) | {
            "settings": _encode(endpoint.settings),
            "secrets": [keys.seal_secret(place, each.value.reveal().encode()) for each in endpoint.secrets],
            "expiries": [each.expires_at_ms or 0 for each in endpoint.secrets],
            "version": endpoint.version,
            "created_at": format_ms(endpoint.created_at_ms),
            "updated_at": format_ms(endpoint.updated_at_ms),
        }
        signed = await self._rows.sign(tenant, row)
        with translate_key_write_errors:
            return await condition_held(
                self._client.put(
                    patterns.PUT_ENDPOINT,
                    signed,
                    condition="version = :v" if before else "attribute_not_exists(tenant)",
                    values={":v": before} if before else None,
                )
            )

    async def delete(self, name: EndpointName, /) -> None:
        with translate_key_write_errors:
            await self._client.delete(patterns.DELETE_ENDPOINT, _key(name), repeatable=True)

    async def _opened(self, tenant: TenantId, item: Item) -> Endpoint | None:
        """Verify and decrypt a row. None if it was altered: the tenant's server must not receive forged events."""
        verified = await self._rows.verified(tenant, item)
        if verified is None:
            return None
        name = EndpointName(tenant, EndpointId(item["item"].removeprefix(_PREFIX)))
        sealed: Sequence[bytes] = item["secrets"]
        keys = await self._keys.to_read(tenant, sealed)
        opened = [keys.open_secret(_place(name), each) for each in sealed]
        return Endpoint(
            name=name,
            settings=_decode(item["settings"]),
            secrets=tuple(
                SigningSecret(Secret(secret.decode()), int(expiry) or None)
                for secret, expiry in zip(opened, item["expiries"], strict=True)
                if secret is not None
            ),
            version=int(item["version"]),
            created_at_ms=parse_ms(item["created_at"]),
            updated_at_ms=parse_ms(item["updated_at"]),
        )


def _place(name: EndpointName) -> str:
    return f"{_PREFIX}{name.id}"


def _key(name: EndpointName) -> dict[str, object]:
    return {
        "tenant": TENANT.render(tenant=name.tenant),
        "item": ENDPOINT_KEY.render(endpoint=name.id),
    }
