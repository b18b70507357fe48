"""Users and the claims of their phone numbers, in the table `users`."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from msgspec import UNSET

from tidings.accounts.records import Phone, ProfileChange, User
from tidings.kernel.clock import time_ms, time_text
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.transactions import Put
from tidings.platform.dynamo.values import Attributes, Item, Value
from tidings.tables.items.accounts import PHONE, PHONE_CLAIM
from tidings.tables.items.chat import user_key
from tidings.tables.patterns import accounts as patterns

_USERS = "users"
_ABSENT = "attribute_not_exists(user_id)"
_THERE = "attribute_exists(user_id)"


class Created(NamedTuple):
    is_created: bool
    owner: UserId | None = None


class DynamoUsers:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, tenant: TenantId, user: UserId, /) -> User | None:
        return await self._get(patterns.READ_USER, tenant, user)

    async def confirm(self, tenant: TenantId, user: UserId, /) -> User | None:
        return await self._get(patterns.CONFIRM_USER, tenant, user)

    async def read_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        return await self._get_many(patterns.READ_USERS, tenant, users)

    async def confirm_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        return await self._get_many(patterns.CONFIRM_USERS, tenant, users)

    async def owner(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        try:
            claim = await self._client.get(patterns.FIND_CLAIM, claim_key(tenant, phone))
        except DynamoError as error:
            unread(error)
        return None if claim is None else UserId(claim["owner"])

    async def create(self, user: User, /) -> Created:
        if user.phone is None:
            return await self._create_alone(user)
        claim = claim_key(user.tenant, user.phone) | {
            "owner": user.user,
            "created_at": time_text(user.created_at_ms),
        }
        actions = [
            Put(table=_USERS, item=item_of(user), condition=_ABSENT),
            Put(table=_USERS, item=claim, condition=_ABSENT),
        ]
        try:
            await self._client.transact_write(patterns.CREATE_WITH_PHONE, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            return _what_stands(user, cancelled)
        except DynamoError as error:
            unwritten(error)
        return Created(is_created=True)

    async def change(
        self, tenant: TenantId, user: UserId, change: ProfileChange, now_ms: int, /
    ) -> User | None:
        update, values = _update_of(change, now_ms)
        try:
            written = await self._client.update(
                patterns.UPDATE_USER,
                key(tenant, user),
                update,
                condition=_THERE,
                values=values,
                returns="ALL_NEW",
                repeatable=True,
            )
        except ConditionFailedError:
            return None
        except DynamoError as error:
            unwritten(error)
        return None if written.attributes is None else user_of(written.attributes)

    async def end_sessions(self, tenant: TenantId, user: UserId, /) -> bool:
        try:
            # raised twice by a repeat is as good as once
            await self._client.update(
                patterns.END_SESSIONS,
                key(tenant, user),
                "ADD sessions_epoch :one",
                condition=_THERE,
                values={":one": 1},
                repeatable=True,
            )
        except ConditionFailedError:
            return False
        except DynamoError as error:
            unwritten(error)
        return True

    async def _create_alone(self, user: User) -> Created:
        item = item_of(user)
        try:
            await self._client.put(patterns.CREATE_USER, item, condition=_ABSENT, repeatable=True)
        except ConditionFailedError as failed:
            return Created(is_created=failed.maybe_applied and failed.item == item)
        except DynamoError as error:
            unwritten(error)
        return Created(is_created=True)

    async def _get_many(
        self, pattern: AccessPattern, tenant: TenantId, users: Collection[UserId]
    ) -> Mapping[UserId, User]:
        keys = [key(tenant, user) for user in dict.fromkeys(users)]
        try:
            found = await self._client.batch_get(pattern, keys) if keys else []
        except DynamoError as error:
            unread(error)
        rows = (user_of(item) for item in found)
        return {row.user: row for row in rows}

    async def _get(self, pattern: AccessPattern, tenant: TenantId, user: UserId) -> User | None:
        try:
            item = await self._client.get(pattern, key(tenant, user))
        except DynamoError as error:
            unread(error)
        return None if item is None else user_of(item)


def _what_stands(user: User, cancelled: TransactionCancelledError) -> Created:
    """After a try that was not answered, what stands in the way may be our own."""
    row, claim = cancelled.reasons
    if not row.is_condition and not claim.is_condition:
        unwritten(cancelled)
    owner = None if claim.item is None else UserId(claim.item["owner"])
    if cancelled.maybe_applied and owner == user.user and row.item == item_of(user):
        return Created(is_created=True)
    return Created(is_created=False, owner=owner)


def _update_of(change: ProfileChange, now_ms: int) -> tuple[str, Attributes]:
    # what everybody has is not written down
    last_seen = None if change.last_seen == "members" else change.last_seen
    given = {
        "display_name": change.display_name,
        "avatar_uri": change.avatar_uri,
        "last_seen": last_seen,
    }
    values: dict[str, Value] = {":now": time_text(now_ms)}
    sets, removes = ["updated_at = :now"], []
    for name, value in given.items():
        if isinstance(value, str):
            sets.append(f"{name} = :{name}")
            values[f":{name}"] = value
        elif value is not UNSET:
            removes.append(name)
    update = "SET " + ", ".join(sets)
    return (f"{update} REMOVE {', '.join(removes)}" if removes else update), values


def key(tenant: TenantId, user: UserId) -> dict[str, Value]:
    return {"user_id": user_key(tenant, user)}


def claim_key(tenant: TenantId, phone: Phone) -> dict[str, Value]:
    return {"user_id": PHONE_CLAIM.render(tenant=tenant, phone=phone)}


def item_of(user: User) -> dict[str, Value]:
    item = key(user.tenant, user.user) | {
        "sessions_epoch": user.sessions_epoch,
        "created_at": time_text(user.created_at_ms),
        "updated_at": time_text(user.updated_at_ms),
    }
    if user.phone is not None:
        item |= {"phone_number": PHONE.render(tenant=user.tenant, phone=user.phone), "phone_verified": True}
    hides = "nobody" if user.last_seen == "nobody" else None
    profile = {"display_name": user.display_name, "avatar_uri": user.avatar_uri, "last_seen": hides}
    return item | {name: value for name, value in profile.items() if value is not None}


def user_of(item: Item) -> User:
    tenant, _, user = item["user_id"].partition("#")
    phone = item.get("phone_number")
    return User(
        tenant=TenantId(tenant),
        user=UserId(user),
        phone=None if phone is None else Phone(phone.partition("#")[2]),
        display_name=item.get("display_name"),
        avatar_uri=item.get("avatar_uri"),
        last_seen="nobody" if item.get("last_seen") == "nobody" else "members",
        sessions_epoch=int(item.get("sessions_epoch", 0)),
        created_at_ms=time_ms(item["created_at"]),
        updated_at_ms=time_ms(item["updated_at"]),
    )
