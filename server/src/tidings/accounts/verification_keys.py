"""Keys of one source (a table, a URL) for each who has some: kept, refreshed, looked for again when one is unknown.

Asks a source at most once at a time, and no more often than `RefreshPolicy` says, whatever tokens come in.
"""

import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

from tidings.accounts.signing_keys import BadKeyError, PublicKey, SigningKeyStore, read_jwks, read_key
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.model import Tenant

_log = logging.getLogger(__name__)

type LoadKeySet[S] = Callable[[S], Coroutine[Any, Any, Mapping[str, PublicKey]]]


class KeySourceError(Exception):
    """The source gave no keys: it is away, or what it says is no set of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPolicy:
    """Keys are refreshed when they are `refresh_s` old, and not used when twice as old without having asked again.

    `unknown_s`: between two looks for keys that are not known. `retry_s`: after a source that failed.
    `outage_s`: how old keys may be while it goes on failing.
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
    """Belongs to the event loop that it is used in. `load` raises `KeySourceError`."""

    def __init__(self, load: LoadKeySet[S], clock: Clock, pace: RefreshPolicy) -> None:
        self._load = load
        self._clock = clock
        self._policy = pace
        self._cache: OrderedDict[S, _CachedKeySet] = OrderedDict()
        self._refreshes: SingleFlight[S, _CachedKeySet] = SingleFlight()

    async def find(self, source: S, kid: str, *, seek: bool = True) -> PublicKey | None:
        """None: it has no such key. With `seek` a key that is not known is looked for, as often as the pace allows.

        Raises `keys_unavailable` if there are none that may be used.
        """
        held = self._of(source)
        age = self._clock.monotonic() - held.checked_at
        if age >= 2 * self._policy.refresh_s or (seek and kid not in held.keys):
            if self._is_due(held):
                # what it brings counts even if the source was driven out meanwhile
                held = await self._refreshes.run(source, partial(self._refresh, source))
        elif age >= self._policy.refresh_s and self._is_due(held):
            # nobody waits for this one: the keys at hand will do for as long again
            self._refreshes.start(source, partial(self._refresh, source))
        self._check(held, kid if seek else None)
        return held.keys.get(kid)

    def evict(self, source: S) -> None:
        """Ask the source before the next use. A look under way may still bring the keys from before."""
        self._cache.pop(source, None)

    def _of(self, source: S) -> _CachedKeySet:
        held = self._cache.setdefault(source, _CachedKeySet())
        self._cache.move_to_end(source)
        if len(self._cache) > self._policy.count:
            self._cache.popitem(last=False)
        return held

    def _is_due(self, held: _CachedKeySet) -> bool:
        """Also while one is under way, so that whoever comes then waits for it: it may bring the key."""
        return self._clock.monotonic() >= held.next_check

    async def _refresh(self, source: S) -> _CachedKeySet:
        looked_at = self._clock.monotonic()
        try:
            keys = await self._load(source)
        except KeySourceError as failure:
            _log.warning("no keys from %s: %s", source, failure)
            held = self._of(source)
            held.failure = failure
            held.next_check = self._clock.monotonic() + self._policy.retry_s
        else:
            held = self._of(source)
            held.keys, held.checked_at, held.failure = keys, looked_at, None
            held.next_check = self._clock.monotonic() + min(self._policy.unknown_s, self._policy.refresh_s)
        return held

    def _check(self, held: _CachedKeySet, sought: str | None) -> None:
        """A key that is not known while its source fails may be a new one: that is no reason to send anybody away."""
        age = self._clock.monotonic() - held.checked_at
        allowed = self._policy.outage_s if held.failure else 2 * self._policy.refresh_s
        if age > allowed or (held.failure and sought is not None and sought not in held.keys):
            raise TidingsError(
                Code.KEYS_UNAVAILABLE,
                "The keys that this credential is verified with can't be had right now.",
            ) from held.failure


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
