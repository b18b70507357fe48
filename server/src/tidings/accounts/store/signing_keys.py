"""Public keys of tenants in the table `tenants`."""

from collections.abc import Sequence

import msgspec

from tidings.accounts.revocations import Revocation
from tidings.accounts.signing_keys import SigningKey
from tidings.accounts.store.failures import keys_read_error, keys_write_error
from tidings.accounts.store.revocations import revocation_put
from tidings.kernel.clock import Clock, SystemClock, format_ms, parse_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Put
from tidings.platform.dynamo.values import Item
from tidings.tables.items.accounts import SIGNING_KEY_KEY, TENANT
from tidings.tables.keys import KeyPartError
from tidings.tables.patterns import accounts as patterns

_SIGNING_KEY_PREFIX = "jwk#"


class DynamoSigningKeyStore:
    def __init__(self, client: DynamoClient, rows: AuthenticatedRows, clock: Clock | None = None) -> None:
        self._client = client
        self._rows = rows
        self._clock = clock or SystemClock()

    async def list(self, tenant: TenantId, /) -> Sequence[SigningKey]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": TENANT.render(tenant=tenant), ":p": _SIGNING_KEY_PREFIX},
            names={"#i": "item"},
        )
        try:
            pages = [page async for page in self._client.pages(patterns.LIST_SIGNING_KEYS, query)]
        except DynamoError as error:
            raise keys_read_error(error) from error
        items = [await self._rows.verified(tenant, item) for page in pages for item in page.items]
        return [_signing_key_from_item(item) for item in items if item is not None]

    async def add(self, key: SigningKey, /) -> bool:
        signed = await self._rows.sign(key.tenant, _row(key))
        try:
            condition = "attribute_not_exists(tenant)"
            await self._client.put(patterns.PUT_SIGNING_KEY, signed, condition=condition)
        except ConditionFailedError:
            return False
        except DynamoError as error:
            raise keys_write_error(error) from error
        return True

    async def retire(self, key: SigningKey, not_after_ms: int, /) -> bool:
        row = await self._rows.sign(key.tenant, _row(key) | {"not_after": format_ms(not_after_ms)})
        retired = Put(table="tenants", item=row, condition="jwk = :jwk", values={":jwk": row["jwk"]})
        told = revocation_put(
            Revocation(tenant=key.tenant, kid=key.kid, from_ms=not_after_ms), self._clock.now_ms()
        )
        try:
            await self._client.transact_write(patterns.RETIRE_SIGNING_KEY, [retired, told])
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            raise keys_write_error(cancelled) from cancelled
        except DynamoError as error:
            raise keys_write_error(error) from error
        return True


def _row(key: SigningKey) -> dict[str, object]:
    try:
        place = {"tenant": TENANT.render(tenant=key.tenant), "item": SIGNING_KEY_KEY.render(key=key.kid)}
    except KeyPartError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The key's `kid` can't be stored: {error}.") from error
    at = format_ms(key.created_at_ms)
    return {**place, "jwk": msgspec.json.encode(key.jwk, order="sorted"), "created_at": at, "updated_at": at}


def _signing_key_from_item(item: Item) -> SigningKey:
    not_after = item.get("not_after")
    return SigningKey(
        tenant=TenantId(item["tenant"]),
        kid=item["item"].removeprefix(_SIGNING_KEY_PREFIX),
        jwk=msgspec.json.decode(item["jwk"]),
        created_at_ms=parse_ms(item["created_at"]),
        not_after_ms=None if not_after is None else parse_ms(not_after),
    )
