"""Rows of credentials carry a MAC under their tenant's key, so that write access to the table grants no access.

The MAC covers every attribute of the row, its key included. A row that was changed, or copied to another key or
tenant, does not verify. An older version of the same row does: a MAC does not protect against a rollback.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from hmac import compare_digest
from typing import Any, Final, Protocol

from tidings.kernel.ids import TenantId
from tidings.kernel.security import SecurityEventKind, record_security_event
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, ItemValue
from tidings.platform.dynamo.errors import condition_held, translate_write_errors
from tidings.platform.dynamo.operations import AccessPattern

MAC: Final = "mac"
_PURPOSE = b"_row#"


class RowKeys(Protocol):
    async def mac(self, tenant: TenantId, /) -> Callable[[bytes], bytes]:
        """Return the tenant's keyed hash function. Create the tenant's keys if it has none."""
        ...


class AuthenticatedRows:
    """Add and verify the MACs of rows. `unprotected`: attributes that change without a new MAC."""

    def __init__(self, keys: RowKeys, *, unprotected: frozenset[str] = frozenset()) -> None:
        self._keys = keys
        self._unprotected = unprotected | {MAC}

    def without(self, *attributes: str) -> "AuthenticatedRows":
        """Return a copy whose MAC does not cover these attributes."""
        return AuthenticatedRows(self._keys, unprotected=self._unprotected | set(attributes))

    async def sign(self, tenant: TenantId, item: Mapping[str, Any]) -> dict[str, ItemValue]:
        """Return the item with its MAC. Creates the tenant's keys if it has none."""
        return {**item, MAC: await self._mac(tenant, item)}

    async def verified[I: Mapping[str, Any]](self, tenant: TenantId, item: I | None) -> I | None:
        """Return the item, or None if its MAC is invalid. Such a row is logged and treated as absent."""
        if item is None:
            return None
        found = item.get(MAC)
        if isinstance(found, bytes) and compare_digest(found, await self._mac(tenant, item)):
            return item
        name = item.get("item") or item.get("session_id") or item.get("user_id")
        record_security_event(
            SecurityEventKind.ROW_REJECTED,
            tenant=tenant,
            subject=str(name),
            reason="invalid MAC" if found else "no MAC",
        )
        return None

    async def _mac(self, tenant: TenantId, item: Mapping[str, Any]) -> bytes:
        mac = await self._keys.mac(tenant)
        return mac(canonical_bytes(tenant, item, self._unprotected))


def canonical_bytes(tenant: TenantId, item: Mapping[str, Any], unprotected: frozenset[str]) -> bytes:
    """Encode a row. Every value is preceded by its type and length, so different rows have different encodings."""
    parts = [_PURPOSE, *_encode_value(str(tenant))]
    for name in sorted(item.keys() - unprotected):
        parts += _encode_value(name)
        parts += _encode_value(item[name])
    return b"".join(parts)


def _encode_value(value: object) -> Iterator[bytes]:
    match value:
        case bool():
            yield b"b1;" if value else b"b0;"
        case int() | Decimal():
            yield b"n%d;" % int(value)
        case str():
            raw = value.encode()
            yield b"s%d:" % len(raw) + raw
        case bytes():
            yield b"y%d:" % len(value) + value
        case list() | tuple():
            yield b"l%d:" % len(value)
            for each in value:
                yield from _encode_value(each)
        case _:
            raise TypeError(f"A row with a MAC cannot contain {type(value).__name__}.")


async def put_if_version(
    client: DynamoClient, pattern: AccessPattern, item: Attributes, version: int
) -> bool:
    """Put an item of this version if the stored one is the version before, or is absent for version 1.

    Returns False if another writer was faster.
    """
    before = version - 1
    with translate_write_errors:
        return await condition_held(
            client.put(
                pattern,
                item,
                condition="version = :v" if before else "attribute_not_exists(PK)",
                values={":v": before} if before else None,
            )
        )
