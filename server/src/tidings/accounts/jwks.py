"""Which key a tenant's token is verified with: one that is registered, or one that the tenant publishes.

Keys are kept by tenant and `kid`, never by `kid` alone. The URL comes from the tenant's settings, never from a token.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from tidings.accounts.key_sets import KeySetCache, KeySourceError, RefreshPolicy
from tidings.accounts.public_keys import BadKeyError, PublicKey, read_jwks, read_key
from tidings.accounts.signing_keys import SigningKeyStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.model import Tenant

REGISTERED = RefreshPolicy(refresh_s=15.0, unknown_s=5.0, retry_s=5.0, outage_s=600.0)
PUBLISHED = RefreshPolicy(refresh_s=300.0, unknown_s=30.0, retry_s=10.0, outage_s=3600.0)


class JwksFetcher(Protocol):
    """Fetches a JWKS document: bounded in size and time, following nothing, refusing addresses it may not reach."""

    async def __call__(self, url: str, /) -> bytes:
        """Raises `KeySourceError`."""
        ...


class JwksSource(NamedTuple):
    """With the tenant, so that two who name one URL share nothing; with the URL, so that a new one starts afresh."""

    tenant: TenantId
    url: str


class VerificationKeys:
    """Belongs to the event loop that it is used in."""

    def __init__(
        self,
        store: SigningKeyStore,
        fetch: JwksFetcher,
        clock: Clock,
        *,
        registered: RefreshPolicy = REGISTERED,
        published: RefreshPolicy = PUBLISHED,
    ) -> None:
        self._store = store
        self._fetch = fetch
        self._registered: KeySetCache[TenantId] = KeySetCache(self._list, clock, registered)
        self._published: KeySetCache[JwksSource] = KeySetCache(self._get, clock, published)

    async def find(self, tenant: Tenant, kid: str) -> PublicKey | None:
        """A registered key goes first: retired there, it does not come back by the URL."""
        url = tenant.settings.tokens.jwks_url
        key = await self._registered.find(tenant.id, kid, seek=url is None)
        if key is None and url is not None:
            key = await self._published.find(JwksSource(tenant.id, url), kid)
        return key

    def evict(self, tenant: TenantId) -> None:
        """Read the registered keys again before the next use. Those at a URL change without our knowledge."""
        self._registered.evict(tenant)

    async def _list(self, tenant: TenantId) -> Mapping[str, PublicKey]:
        try:
            rows = await self._store.list(tenant)
        except TidingsError as error:
            raise KeySourceError(error.message) from error
        try:
            return {row.kid: read_key(row.jwk, row.not_after_ms) for row in rows}
        except BadKeyError as error:
            raise KeySourceError(f"somebody has changed a row: {error}") from error

    async def _get(self, source: JwksSource) -> Mapping[str, PublicKey]:
        try:
            return read_jwks(await self._fetch(source.url))
        except BadKeyError as error:
            raise KeySourceError(f"what the URL gave is no JWKS: {error}") from error
