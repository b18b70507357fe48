"""Users, and the claims of their phone numbers, in the table `users`."""

from collections.abc import Collection, Mapping

from tidings.accounts.model import EmailRefusal, Phone, ProfileChange, Revocation, User
from tidings.accounts.ports import (
    CreateUserResult,
    DirectoryPage,
    IsMeant,
    MayShow,
    ProfileKeyProvider,
)
from tidings.accounts.rules import phone_hash
from tidings.accounts.store.sessions import revocation_put
from tidings.accounts.store.user_items import (
    EMAIL,
    ERASED,
    REFUSED,
    account_key,
    claim_key,
    has_personal_fields,
    index_key,
    open_users,
    profile_update,
    seals_fields,
    user_from_item,
    user_item,
    user_of_item,
)
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    condition_held,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.protected_rows import AuthenticatedRows, RowKeys
from tidings.platform.dynamo.requests import Put, Query, TransactAction, Update
from tidings.schema.tables.items.inboxes import OF_BUCKET, PROFILE_SORT, profile_key
from tidings.schema.tables.patterns import accounts as patterns

_USERS = "users"
_ABSENT = "attribute_not_exists(user_id)"
_EXISTS = "attribute_exists(user_id) AND attribute_not_exists(erased)"
_SORT_PREFIX = PROFILE_SORT.text.partition("{")[0]
_UNSUSPEND = "SET updated_at = :now REMOVE suspended_at"


class DynamoUserReader:
    """Read users to decide by, without their personal fields. Needs no keys."""

    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def confirm(self, tenant: TenantId, user: UserId, /) -> User | None:
        item = await self._get(patterns.CONFIRM_USER, tenant, user)
        return None if item is None else user_from_item(item)

    async def confirm_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        found = await self._get_many(patterns.CONFIRM_USERS, tenant, users)
        return {user_of_item(item): user_from_item(item) for item in found}

    async def _get_many(
        self, pattern: AccessPattern, tenant: TenantId, users: Collection[UserId]
    ) -> Collection[Item]:
        keys = [account_key(tenant, user) for user in dict.fromkeys(users)]
        with translate_read_errors:
            return await self._client.batch_get(pattern, keys) if keys else []

    async def _get(self, pattern: AccessPattern, tenant: TenantId, user: UserId) -> Item | None:
        with translate_read_errors:
            return await self._client.get(pattern, account_key(tenant, user))


class DynamoUserStore(DynamoUserReader):
    """Users with their personal fields, which `user_keys` opens. `keys` are the tenants' keys."""

    def __init__(self, client: DynamoClient, keys: RowKeys, user_keys: ProfileKeyProvider) -> None:
        super().__init__(client)
        self._keys = keys
        self._rows = AuthenticatedRows(keys)
        self._user_keys = user_keys

    async def read(self, tenant: TenantId, user: UserId, /) -> User | None:
        item = await self._get(patterns.READ_USER, tenant, user)
        return None if item is None or ERASED in item else await self._opened(item, tenant)

    async def read_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        items = await self._get_many(patterns.READ_USERS, tenant, users)
        found = [item for item in items if ERASED not in item]
        return await open_users(self._user_keys, tenant, found)

    async def confirm_profile(self, tenant: TenantId, user: UserId, /) -> User | None:
        return await self._opened(await self._get(patterns.CONFIRM_USER, tenant, user), tenant)

    async def confirm_phone(
        self, tenant: TenantId, user: UserId, phone: Phone, may_show: MayShow, /
    ) -> User | None:
        item = await self._get(patterns.CONFIRM_USER, tenant, user)
        number = index_key(tenant, await self._hash(tenant, phone))
        if item is None or item.get("phone_number") != number or not may_show(user_from_item(item)):
            return None
        found = await self._opened(item, tenant)
        # The hash has no MAC: an attacker with write access can copy it from another row, but not the sealed number.
        return found if found is not None and found.phone == phone else None

    async def owner(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        number = await self._hash(tenant, phone)
        with translate_read_errors:
            claim = await self._client.get(patterns.FIND_CLAIM, claim_key(tenant, number))
        return await self._owner_in(tenant, claim)

    async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        number = index_key(tenant, await self._hash(tenant, phone))
        query = Query(condition="phone_number = :p", values={":p": number}, limit=1)
        with translate_read_errors:
            page = await self._client.query(patterns.FIND_BY_PHONE, query)
        return user_of_item(page.items[0]) if page.items else None

    async def create(self, user: User, /) -> CreateUserResult:
        # A creation that fails leaves keys without a user. A later creation with this id uses them.
        keys = await self._user_keys.of(user.tenant, user.user) if has_personal_fields(user) else None
        number = None if user.phone is None else await self._hash(user.tenant, user.phone)
        item = user_item(user, keys, number)
        actions: list[TransactAction] = [
            Put(table=_USERS, item=item, condition=_ABSENT),
            _directory_update(user),
        ]
        pattern = patterns.CREATE_USER
        if number is not None:
            pattern = patterns.CREATE_WITH_PHONE
            claim = claim_key(user.tenant, number)
            claim |= {"owner": user.user, "created_at": format_ms(user.created_at_ms)}
            signed = await self._rows.sign(user.tenant, claim)
            actions.append(Put(table=_USERS, item=signed, condition=_ABSENT))
        try:
            await self._client.transact_write(pattern, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            return await self._explain_conflict(user, item, cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return CreateUserResult(is_created=True)

    async def change(
        self, tenant: TenantId, user: UserId, change: ProfileChange, now_ms: int, /
    ) -> User | None:
        keys = await self._user_keys.of(tenant, user) if seals_fields(change) else None
        update, values = profile_update(change, now_ms, keys)
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
        return await self._opened(written.attributes, tenant)

    async def refuse_email(
        self, tenant: TenantId, user: UserId, kind: EmailRefusal, is_meant: IsMeant, /
    ) -> bool:
        item = await self._get(patterns.CONFIRM_USER, tenant, user)
        found = await self._opened(item, tenant)
        if item is None or found is None or found.email is None or not is_meant(found.email):
            return False
        # Race: the tenant's server stores another address between the read and the write. The sealed bytes differ then,
        # even for an equal address.
        with translate_write_errors:
            return await condition_held(
                self._client.update(
                    patterns.REFUSE_EMAIL,
                    account_key(tenant, user),
                    f"SET {REFUSED} = :kind",
                    condition=f"{EMAIL} = :address",
                    values={":kind": kind.value, ":address": item[EMAIL]},
                    repeatable=True,
                )
            )

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

    async def _explain_conflict(
        self, user: User, sent: Mapping[str, ItemValue], cancelled: TransactionCancelledError
    ) -> CreateUserResult:
        """Return the reason of a cancelled creation. After a lost answer, our own first attempt may be the reason.

        `sent` is the item of this attempt. It is not built again, because sealing is randomised.
        """
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
        if cancelled.maybe_applied and is_own and row.item == sent:
            return CreateUserResult(is_created=True)
        is_erased = row.item is not None and ERASED in row.item
        return CreateUserResult(is_created=False, owner=owner, is_erased=is_erased)

    async def _hash(self, tenant: TenantId, phone: Phone) -> str:
        return phone_hash(await self._keys.mac(tenant), phone)

    async def _opened(self, item: Item | None, tenant: TenantId) -> User | None:
        if item is None:
            return None
        return (await open_users(self._user_keys, tenant, [item]))[user_of_item(item)]

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
