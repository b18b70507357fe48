"""Find a user of the own tenant by phone number, where the tenant allows it."""

from tidings.accounts.ports import SearchTenants, UserRows
from tidings.accounts.records import Phone, User
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId


class FindByPhone:
    def __init__(self, rows: UserRows, tenants: SearchTenants) -> None:
        self._rows = rows
        self._tenants = tenants

    async def __call__(self, tenant: TenantId, phone: Phone) -> User:
        """Return the user with exactly this number.

        Raises `forbidden` unless the tenant allows it, and `user_not_found` alike for a number that nobody has and
        for a user who is suspended. The index only hints at the user: the row, read strongly, decides.
        """
        if not await self._tenants.may_find_by_phone(tenant):
            raise TidingsError(
                Code.FORBIDDEN,
                "This tenant does not let users find each other by phone number.",
                hint="Operators: `tidings tenant set TENANT --find-by-phone`.",
            )
        hint = await self._rows.find_by_phone(tenant, phone)
        found = None if hint is None else await self._rows.confirm(tenant, hint)
        if found is None or found.phone != phone or found.suspended_at_ms is not None:
            raise TidingsError(Code.USER_NOT_FOUND, "No user can be found by this phone number.")
        return found
