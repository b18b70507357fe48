"""Public keys that verify tokens of the tenants' servers: registered keys, and keys at a JWKS URL.

Each source is loaded by at most one task at a time and not more often than `RefreshPolicy` allows, whatever tokens
arrive.
"""

import logging
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tidings.accounts.signing_keys import BadKeyError, PublicKey, SigningKeyStore, read_jwks, read_key
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.model import Tenant

_log = logging.getLogger(__name__)

type LoadKeySet[S] = Callable[[S], Coroutine[Any, Any, Mapping[str, PublicKey]]]
type FetchJwks = Callable[[str], Awaitable[bytes]]
"""Fetches a JWKS document. Raises `KeySourceError`. Must limit size and time and refuse internal addresses."""


class KeySourceError(Exception):
    """The source is unavailable, or its content is not a key set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPolicy:
    """When a key set is loaded again.

    refresh_s: age at which keys are refreshed in the background. At twice this age they are no longer used.
    unknown_s: minimum time between two loads caused by an unknown `kid`.
    retry_s: minimum time between loads after a failure.
    outage_s: maximum age of keys while the source fails.
    """

    refresh_s: float
    unknown_s: float
    retry_s: float
    outage_s: float
    count: int = 10_000


@dataclass(slots=True)
class _CachedKeySet:
    keys: Mapping[str, PublicKey] = field(default_factory=dict)
    checked_at: float = -math.inf
    next_check: float = -math.inf
    failure: KeySourceError | None = None


class KeySetCache[S]:
    """Cache of key sets by source. `load` raises `KeySourceError`. Use it from one event loop."""

    def __init__(self, load: LoadKeySet[S], clock: Clock, policy: RefreshPolicy) -> None:
        self._load = load
        self._clock = clock
        self._policy = policy
        self._cache: OrderedDict[S, _CachedKeySet] = OrderedDict()
        self._refreshes: SingleFlight[S, _CachedKeySet] = SingleFlight()

    async def find(self, source: S, kid: str, *, seek: bool = True) -> PublicKey | None:
        """Return the key, or `None` if the source does not have it.

        With `seek`, an unknown key causes a load, as often as the policy allows. Raises `keys_unavailable` if there
        are no keys young enough to use.
        """
        cached = self._of(source)
        age = self._clock.monotonic() - cached.checked_at
        if age >= 2 * self._policy.refresh_s or (seek and kid not in cached.keys):
            if self._is_due(cached):
                # The result counts even if the source was evicted from the cache meanwhile.
                cached = await self._refreshes.run(source, partial(self._refresh, source))
        elif age >= self._policy.refresh_s and self._is_due(cached):
            # Refresh in the background: the cached keys may be used until twice this age.
            self._refreshes.start(source, partial(self._refresh, source))
        self._check(cached, kid if seek else None)
        return cached.keys.get(kid)

    def evict(self, source: S) -> None:
        """Load the source before the next use."""
        # Race: a load began before the keys changed. Its callers receive the old keys, but nothing stores them, and
        # later callers start a load of their own.
        self._refreshes.forget(source)
        self._cache.pop(source, None)

    def _of(self, source: S) -> _CachedKeySet:
        cached = self._cache.setdefault(source, _CachedKeySet())
        self._cache.move_to_end(source)
        if len(self._cache) > self._policy.count:
            self._cache.popitem(last=False)
        return cached

    def _is_due(self, cached: _CachedKeySet) -> bool:
        """Return whether a load is allowed. True during a load, so that callers join it: it may return their key."""
        return self._clock.monotonic() >= cached.next_check

    async def _refresh(self, source: S) -> _CachedKeySet:
        started_at = self._clock.monotonic()
        try:
            keys = await self._load(source)
        except KeySourceError as failure:
            _log.warning("no keys from %s: %s", source, failure)
            cached = self._loaded(source)
            cached.failure = failure
            cached.next_check = self._clock.monotonic() + self._policy.retry_s
        else:
            cached = self._loaded(source)
            cached.keys, cached.checked_at, cached.failure = keys, started_at, None
            cached.next_check = self._clock.monotonic() + min(self._policy.unknown_s, self._policy.refresh_s)
        return cached

    def _loaded(self, source: S) -> _CachedKeySet:
        """Return the key set that a load fills: one that is not shared, if the source was evicted meanwhile."""
        return self._of(source) if self._refreshes.is_current(source) else _CachedKeySet()

    def _check(self, cached: _CachedKeySet, sought: str | None) -> None:
        """Raise `keys_unavailable` if the keys are too old, or if a key is unknown while the source fails.

        The unknown key may be a new one, so the client may try again.
        """
        age = self._clock.monotonic() - cached.checked_at
        max_age = self._policy.outage_s if cached.failure else 2 * self._policy.refresh_s
        if age > max_age or (cached.failure and sought is not None and sought not in cached.keys):
            raise TidingsError(
                Code.KEYS_UNAVAILABLE,
                "The keys that verify this credential are temporarily unavailable. Try again later.",
            ) from cached.failure


REGISTERED = RefreshPolicy(refresh_s=15.0, unknown_s=5.0, retry_s=5.0, outage_s=600.0)
PUBLISHED = RefreshPolicy(refresh_s=300.0, unknown_s=30.0, retry_s=10.0, outage_s=3600.0)


class JwksSource(NamedTuple):
    """A cache key. Tenants with the same URL share nothing, and a tenant's new URL starts with an empty cache."""

    tenant: TenantId
    url: str


class VerificationKeys:
    """Find a tenant's public keys. Use it from one event loop."""

    def __init__(
        self,
        store: SigningKeyStore,
        fetch: FetchJwks,
        clock: Clock,
        *,
        registered: RefreshPolicy = REGISTERED,
        published: RefreshPolicy = PUBLISHED,
    ) -> None:
        self._store = store
        self._fetch = fetch
        self._registered: KeySetCache[TenantId] = KeySetCache(self._load_registered, clock, registered)
        self._published: KeySetCache[JwksSource] = KeySetCache(self._load_published, clock, published)

    async def find(self, tenant: Tenant, kid: str) -> PublicKey | None:
        """Return a key by `kid`. A registered key takes precedence: if it is retired, the URL cannot replace it."""
        url = tenant.settings.tokens.jwks_url
        key = await self._registered.find(tenant.id, kid, seek=url is None)
        if key is None and url is not None:
            key = await self._published.find(JwksSource(tenant.id, url), kid)
        return key

    def evict(self, tenant: TenantId) -> None:
        """Read the registered keys again before the next use. Keys at a URL are not affected."""
        self._registered.evict(tenant)

    async def _load_registered(self, tenant: TenantId) -> Mapping[str, PublicKey]:
        try:
            rows = await self._store.list(tenant)
        except TidingsError as error:
            raise KeySourceError(error.message) from error
        try:
            return {row.kid: read_key(row.jwk, row.not_after_ms) for row in rows}
        except BadKeyError as error:
            raise KeySourceError(f"a stored key is invalid: {error}") from error

    async def _load_published(self, source: JwksSource) -> Mapping[str, PublicKey]:
        try:
            return read_jwks(await self._fetch(source.url))
        except BadKeyError as error:
            raise KeySourceError(f"the document is not a JWKS: {error}") from error
