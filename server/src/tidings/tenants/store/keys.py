"""Wrapped keys in the table `tenants`."""

from collections.abc import Sequence

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Attributes, Item
from tidings.tables.patterns import accounts as patterns
from tidings.tenants.model import KeyName, WrappedKey

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
        try:
            pages = [page async for page in self._client.pages(patterns.LIST_DATA_KEYS, query)]
        except DynamoError as error:
            raise keys_unavailable(error) from error
        keys = [key_from_item(item) for page in pages for item in page.items]
        return [key for key in keys if key is not None]

    async def add(self, tenant: TenantId, key: WrappedKey, /) -> WrappedKey:
        try:
            # safe to repeat: a put that finds its own item is shown it, and takes it as it would another's
            await self._client.put(
                patterns.PUT_DATA_KEY,
                key_item(tenant, key),
                condition="attribute_not_exists(tenant)",
                repeatable=True,
            )
        except ConditionFailedError as failed:
            there = None if failed.item is None else key_from_item(failed.item)
            if there is None:
                raise keys_unavailable(failed) from failed
            return there
        except DynamoError as error:
            raise keys_unavailable(error) from error
        return key

    async def replace(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, /) -> bool:
        item = key_item(tenant, after)
        try:
            await self._client.update(
                patterns.REPLACE_DATA_KEY,
                {"tenant": item["tenant"], "item": item["item"]},
                "SET wrapped_key = :after, wrapped_by = :by",
                condition="wrapped_key = :before",
                values={":before": before.wrapped, ":after": after.wrapped, ":by": after.wrapped_by},
            )
        except ConditionFailedError:
            return False
        except DynamoError as error:
            raise keys_unavailable(error) from error
        return True


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


def keys_unavailable(error: DynamoError) -> TidingsError:
    return TidingsError(Code.KEYS_UNAVAILABLE, f"The table of the tenants' keys does not answer: {error}")
