"""Users of a tenant: made by its server, by an operator, or at a first login by phone."""

from collections.abc import Collection, Mapping

from msgspec import UNSET

from tidings.accounts.ports import UserRows
from tidings.accounts.records import Phone, ProfileChange, User
from tidings.accounts.rules import check_avatar, check_display_name, check_user_id, invalid
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, new_ulid

MAX_READ = 100


class Users:
    def __init__(self, rows: UserRows, clock: Clock) -> None:
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
            raise TidingsError(Code.CHANGED_MEANWHILE, "The user's id was taken at this moment.")
        return await self._confirmed(tenant, made.owner), False

    async def by_phone(self, tenant: TenantId, phone: Phone) -> User | None:
        owner = await self._rows.owner(tenant, phone)
        return None if owner is None else await self._confirmed(tenant, owner)

    async def read(self, tenant: TenantId, user: UserId) -> User:
        found = await self._rows.read(tenant, check_user_id(user))
        if found is None:
            raise not_found(user)
        return found

    async def read_many(self, tenant: TenantId, users: Collection[UserId]) -> Mapping[UserId, User]:
        if len(users) > MAX_READ:
            raise invalid(f"At most {MAX_READ} users are read at once.")
        return await self._rows.read_many(tenant, [check_user_id(user) for user in users])

    async def update(self, tenant: TenantId, user: UserId, change: ProfileChange) -> User:
        if change.display_name not in (UNSET, None):
            check_display_name(str(change.display_name))
        if change.avatar_uri not in (UNSET, None):
            check_avatar(str(change.avatar_uri))
        changed = await self._rows.change(tenant, check_user_id(user), change, self._clock.now_ms())
        if changed is None:
            raise not_found(user)
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


def not_found(user: UserId) -> TidingsError:
    return TidingsError(Code.USER_NOT_FOUND, f"There is no user {user}.")
