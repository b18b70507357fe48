"""API keys of a tenant's servers. Operators issue, list, rotate and revoke them; requests present them.

Format: `tidings_sk.<tenant>.<key id>.<secret>`. Only a SHA-256 of the secret is stored: the secret is 32 random bytes,
so a slow hash would protect nothing. A revoked key stops working within `CachePolicy.fresh_s`. The last use of a key
is written at most once an hour.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from msgspec import Struct

from tidings.accounts.model import Principal, Scope
from tidings.accounts.rules import CredentialRejectedError, to_public_error
from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock, format_ms_or_none
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, new_ulid
from tidings.kernel.security import Secret, SecurityEventKind, record_security_event

PREFIX = "tidings_sk."
CACHE_POLICY = CachePolicy(fresh_s=10.0, outage_s=60.0)
SECRET_BYTES = 32
NAME_CHARACTERS = 32
USE_S = 3600
"""Minimum time between two writes of a key's last use."""
_FORM = re.compile(r"tidings_sk\.([a-z0-9-]{1,32})\.([0-9A-Z]{26})\.([A-Za-z0-9_-]{43})")


class ApiKeyName(NamedTuple):
    tenant: TenantId
    key: str


class ApiKey(Struct, frozen=True, kw_only=True):
    """A stored API key. It contains only the hash of the secret."""

    name: ApiKeyName
    title: str
    scopes: frozenset[Scope]
    secret_hash: bytes
    created_at_ms: int
    revoked_at_ms: int | None = None
    expires_at_ms: int | None = None
    last_used_at_ms: int | None = None


class IssuedApiKey(NamedTuple):
    """A new API key. `text` contains the secret and cannot be shown again."""

    key: ApiKey
    text: Secret


class ApiKeyStore(Protocol):
    """Store of API keys. Every method raises `keys_unavailable` while the store is unavailable."""

    async def add(self, key: ApiKey, /) -> None:
        """Store a new key. Raise, and write nothing, if the name exists."""
        ...

    async def find(self, name: ApiKeyName, /) -> ApiKey | None:
        """Read a key. Strongly consistent."""
        ...

    async def list(self, tenant: TenantId, /) -> Sequence[ApiKey]:
        """List all keys including revoked ones, oldest first. Eventually consistent."""
        ...

    async def revoke(self, name: ApiKeyName, at_ms: int, /) -> bool:
        """Revoke a key. Safe to repeat: the first time is kept. False: the key does not exist."""
        ...

    async def use(self, name: ApiKeyName, at_ms: int, before_ms: int, /) -> None:
        """Set the last use to `at_ms` if the key exists and its last use is earlier than `before_ms`; atomic."""
        ...


class ApiKeyService:
    """Issue, revoke and verify API keys. Use it from one event loop."""

    def __init__(self, store: ApiKeyStore, clock: Clock, policy: CachePolicy = CACHE_POLICY) -> None:
        self._store = store
        self._clock = clock
        self._cache: Cache[ApiKeyName, ApiKey] = Cache(store.find, clock, policy)
        # Keys whose use this process tried to write: it tries once per key and `USE_S`.
        self._used: Cache[ApiKeyName, int] = Cache(self._use, clock, CachePolicy(fresh_s=USE_S))

    async def issue(
        self, tenant: TenantId, title: str, scopes: Iterable[Scope], life_s: int | None = None
    ) -> IssuedApiKey:
        """Issue a key that expires after `life_s`, or never if it is `None`."""
        _check_title(title)
        now_ms = self._clock.now_ms()
        name, secret = ApiKeyName(tenant, new_ulid()), secrets.token_urlsafe(SECRET_BYTES)
        key = ApiKey(
            name=name,
            title=title,
            scopes=frozenset(scopes),
            secret_hash=_hash(secret),
            created_at_ms=now_ms,
            expires_at_ms=None if life_s is None else now_ms + life_s * 1000,
        )
        await self._store.add(key)
        note_change(None, _noted(key))
        record_security_event(SecurityEventKind.API_KEY_ISSUED, tenant=tenant, subject=name.key, reason=title)
        return IssuedApiKey(key, Secret(f"{PREFIX}{name.tenant}.{name.key}.{secret}"))

    async def rotate(self, name: ApiKeyName) -> IssuedApiKey:
        """Issue a key with the same title, scopes and lifetime. The old key works until it is revoked."""
        old = await self._store.find(name)
        if old is None or old.revoked_at_ms is not None:
            raise _no_such_key(name)
        life_s = None if old.expires_at_ms is None else (old.expires_at_ms - old.created_at_ms) // 1000
        return await self.issue(name.tenant, old.title, old.scopes, life_s)

    async def list(self, tenant: TenantId) -> Sequence[ApiKey]:
        return await self._store.list(tenant)

    async def revoke(self, name: ApiKeyName) -> None:
        if not await self._store.revoke(name, self._clock.now_ms()):
            raise _no_such_key(name)
        note_change({"key": name.key, "revoked": False}, {"key": name.key, "revoked": True})
        record_security_event(SecurityEventKind.API_KEY_REVOKED, tenant=name.tenant, subject=name.key)
        self._cache.evict(name)

    async def verify(self, text: str) -> Principal:
        """Verify a key and record its use. Raise `credential_invalid` or `credential_expired`."""
        try:
            key = await self._examine(text)
        except CredentialRejectedError as refused:
            raise to_public_error(refused) from refused
        await self._used.get(key.name)
        return _principal(key)

    async def examine(self, text: str) -> Principal:
        """Verify a key without recording its use. Raise `CredentialRejectedError` with the reason."""
        return _principal(await self._examine(text))

    async def _examine(self, text: str) -> ApiKey:
        form = _FORM.fullmatch(text)
        if form is None:
            raise CredentialRejectedError(f"it does not have the form {PREFIX}<tenant>.<key id>.<secret>")
        tenant, key_id, secret = form.groups()
        key = await self._cache.get(ApiKeyName(TenantId(tenant), key_id))
        if key is None:
            raise CredentialRejectedError(f"{tenant} has no API key {key_id}")
        if not hmac.compare_digest(key.secret_hash, _hash(secret)):
            raise CredentialRejectedError(f"wrong secret for API key {key_id}")
        if key.revoked_at_ms is not None:
            raise CredentialRejectedError(f"API key {key_id} was revoked")
        if key.expires_at_ms is not None and key.expires_at_ms <= self._clock.now_ms():
            raise CredentialRejectedError(
                f"API key {key_id} expired",
                is_expired=True,
                renewal="Ask an operator for a new API key: `tidings tenant api-key new`.",
            )
        return key

    async def _use(self, name: ApiKeyName) -> int:
        """Write the use, unless another process did within `USE_S`. Best effort: errors are ignored."""
        now_ms = self._clock.now_ms()
        with suppress(TidingsError):
            await self._store.use(name, now_ms, now_ms - USE_S * 1000)
        return now_ms


def _principal(key: ApiKey) -> Principal:
    return Principal(tenant=key.name.tenant, scopes=key.scopes, api_key=key.name.key)


def _noted(key: ApiKey) -> dict[str, object]:
    return {
        "key": key.name.key,
        "title": key.title,
        "scopes": sorted(key.scopes),
        "expires_at": format_ms_or_none(key.expires_at_ms),
    }


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _check_title(title: str) -> None:
    if not 0 < len(title) <= NAME_CHARACTERS:
        raise TidingsError(
            Code.REQUEST_INVALID, f"The name of an API key must have 1 to {NAME_CHARACTERS} characters."
        )


def _no_such_key(name: ApiKeyName) -> TidingsError:
    return TidingsError(
        Code.REQUEST_INVALID,
        f"Tenant {name.tenant} has no active API key {name.key}.",
        hint="List the keys with `tidings tenant api-key list`.",
    )
