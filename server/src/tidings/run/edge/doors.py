"""Joins accounts' ports to each other and to the limits: sessions, and login by phone."""

from collections.abc import Sequence

from tidings.accounts.access import AccessTokenService
from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.live import SessionCache
from tidings.accounts.model import Principal
from tidings.accounts.revocations import Revocation
from tidings.accounts.user_tokens import TenantSource
from tidings.kernel.ids import TenantId
from tidings.run.accounts import AccountServices
from tidings.run.people import LoginServices


class SessionTokenVerifier:
    """Access tokens of sessions that are still on."""

    def __init__(self, access: AccessTokenService, live: SessionCache) -> None:
        self._access = access
        self._live = live

    async def verify(self, token: str) -> Principal:
        principal = await self._access.verify(token)
        await self._live.validate(principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        await self._live.validate(principal)

    def evict(self, revocation: Revocation) -> None:
        if revocation.session is not None:
            self._live.evict(revocation.tenant, revocation.session)


def build_credentials(accounts: AccountServices, login_services: LoginServices) -> CredentialVerifierChain:
    """The door that every edge has: API keys, tokens of sessions that are on, tokens of the tenants' own servers."""
    own = SessionTokenVerifier(login_services.access, login_services.live)
    return CredentialVerifierChain(accounts.api_keys, own, accounts.users, login_services.admission)


class PhoneLoginTenants:
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
