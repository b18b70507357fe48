"""Wrapped keys of users in the table `user_keys`, and the list of erased users in the table `erasures`."""

from collections.abc import AsyncIterator, Collection, Mapping

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.accounts import ERASURE_KEY, TENANT
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.model import UserKeyRow

_KEPT_S = 400 * 86_400
"""How long an erasure is listed: longer than any backup is kept."""


class DynamoUserKeyStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(
        self, tenant: TenantId, users: Collection[UserId], /, *, is_strong: bool
    ) -> Mapping[UserId, UserKeyRow]:
        pattern = patterns.CONFIRM_USER_KEYS if is_strong else patterns.READ_USER_KEYS
        try:
            items = await self._client.batch_get(pattern, [_key(tenant, user) for user in users])
        except DynamoError as error:
            raise _unavailable(error) from error
        return {UserId(item["user_id"].partition("#")[2]): _row_from_item(item) for item in items}

    async def add(
        self, tenant: TenantId, user: UserId, before: UserKeyRow, wrapped: bytes, at_ms: int, /
    ) -> UserKeyRow:
        keys = (*before.wrapped, wrapped)
        item = _key(tenant, user) | {
            "wrapped_keys": list(keys),
            "newest": len(keys),
            "rotated_at": format_ms(at_ms),
        }
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
                raise _unavailable(failed) from failed
            return _row_from_item(failed.item)
        except DynamoError as error:
            raise _unavailable(error) from error
        return UserKeyRow(keys, at_ms)

    async def destroy(self, tenant: TenantId, user: UserId, at_ms: int, /) -> None:
        # The list first: a process that dies in between leaves keys that the next attempt destroys. In the other order,
        # a restore would bring the keys back.
        erasure = {
            "tenant": TENANT.render(tenant=tenant),
            "erasure": ERASURE_KEY.render(at_ms=at_ms, user=user),
            "ttl": at_ms // 1000 + _KEPT_S,
        }
        try:
            await self._client.put(patterns.PUT_ERASURE, erasure, repeatable=True)
        except DynamoError as error:
            raise _unavailable(error) from error
        await self._destroy(tenant, user, at_ms)

    async def _destroy(self, tenant: TenantId, user: UserId, at_ms: int) -> None:
        row = _key(tenant, user) | {"erased_at": format_ms(at_ms)}
        try:
            await self._client.put(patterns.DESTROY_USER_KEYS, row, repeatable=True)
        except DynamoError as error:
            raise _unavailable(error) from error

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
        """List the users who were erased since a time, with the time of each erasure."""
        query = Query(
            condition="tenant = :tenant AND erasure >= :since",
            values={":tenant": TENANT.render(tenant=tenant), ":since": f"{max(since_ms, 0):013d}"},
        )
        try:
            async for page in self._client.pages(patterns.LIST_ERASURES, query):
                for item in page.items:
                    at_ms, _, user = item["erasure"].partition("#")
                    yield UserId(user), int(at_ms)
        except DynamoError as error:
            raise _unavailable(error) from error


def _key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user)}


def _row_from_item(item: Item) -> UserKeyRow:
    if "erased_at" in item:
        return UserKeyRow((), 0, is_destroyed=True)
    return UserKeyRow(tuple(item["wrapped_keys"]), parse_ms(item["rotated_at"]))


def _unavailable(error: DynamoError) -> TidingsError:
    return TidingsError(Code.KEYS_UNAVAILABLE, f"The table `user_keys` is unavailable: {error}")
