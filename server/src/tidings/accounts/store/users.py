"""Users, and the claims of their phone numbers, in the table `users`."""

from collections.abc import Collection, Mapping

from msgspec import UNSET

from tidings.accounts.model import Phone, ProfileChange, Revocation, User
from tidings.accounts.ports import CreateUserResult, DirectoryPage
from tidings.accounts.store.sessions import revocation_put
from tidings.kernel.clock import format_ms, parse_ms, parse_ms_or_none
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.dynamo.requests import Put, Query, TransactAction, Update
from tidings.schema.tables.items.accounts import PHONE, PHONE_CLAIM
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.items.inboxes import OF_BUCKET, PROFILE_SORT, profile_key
from tidings.schema.tables.patterns import accounts as patterns

_USERS = "users"
_ABSENT = "attribute_not_exists(user_id)"
_EXISTS = "attribute_exists(user_id)"
_SORT_PREFIX = PROFILE_SORT.text.partition("{")[0]
_UNSUSPEND = "SET updated_at = :now REMOVE suspended_at"


class DynamoUserReader:
    """Read users. Needs no keys: only claims of phone numbers carry a MAC."""

    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, user: UserId, /) -> User | None:
        return await self._get(patterns.READ_USER, tenant, user)

    async def confirm(self, tenant: TenantId, user: UserId, /) -> User | None:
        return await self._get(patterns.CONFIRM_USER, tenant, user)

    async def read_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        return await self._get_many(patterns.READ_USERS, tenant, users)

    async def confirm_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        return await self._get_many(patterns.CONFIRM_USERS, tenant, users)

    async def _get_many(
        self, pattern: AccessPattern, tenant: TenantId, users: Collection[UserId]
    ) -> Mapping[UserId, User]:
        keys = [account_key(tenant, user) for user in dict.fromkeys(users)]
        with translate_read_errors:
            found = await self._client.batch_get(pattern, keys) if keys else []
        rows = (user_from_item(item) for item in found)
        return {row.user: row for row in rows}

    async def _get(self, pattern: AccessPattern, tenant: TenantId, user: UserId) -> User | None:
        with translate_read_errors:
            item = await self._client.get(pattern, account_key(tenant, user))
        return None if item is None else user_from_item(item)


class DynamoUserStore(DynamoUserReader):
    def __init__(self, client: DynamoClient, rows: AuthenticatedRows) -> None:
        super().__init__(client)
        self._rows = rows

    async def owner(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        with translate_read_errors:
            claim = await self._client.get(patterns.FIND_CLAIM, claim_key(tenant, phone))
        return await self._owner_in(tenant, claim)

    async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        number = PHONE.render(tenant=tenant, phone=phone)
        query = Query(condition="phone_number = :p", values={":p": number}, limit=1)
        with translate_read_errors:
            page = await self._client.query(patterns.FIND_BY_PHONE, query)
        return UserId(page.items[0]["user_id"].partition("#")[2]) if page.items else None

    async def create(self, user: User, /) -> CreateUserResult:
        actions: list[TransactAction] = [
            Put(table=_USERS, item=user_item(user), condition=_ABSENT),
            _directory_update(user),
        ]
        pattern = patterns.CREATE_USER
        if user.phone is not None:
            pattern = patterns.CREATE_WITH_PHONE
            claim = claim_key(user.tenant, user.phone)
            claim |= {"owner": user.user, "created_at": format_ms(user.created_at_ms)}
            signed = await self._rows.sign(user.tenant, claim)
            actions.append(Put(table=_USERS, item=signed, condition=_ABSENT))
        try:
            await self._client.transact_write(pattern, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            return await self._explain_conflict(user, cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return CreateUserResult(is_created=True)

    async def change(
        self, tenant: TenantId, user: UserId, change: ProfileChange, now_ms: int, /
    ) -> User | None:
        update, values = _profile_update(change, now_ms)
        try:
            written = await self._client.update(
                patterns.UPDATE_USER,
                account_key(tenant, user),
                update,
                condition=_EXISTS,
                values=values,
                returns="ALL_NEW",
                repeatable=True,
            )
        except ConditionFailedError:
            return None
        except DynamoError as error:
            raise_write_error(error)
        return None if written.attributes is None else user_from_item(written.attributes)

    async def end_sessions(self, tenant: TenantId, user: UserId, now_ms: int, /) -> bool:
        # Safe to repeat: incrementing the epoch twice has the same effect as once.
        update = "SET not_before = :now ADD sessions_epoch :one"
        values: Attributes = {":now": format_ms(now_ms), ":one": 1}
        return await self._revoke(patterns.END_SESSIONS, tenant, user, now_ms, update=update, values=values)

    async def suspend(self, tenant: TenantId, user: UserId, now_ms: int, /, *, is_on: bool) -> bool:
        update = "SET suspended_at = :now, updated_at = :now" if is_on else _UNSUSPEND
        values: Attributes = {":now": format_ms(now_ms)}
        return await self._revoke(patterns.SUSPEND_USER, tenant, user, now_ms, update=update, values=values)

    async def directory(
        self, tenant: TenantId, part: int, /, *, prefix: str = "", below: UserId | None = None, limit: int
    ) -> DirectoryPage:
        query = Query(
            condition="PK = :p AND begins_with(SK, :s)",
            values={":p": OF_BUCKET.render(tenant=tenant, bucket=part), ":s": _SORT_PREFIX + prefix},
            limit=limit,
            start=None if below is None else profile_key(tenant, below),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_DIRECTORY, query)
        users = [UserId(item["SK"].removeprefix(_SORT_PREFIX)) for item in page.items]
        return DirectoryPage(users, page.start is not None)

    async def _explain_conflict(self, user: User, cancelled: TransactionCancelledError) -> CreateUserResult:
        """Return the reason of a cancelled creation. After a lost answer, our own first attempt may be the reason."""
        row, _, *claims = cancelled.reasons
        if not row.is_condition and not any(claim.is_condition for claim in claims):
            raise_write_error(cancelled)
        taken = [claim.item for claim in claims if claim.item is not None]
        owner = await self._owner_in(user.tenant, taken[0]) if taken else None
        if taken and owner is None:
            # Trust neither the forged owner nor the new user: the number is refused until an operator removes the row.
            message = "The stored claim of this phone number is not authentic."
            raise TidingsError(Code.INTERNAL, message, details={"tenant": user.tenant})
        is_own = owner == user.user or user.phone is None
        if cancelled.maybe_applied and is_own and row.item == user_item(user):
            return CreateUserResult(is_created=True)
        return CreateUserResult(is_created=False, owner=owner)

    async def _owner_in(self, tenant: TenantId, claim: Item | None) -> UserId | None:
        verified = await self._rows.verified(tenant, claim)
        return None if verified is None else UserId(verified["owner"])

    async def _revoke(
        self,
        pattern: AccessPattern,
        tenant: TenantId,
        user: UserId,
        now_ms: int,
        *,
        update: str,
        values: Attributes,
    ) -> bool:
        """Update the row and write the revocation in one transaction, so that no gateway misses it."""
        change = Update(
            table=_USERS, key=account_key(tenant, user), update=update, condition=_EXISTS, values=values
        )
        revocation = revocation_put(Revocation(tenant=tenant, user=user, from_ms=now_ms), now_ms)
        with translate_write_errors:
            return await self._client.try_transact_write(pattern, [change, revocation], repeatable=True)


def _directory_update(user: User) -> Update:
    """Add the user to the directory. The item already exists if the tenant has stored a profile of the user."""
    return Update(
        table="inbox",
        key=profile_key(user.tenant, user.user),
        update="SET lists = if_not_exists(lists, :no), lists_before = if_not_exists(lists_before, :no), "
        "updated_at = :now, created_at = if_not_exists(created_at, :now) ADD version :one",
        values={":no": {}, ":now": format_ms(user.created_at_ms), ":one": 1},
    )


def _profile_update(change: ProfileChange, now_ms: int) -> tuple[str, Attributes]:
    # Defaults are not stored.
    given = {
        "display_name": change.display_name,
        "avatar_uri": change.avatar_uri,
        "last_seen": None if change.last_seen == "members" else change.last_seen,
        "phone_search": None if change.phone_search == "everyone" else change.phone_search,
    }
    values: dict[str, ItemValue] = {":now": format_ms(now_ms)}
    sets, removes = ["updated_at = :now"], []
    for name, value in given.items():
        if isinstance(value, str):
            sets.append(f"{name} = :{name}")
            values[f":{name}"] = value
        elif value is not UNSET:
            removes.append(name)
    update = "SET " + ", ".join(sets)
    return (f"{update} REMOVE {', '.join(removes)}" if removes else update), values


def account_key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user)}


def claim_key(tenant: TenantId, phone: Phone) -> dict[str, ItemValue]:
    return {"user_id": PHONE_CLAIM.render(tenant=tenant, phone=phone)}


def user_item(user: User) -> dict[str, ItemValue]:
    item = account_key(user.tenant, user.user) | {
        "sessions_epoch": user.sessions_epoch,
        "created_at": format_ms(user.created_at_ms),
        "updated_at": format_ms(user.updated_at_ms),
    }
    if user.phone is not None:
        item |= {"phone_number": PHONE.render(tenant=user.tenant, phone=user.phone), "phone_verified": True}
    ended = {"not_before": user.not_before_ms, "suspended_at": user.suspended_at_ms}
    item |= {name: format_ms(at_ms) for name, at_ms in ended.items() if at_ms is not None}
    profile = {
        "display_name": user.display_name,
        "avatar_uri": user.avatar_uri,
        "last_seen": None if user.last_seen == "members" else user.last_seen,
        "phone_search": None if user.phone_search == "everyone" else user.phone_search,
    }
    return item | {name: value for name, value in profile.items() if value is not None}


def user_from_item(item: Item) -> User:
    tenant, _, user = item["user_id"].partition("#")
    phone = item.get("phone_number")
    return User(
        tenant=TenantId(tenant),
        user=UserId(user),
        phone=None if phone is None else Phone(phone.partition("#")[2]),
        display_name=item.get("display_name"),
        avatar_uri=item.get("avatar_uri"),
        last_seen="nobody" if item.get("last_seen") == "nobody" else "members",
        phone_search="nobody" if item.get("phone_search") == "nobody" else "everyone",
        sessions_epoch=int(item.get("sessions_epoch", 0)),
        not_before_ms=parse_ms_or_none(item.get("not_before")),
        suspended_at_ms=parse_ms_or_none(item.get("suspended_at")),
        created_at_ms=parse_ms(item["created_at"]),
        updated_at_ms=parse_ms(item["updated_at"]),
    )
