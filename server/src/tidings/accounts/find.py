"""Find a user of the own tenant by phone number, where the tenant allows it."""

from tidings.accounts.ports import DirectoryTenants, UserStore
from tidings.accounts.records import Phone, User
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId


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
