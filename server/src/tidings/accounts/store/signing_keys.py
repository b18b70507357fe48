"""Public keys of tenants in the table `tenants`."""

from collections.abc import Sequence

import msgspec

from tidings.accounts.revocations import Revocation
from tidings.accounts.signing_keys import SigningKey
from tidings.accounts.store.failures import unread, unwritten
from tidings.accounts.store.revocations import put_of
from tidings.kernel.clock import Clock, SystemClock, time_ms, time_text
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Put
from tidings.platform.dynamo.values import Item
from tidings.tables.items.accounts import SIGNING_KEY_KEY, TENANT
from tidings.tables.keys import KeyPartError
from tidings.tables.patterns import accounts as patterns

_PREFIX = "jwk#"


class DynamoSigningKeyStore:
    def __init__(self, client: Client, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()

    async def list(self, tenant: TenantId, /) -> Sequence[SigningKey]:
        query = Query(
            condition="tenant = :t AND begins_with(#i, :p)",
            values={":t": TENANT.render(tenant=tenant), ":p": _PREFIX},
            names={"#i": "item"},
        )
        try:
            pages = [page async for page in self._client.pages(patterns.LIST_SIGNING_KEYS, query)]
        except DynamoError as error:
            raise unread(error) from error
        return [_key_of(item) for page in pages for item in page.items]

    async def add(self, key: SigningKey, /) -> bool:
        try:
            condition = "attribute_not_exists(tenant)"
            await self._client.put(patterns.PUT_SIGNING_KEY, _row(key), condition=condition)
        except ConditionFailedError:
            return False
        except DynamoError as error:
            raise unwritten(error) from error
        return True

    async def retire(self, key: SigningKey, not_after_ms: int, /) -> bool:
        row = _row(key) | {"not_after": time_text(not_after_ms)}
        retired = Put(table="tenants", item=row, condition="jwk = :jwk", values={":jwk": row["jwk"]})
        told = put_of(Revocation(tenant=key.tenant, kid=key.kid, from_ms=not_after_ms), self._clock.now_ms())
        try:
            await self._client.transact_write(patterns.RETIRE_SIGNING_KEY, [retired, told])
        except TransactionCancelledError as cancelled:
            if cancelled.reasons[0].is_condition:
                return False
            raise unwritten(cancelled) from cancelled
        except DynamoError as error:
            raise unwritten(error) from error
        return True


def _row(key: SigningKey) -> dict[str, object]:
    try:
        place = {"tenant": TENANT.render(tenant=key.tenant), "item": SIGNING_KEY_KEY.render(key=key.kid)}
    except KeyPartError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The key's `kid` can't be stored: {error}.") from error
    at = time_text(key.created_at_ms)
    return {**place, "jwk": msgspec.json.encode(key.jwk, order="sorted"), "created_at": at, "updated_at": at}


def _key_of(item: Item) -> SigningKey:
    not_after = item.get("not_after")
    return SigningKey(
        tenant=TenantId(item["tenant"]),
        kid=item["item"].removeprefix(_PREFIX),
        jwk=msgspec.json.decode(item["jwk"]),
        created_at_ms=time_ms(item["created_at"]),
        not_after_ms=None if not_after is None else time_ms(not_after),
    )
