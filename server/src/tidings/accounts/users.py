"""Users of a tenant: create, read, update, suspend, find by phone number, and admit at authentication."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from tidings.accounts.model import Phone, Principal, ProfileChange, User, UserChange, UserChangeKind
from tidings.accounts.ports import DirectoryPage, OnUserChanged, UserStore
from tidings.accounts.rules import (
    check_avatar,
    check_display_name,
    check_email,
    check_locale,
    check_new_user_id,
    check_user_id,
    invalid_request,
    rejected_for,
)
from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, is_pseudonym, new_ulid, stable_hash
from tidings.tenants.model import TenantLookup

MAX_READ = 100
PARTS = 256
"""Number of partitions of a tenant's directory. A user's partition is a hash of the id."""
MAX_CONCURRENT_PARTS = 32


class UserPage(NamedTuple):
    """A page of users. `after` is the cursor of the next page, or `None` on the last page."""

    users: Sequence[User]
    after: UserId | None


class UserService:
    def __init__(self, rows: UserStore, clock: Clock, on_changed: OnUserChanged | None = None) -> None:
        self._rows = rows
        self._clock = clock
        self._on_changed = on_changed

    async def create(
        self,
        tenant: TenantId,
        user: UserId | None = None,
        *,
        phone: Phone | None = None,
        display_name: str | None = None,
        avatar_uri: str | None = None,
        email: str | None = None,
        locale: str | None = None,
    ) -> User:
        """Create a user. Raise `user_exists`, `phone_taken` or `user_erased`; nothing was written then."""
        now_ms = self._clock.now_ms()
        new = User(
            tenant=tenant,
            user=UserId(new_ulid()) if user is None else check_new_user_id(user),
            phone=phone,
            display_name=None if display_name is None else check_display_name(display_name),
            avatar_uri=None if avatar_uri is None else check_avatar(avatar_uri),
            email=None if email is None else check_email(email),
            locale=None if locale is None else check_locale(locale),
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        result = await self._rows.create(new)
        if result.is_created:
            note_change(None, {"user": new.user})
            await self._report(tenant, new.user, UserChangeKind.CREATED)
            return new
        if result.is_erased:
            raise user_erased(new.user)
        if result.owner is not None:
            raise TidingsError(Code.PHONE_TAKEN, "Another user of this tenant has this phone number.")
        raise TidingsError(Code.USER_EXISTS, f"User {new.user} already exists.")

    async def for_phone(self, tenant: TenantId, phone: Phone) -> tuple[User, bool]:
        """Return the user with this phone number, creating them if needed, and whether this call created them.

        Race: two first logins with one number. One transaction commits; the other fails on the number's claim and
        returns the user that the claim names.
        """
        if (found := await self.by_phone(tenant, phone)) is not None:
            return found, False
        now_ms = self._clock.now_ms()
        new = User(
            tenant=tenant, user=UserId(new_ulid()), phone=phone, created_at_ms=now_ms, updated_at_ms=now_ms
        )
        result = await self._rows.create(new)
        if result.is_created:
            await self._report(tenant, new.user, UserChangeKind.CREATED)
            return new, True
        if result.owner is None:
            raise TidingsError(Code.WRITE_CONFLICT, "Another request created a user with the same id.")
        return await self._profile_of(tenant, result.owner), False

    async def admitted(self, tenant: TenantId, user: UserId) -> User:
        """Return the user of a verified credential, creating them on first use. Without name, avatar and number."""
        if (found := await self._rows.confirm(tenant, user)) is not None:
            return found
        if is_pseudonym(user):
            raise rejected_for("a pseudonym of an erased user", tenant=tenant, user=user)
        now_ms = self._clock.now_ms()
        new = User(tenant=tenant, user=user, created_at_ms=now_ms, updated_at_ms=now_ms)
        if (await self._rows.create(new)).is_created:
            await self._report(tenant, user, UserChangeKind.CREATED)
            return new
        # Race: another process admitted the same user between our read and our transaction.
        found = await self._rows.confirm(tenant, user)
        if found is None:
            raise TidingsError(Code.WRITE_CONFLICT, f"User {user} was created and deleted at the same time.")
        return found

    async def suspend(self, tenant: TenantId, user: UserId, *, is_on: bool) -> None:
        """Suspend the user, which refuses all their credentials, or lift the suspension."""
        if not await self._rows.suspend(tenant, check_user_id(user), self._clock.now_ms(), is_on=is_on):
            raise user_not_found(user)
        note_change({"suspended": not is_on}, {"suspended": is_on})
        await self._report(tenant, user, UserChangeKind.SUSPENDED if is_on else UserChangeKind.UNSUSPENDED)

    async def list(self, tenant: TenantId, after: UserId | None, limit: int, prefix: str = "") -> UserPage:
        """List users in the order of the directory: by partition, then by id. `after`: last user of the previous page."""
        page = await self._list_ids(tenant, after, limit, prefix)
        found = await self.read_many(tenant, page.users)
        users = [found[user] for user in page.users if user in found]
        return UserPage(users, page.users[-1] if page.has_more and page.users else None)

    async def _list_ids(
        self, tenant: TenantId, after: UserId | None, limit: int, prefix: str
    ) -> DirectoryPage:
        part = 0 if after is None else stable_hash(after) % PARTS
        users: list[UserId] = []
        while part < PARTS and len(users) < limit:
            parts = range(part, min(part + MAX_CONCURRENT_PARTS, PARTS))
            reads = (
                self._rows.directory(
                    tenant, each, prefix=prefix, below=after if each == part else None, limit=limit + 1
                )
                for each in parts
            )
            users.extend(user for page in await asyncio.gather(*reads) for user in page.users)
            part, after = parts[-1] + 1, None
        return DirectoryPage(users[:limit], has_more=len(users) > limit or part < PARTS)

    async def by_phone(self, tenant: TenantId, phone: Phone) -> User | None:
        owner = await self._rows.owner(tenant, phone)
        return None if owner is None else await self._profile_of(tenant, owner)

    async def read(self, tenant: TenantId, user: UserId) -> User:
        found = await self._rows.read(tenant, check_user_id(user))
        if found is None:
            raise user_not_found(user)
        return found

    async def read_many(self, tenant: TenantId, users: Collection[UserId]) -> Mapping[UserId, User]:
        if len(users) > MAX_READ:
            raise invalid_request(f"At most {MAX_READ} users can be read in one request.")
        return await self._rows.read_many(tenant, [check_user_id(user) for user in users])

    async def update(self, tenant: TenantId, user: UserId, change: ProfileChange) -> User:
        if change.display_name not in (UNSET, None):
            check_display_name(str(change.display_name))
        if change.avatar_uri not in (UNSET, None):
            check_avatar(str(change.avatar_uri))
        if change.email not in (UNSET, None):
            check_email(str(change.email))
        if change.locale not in (UNSET, None):
            check_locale(str(change.locale))
        changed = await self._rows.change(tenant, check_user_id(user), change, self._clock.now_ms())
        if changed is None:
            raise user_not_found(user)
        await self._report(tenant, user, UserChangeKind.UPDATED)
        return changed

    async def _report(self, tenant: TenantId, user: UserId, kind: UserChangeKind) -> None:
        if self._on_changed is not None:
            await self._on_changed(UserChange(tenant, user, kind))

    async def _profile_of(self, tenant: TenantId, user: UserId) -> User:
        """Read the user that a claim names. A claim and its user share transactions, so one without the other is damage."""
        found = await self._rows.confirm_profile(tenant, user)
        if found is None:
            raise TidingsError(
                Code.INTERNAL,
                f"A phone number is claimed by {user}, who does not exist.",
                details={"tenant": tenant, "user": user},
            )
        return found


def user_not_found(user: UserId) -> TidingsError:
    return TidingsError(Code.USER_NOT_FOUND, f"User {user} does not exist.")


def user_erased(user: UserId) -> TidingsError:
    return TidingsError(
        Code.USER_ERASED, f"User {user} was erased.", hint="The id cannot be used again. Use another one."
    )


class PhoneDirectory:
    """Finds users by phone number, for other users of the tenant."""

    def __init__(self, rows: UserStore, tenants: TenantLookup) -> None:
        self._rows = rows
        self._tenants = tenants

    async def find(self, tenant: TenantId, caller: UserId, phone: Phone) -> User:
        """Return the user with exactly this number.

        Raises `forbidden` unless the tenant allows the search. Raises the same `user_not_found` for an unused number,
        for a user who has opted out, for a suspended user, and for one whose keys were destroyed. The index is only a
        hint: the user's row, read with strong consistency, decides.
        """
        settings = await self._tenants.find(tenant)
        if settings is None or not settings.settings.has_phone_search:
            raise TidingsError(
                Code.FORBIDDEN,
                "Users of this tenant cannot find each other by phone number.",
                hint="Operators: allow it with `tidings tenant set TENANT --find-by-phone`.",
            )
        hint = await self._rows.find_by_phone(tenant, phone)
        # An unused number costs the same two reads. Otherwise the response time would reveal a user who opted out.
        found = await self._rows.confirm_phone(tenant, caller if hint is None else hint, phone, _may_be_found)
        if hint is None or found is None:
            raise TidingsError(
                Code.USER_NOT_FOUND, "No user has this phone number, or the user cannot be found by it."
            )
        return found


def _may_be_found(user: User) -> bool:
    return user.phone_search == "everyone" and user.suspended_at_ms is None


ADMISSION_CACHE = CachePolicy(fresh_s=5.0, outage_s=60.0, retry_s=1.0, count=100_000)


class UserAdmission:
    """Check that the user of a credential may authenticate, through a cache. Use it from one event loop."""

    def __init__(self, users: UserService, clock: Clock, policy: CachePolicy = ADMISSION_CACHE) -> None:
        self._users = users
        self._cache: Cache[tuple[TenantId, UserId], User] = Cache(self._load, clock, policy)

    async def of(self, tenant: TenantId, user: UserId) -> User:
        """Return the user, at most `fresh_s` old. Create them on first use. Concurrent calls share one load."""
        found = await self._cache.get((tenant, user))
        if found is None:
            raise rejected_for("the user does not exist", tenant=tenant, user=user)
        return found

    async def check(self, principal: Principal) -> None:
        """Raise `forbidden` for a suspended user, and `credential_invalid` for a token from before their sign-out."""
        if principal.user is None:
            return
        user = await self.of(principal.tenant, principal.user)
        if user.suspended_at_ms is not None:
            raise TidingsError(Code.FORBIDDEN, "The user is suspended.")
        # A session is checked by the user's epoch instead, which does not depend on clocks.
        if principal.session is None and user.not_before_ms is not None:
            issued_at_ms = principal.issued_at_ms
            if issued_at_ms is None or issued_at_ms < user.not_before_ms:
                reason = "token from before the sign-out"
                raise rejected_for(reason, tenant=principal.tenant, user=principal.user)

    def evict(self, tenant: TenantId, user: UserId) -> None:
        """Read the user again at the next call."""
        self._cache.evict((tenant, user))

    async def _load(self, key: tuple[TenantId, UserId]) -> User | None:
        return await self._users.admitted(*key)
