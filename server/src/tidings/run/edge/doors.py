"""Joins accounts' ports to each other and to the limits: sessions, and login by phone."""

from collections.abc import Sequence

from tidings.accounts.access import Access
from tidings.accounts.credentials import Credentials
from tidings.accounts.live import LiveSessions
from tidings.accounts.model import Principal
from tidings.accounts.revocations import Revocation
from tidings.accounts.user_tokens import TenantSource
from tidings.kernel.ids import TenantId
from tidings.run.accounts import Accounts
from tidings.run.people import People


class SessionTokens:
    """Access tokens of sessions that are still on."""

    def __init__(self, access: Access, live: LiveSessions) -> None:
        self._access = access
        self._live = live

    async def verify(self, token: str) -> Principal:
        principal = await self._access.verify(token)
        await self._live.validate(principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        await self._live.validate(principal)

    def forget(self, revocation: Revocation) -> None:
        if revocation.session is not None:
            self._live.forget(revocation.tenant, revocation.session)


def credentials_of(accounts: Accounts, people: People) -> Credentials:
    """The door that every edge has: API keys, tokens of sessions that are on, tokens of the tenants' own servers."""
    own = SessionTokens(people.access, people.live)
    return Credentials(accounts.api_keys, own, accounts.users, people.admission)


class PhoneTenants:
    def __init__(self, tenants: TenantSource) -> None:
        self._tenants = tenants

    async def phone_prefixes(self, tenant: TenantId, /) -> Sequence[str] | None:
        found = await self._tenants.find(tenant)
        if found is None or not found.settings.has_phone_login:
            return None
        return found.settings.phone_prefixes

    async def may_find_by_phone(self, tenant: TenantId, /) -> bool:
        found = await self._tenants.find(tenant)
        return found is not None and found.settings.has_phone_search
