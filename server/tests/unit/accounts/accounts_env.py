"""Two tenants with keys, a clock to turn, and one process that verifies."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from fixtures.memory_accounts import Jwk, MemorySigningKeyStore, PublishedKeys, claims_of, mint, pair
from fixtures.memory_keys import AdjustableClock
from fixtures.memory_tenants import MemoryTenantStore

from tidings.accounts.credentials import TokenPolicy, UserTokenVerifier
from tidings.accounts.model import Principal
from tidings.accounts.rules import CredentialRejectedError
from tidings.accounts.verification_keys import VerificationKeys
from tidings.kernel.errors import TidingsError
from tidings.tenants.model import TokenSettings
from tidings.tenants.settings import TenantReader

URL = "https://id.acme.example/keys"


@dataclass
class AccountsUnitEnv:
    clock: AdjustableClock = field(default_factory=AdjustableClock)
    tenants: MemoryTenantStore = field(default_factory=MemoryTenantStore)
    registered: MemorySigningKeyStore = field(default_factory=MemorySigningKeyStore)
    published: PublishedKeys = field(default_factory=PublishedKeys)
    key: Jwk = field(default_factory=lambda: pair("k1"))
    others_key: Jwk = field(default_factory=lambda: pair("k1"))

    def __post_init__(self) -> None:
        self.tenants.put("acme")
        self.tenants.put("globex")
        self.registered.register("acme", self.key)
        self.registered.register("globex", self.others_key)
        self.users = self.process()

    def process(self, *, kept_s: float = 0.0, policy: TokenPolicy | None = None) -> UserTokenVerifier:
        keys = VerificationKeys(self.registered, self.published.fetch, self.clock)
        policy = policy or TokenPolicy(max_lifetime_s=3600, cache_s=kept_s, max_cached=3)
        return UserTokenVerifier(TenantReader(self.tenants, self.clock), keys, self.clock, policy)

    def publish(self, *privates: Jwk) -> None:
        """acme sets a URL, and has these keys there."""
        self.tenants.put("acme", TokenSettings(jwks_url=URL))
        self.published.put(URL, *privates)

    def token(self, private: Any = None, header: Any = None, **claims: Any) -> str:
        return mint(private or self.key, claims_of(self.clock.now_s, **claims), **(header or {}))

    async def admits(self, token: str) -> Principal:
        return await self.users.verify(token)

    async def why_not(self, token: str) -> str:
        with pytest.raises(CredentialRejectedError) as caught:
            await self.users.examine(token)
        return caught.value.reason

    async def refuses(self, token: str) -> TidingsError:
        with pytest.raises(TidingsError) as caught:
            await self.users.verify(token)
        return caught.value
