"""Erase the row of a user: refuse the id, then delete the profile. Every call can be repeated."""

from typing import Final

from tidings.accounts.model import Revocation
from tidings.accounts.store.sessions import revocation_put
from tidings.accounts.store.user_items import ERASED, account_key, claim_key
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Delete, Put, TransactAction, Update
from tidings.schema.tables.items.accounts import LISTED_TENANT_KEY, SETTINGS_KEY, SYSTEM, TENANT
from tidings.schema.tables.items.inboxes import profile_key
from tidings.schema.tables.patterns import accounts as patterns
from tidings.schema.tables.patterns import erasure as erase_patterns
from tidings.schema.tables.patterns.tenant_deletion import FENCE_TENANT

_USERS: Final = "users"
_FENCE: Final = (
    f"SET {ERASED} = :yes, suspended_at = :now, not_before = :now, updated_at = :now, "
    "created_at = if_not_exists(created_at, :now) ADD sessions_epoch :one"
)
_PROFILE: Final = (
    "phone_number",
    "phone",
    "phone_verified",
    "display_name",
    "avatar_uri",
    "email",
    "email_refused",
    "locale",
    "last_seen",
    "phone_search",
)


class DynamoUserEraser:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def fence(self, tenant: TenantId, user: UserId, at_ms: int, /) -> None:
        change = Update(
            table=_USERS,
            key=account_key(tenant, user),
            update=_FENCE,
            values={":yes": True, ":now": format_ms(at_ms), ":one": 1},
        )
        revocation = revocation_put(Revocation(tenant=tenant, user=user, from_ms=at_ms), at_ms)
        with translate_write_errors:
            await self._client.transact_write(
                erase_patterns.FENCE_USER, [change, revocation], repeatable=True
            )

    async def fence_tenant(self, tenant: TenantId, at_ms: int, /) -> None:
        now = format_ms(at_ms)
        settings = {"tenant": TENANT.render(tenant=tenant), "item": SETTINGS_KEY.render()}
        listed = {"tenant": SYSTEM.render(), "item": LISTED_TENANT_KEY.render(tenant=tenant)}
        actions: list[TransactAction] = [
            Put(table="tenants", item=settings | {"deleted_at": now, "created_at": now}),
            Delete(table="tenants", key=listed),
            revocation_put(Revocation(tenant=tenant, from_ms=at_ms), at_ms),
        ]
        with translate_write_errors:
            await self._client.transact_write(FENCE_TENANT, actions, repeatable=True)

    async def empty(self, tenant: TenantId, user: UserId, /) -> None:
        with translate_read_errors:
            row = await self._client.get(patterns.CONFIRM_USER, account_key(tenant, user))
        number = None if row is None else row.get("phone_number")
        if number is not None:
            await self._release(tenant, user, number.partition("#")[2])
        emptied: list[TransactAction] = [
            Update(
                table=_USERS,
                key=account_key(tenant, user),
                update=f"REMOVE {', '.join(_PROFILE)}",
                condition=f"attribute_exists({ERASED})",
            ),
            Delete(table="inbox", key=profile_key(tenant, user)),
        ]
        with translate_write_errors:
            await self._client.transact_write(erase_patterns.ERASE_USER, emptied, repeatable=True)

    async def _release(self, tenant: TenantId, user: UserId, number: str) -> None:
        """Delete the claim, before the row that names it. After a kill, another user may have the number already."""
        with translate_write_errors:
            await condition_held(
                self._client.delete(
                    erase_patterns.ERASE_CLAIM,
                    claim_key(tenant, number),
                    condition="#o = :user",
                    names={"#o": "owner"},
                    values={":user": user},
                    repeatable=True,
                )
            )
