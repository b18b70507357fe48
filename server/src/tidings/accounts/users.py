"""Users of a tenant: made by its server, by an operator, or at a first login by phone."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from tidings.accounts.model import Phone, Principal, ProfileChange, User
from tidings.accounts.ports import DirectoryTenants, UserStore
from tidings.accounts.rules import (
    check_avatar,
    check_display_name,
    check_user_id,
    invalid_request,
    rejected_for,
)
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, new_ulid, stable_hash

MAX_READ = 100
PARTS = 256
"""Parts of a tenant's directory."""
MAX_CONCURRENT_PARTS = 32


class UserPage(NamedTuple):
    """A page of users. `after`: what the next page begins behind; None: this is the last."""

    users: Sequence[User]
    after: UserId | None


class _KnownAddresses(NamedTuple):
    users: Sequence[UserId]
    has_more: bool


class UserService:
    def __init__(self, rows: UserStore, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def create(
        self,
        tenant: TenantId,
        user: UserId | None = None,
        *,
        phone: Phone | None = None,
        display_name: str | None = None,
        avatar_uri: str | None = None,
    ) -> User:
        """Raises `user_exists` or `phone_taken`; then nothing was written."""
        now_ms = self._clock.now_ms()
        new = User(
            tenant=tenant,
            user=UserId(new_ulid()) if user is None else check_user_id(user),
            phone=phone,
            display_name=None if display_name is None else check_display_name(display_name),
            avatar_uri=None if avatar_uri is None else check_avatar(avatar_uri),
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        made = await self._rows.create(new)
        if made.is_created:
            return new
        if made.owner is not None:
            raise TidingsError(Code.PHONE_TAKEN, "Another user of this tenant has this phone number.")
        raise TidingsError(Code.USER_EXISTS, f"There is a user {new.user} already.")

    async def for_phone(self, tenant: TenantId, phone: Phone) -> tuple[User, bool]:
        """The user with this number, made if there is none; and whether that was now.

        The race: two first logins at once. One's transaction stands, the other is shown the claim.
        """
        if (found := await self.by_phone(tenant, phone)) is not None:
            return found, False
        now_ms = self._clock.now_ms()
        new = User(
            tenant=tenant, user=UserId(new_ulid()), phone=phone, created_at_ms=now_ms, updated_at_ms=now_ms
        )
        made = await self._rows.create(new)
        if made.is_created:
            return new, True
        if made.owner is None:
            raise TidingsError(Code.WRITE_CONFLICT, "The user's id was taken at this moment.")
        return await self._confirmed(tenant, made.owner), False

    async def admitted(self, tenant: TenantId, user: UserId) -> User:
        """The user of a verified credential, created if it is their first one."""
        if (found := await self._rows.confirm(tenant, user)) is not None:
            return found
        now_ms = self._clock.now_ms()
        new = User(tenant=tenant, user=user, created_at_ms=now_ms, updated_at_ms=now_ms)
        if (await self._rows.create(new)).is_created:
            return new
        # another process admitted the same user between the read and the transaction
        return await self._confirmed(tenant, user)

    async def suspend(self, tenant: TenantId, user: UserId, *, is_on: bool) -> None:
        """Refuse every credential of the user, or take that back."""
        if not await self._rows.suspend(tenant, check_user_id(user), self._clock.now_ms(), is_on=is_on):
            raise user_not_found(user)

    async def list(self, tenant: TenantId, after: UserId | None, limit: int, prefix: str = "") -> UserPage:
        """List users in the order of the directory: by part, then by id. `after`: the last of the page before."""
        places = await self._addresses(tenant, after, limit, prefix)
        found = await self.read_many(tenant, places.users)
        users = [found[user] for user in places.users if user in found]
        return UserPage(users, places.users[-1] if places.has_more and places.users else None)

    async def _addresses(
        self, tenant: TenantId, after: UserId | None, limit: int, prefix: str
    ) -> _KnownAddresses:
        part = 0 if after is None else stable_hash(after) % PARTS
        users: list[UserId] = []
        while part < PARTS and len(users) < limit:
            some = range(part, min(part + MAX_CONCURRENT_PARTS, PARTS))
            reads = (
                self._rows.directory(
                    tenant, each, prefix=prefix, below=after if each == part else None, limit=limit + 1
                )
                for each in some
            )
            users.extend(user for page in await asyncio.gather(*reads) for user in page.users)
            part, after = some[-1] + 1, None
        return _KnownAddresses(users[:limit], has_more=len(users) > limit or part < PARTS)

    async def by_phone(self, tenant: TenantId, phone: Phone) -> User | None:
        owner = await self._rows.owner(tenant, phone)
        return None if owner is None else await self._confirmed(tenant, owner)

    async def read(self, tenant: TenantId, user: UserId) -> User:
        found = await self._rows.read(tenant, check_user_id(user))
        if found is None:
            raise user_not_found(user)
        return found

    async def read_many(self, tenant: TenantId, users: Collection[UserId]) -> Mapping[UserId, User]:
        if len(users) > MAX_READ:
            raise invalid_request(f"At most {MAX_READ} users are read at once.")
        return await self._rows.read_many(tenant, [check_user_id(user) for user in users])

    async def update(self, tenant: TenantId, user: UserId, change: ProfileChange) -> User:
        if change.display_name not in (UNSET, None):
            check_display_name(str(change.display_name))
        if change.avatar_uri not in (UNSET, None):
            check_avatar(str(change.avatar_uri))
        changed = await self._rows.change(tenant, check_user_id(user), change, self._clock.now_ms())
        if changed is None:
            raise user_not_found(user)
        return changed

    async def _confirmed(self, tenant: TenantId, user: UserId) -> User:
        """A claim and its user come and go in one transaction, so a claim without one is damage."""
        found = await self._rows.confirm(tenant, user)
        if found is None:
            raise TidingsError(
                Code.INTERNAL,
                f"A phone number is claimed by {user}, and there is no such user.",
                details={"tenant": tenant, "user": user},
            )
        return found


def user_not_found(user: UserId) -> TidingsError:
    return TidingsError(Code.USER_NOT_FOUND, f"There is no user {user}.")


class FindUserByPhone:
    def __init__(self, rows: UserStore, tenants: DirectoryTenants) -> None:
        self._rows = rows
        self._tenants = tenants

    async def __call__(self, tenant: TenantId, asker: UserId, phone: Phone) -> User:
        """Return the user with exactly this number.

        Raises `forbidden` unless the tenant allows it, and `user_not_found` alike for a number that nobody has, for a
        user who has opted out, and for one who is suspended. The index only hints at the user: the row, read
        strongly, decides.
        """
        if not await self._tenants.may_find_by_phone(tenant):
            raise TidingsError(
                Code.FORBIDDEN,
                "This tenant does not let users find each other by phone number.",
                hint="Operators: `tidings tenant set TENANT --find-by-phone`.",
            )
        hint = await self._rows.find_by_phone(tenant, phone)
        # A number that nobody has costs the same two reads, or its time would tell it from a user who opted out.
        found = await self._rows.confirm(tenant, asker if hint is None else hint)
        if hint is None or found is None or not _may_be_found(found, phone):
            raise TidingsError(Code.USER_NOT_FOUND, "No user can be found by this phone number.")
        return found


def _may_be_found(user: User, phone: Phone) -> bool:
    return user.phone == phone and user.phone_search == "everyone" and user.suspended_at_ms is None


ADMISSION_CACHE = CachePolicy(fresh_s=5.0, outage_s=60.0, retry_s=1.0, count=100_000)


class UserAdmission:
    """Belongs to the event loop that it is used in."""

    def __init__(self, users: UserService, clock: Clock, policy: CachePolicy = ADMISSION_CACHE) -> None:
        self._users = users
        self._cache: Cache[tuple[TenantId, UserId], User] = Cache(self._load, clock, policy)

    async def of(self, tenant: TenantId, user: UserId) -> User:
        """The user, at most `fresh_s` old; created if nobody knew them. Simultaneous calls share one load."""
        found = await self._cache.get((tenant, user))
        if found is None:
            raise rejected_for("there is no such user", tenant=tenant, user=user)
        return found

    async def check(self, principal: Principal) -> None:
        """Raise `forbidden` for a suspended user, `credential_invalid` for a token from before their sign-out."""
        if principal.user is None:
            return
        user = await self.of(principal.tenant, principal.user)
        if user.suspended_at_ms is not None:
            raise TidingsError(Code.FORBIDDEN, "The user is suspended.")
        # a session has the user's epoch for this, which knows no clock
        if principal.session is None and user.not_before_ms is not None:
            issued_at_ms = principal.issued_at_ms
            if issued_at_ms is None or issued_at_ms < user.not_before_ms:
                reason = "token from before the sign-out"
                raise rejected_for(reason, tenant=principal.tenant, user=principal.user)

    def evict(self, tenant: TenantId, user: UserId) -> None:
        """Read the user again at the next call: something about them was changed."""
        self._cache.evict((tenant, user))

    async def _load(self, key: tuple[TenantId, UserId]) -> User | None:
        return await self._users.admitted(*key)
