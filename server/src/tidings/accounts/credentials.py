"""Verify credentials: JWTs that a tenant's server signed, and the chain that tries every kind of credential.

The unverified claim `tenant` only selects the key set. Every other claim is read after the signature was verified.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidings.accounts.api_keys import PREFIX, ApiKeyService
from tidings.accounts.jwt import (
    FORBIDDEN_HEADERS,
    Json,
    SignatureCache,
    TokenClaims,
    parse_claims,
    read_jwt_body,
    read_jwt_header,
    split_jwt,
)
from tidings.accounts.model import Principal, Revocation
from tidings.accounts.ports import CredentialVerifier
from tidings.accounts.rules import CredentialRejectedError, to_public_error
from tidings.accounts.session_tokens import ACCESS_JWT_TYPE, ISSUER
from tidings.accounts.signing_keys import ALGORITHMS, MAX_KID_BYTES, PublicKey
from tidings.accounts.users import UserAdmission
from tidings.accounts.verification_keys import VerificationKeys
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId
from tidings.tenants.model import Tenant, TenantLookup


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPolicy:
    """Limits and cache sizes of token verification.

    cache_s: how long a verified token is accepted without reading keys and settings again.
    signed_count: maximum number of tokens whose verified signature is cached.
    """

    max_lifetime_s: float = 86_400.0
    cache_s: float = 10.0
    max_cached: int = 20_000
    signed_count: int = 50_000


class _Verified(NamedTuple):
    principal: Principal
    until: float


class UserTokenVerifier:
    """Verify tokens of the tenants' servers. Use it from one event loop."""

    def __init__(
        self, tenants: TenantLookup, keys: VerificationKeys, clock: Clock, policy: TokenPolicy
    ) -> None:
        self._tenants = tenants
        self._keys = keys
        self._clock = clock
        self._policy = policy
        self._verified: OrderedDict[bytes, _Verified] = OrderedDict()
        self._evictions = 0
        self._signatures = SignatureCache(policy.signed_count)

    async def verify(self, token: str) -> Principal:
        """Raise `credential_invalid` or `credential_expired`; `keys_unavailable` while no keys can be read."""
        digest = _digest(token)
        if (cached := self._find_cached(digest)) is not None:
            return cached
        evictions = self._evictions
        try:
            principal = await self.examine(token)
        except CredentialRejectedError as refused:
            raise to_public_error(refused) from refused
        # Race: the key is revoked while it is read here. The result is from before the eviction and must not be cached.
        if evictions == self._evictions:
            self._cache(digest, principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        """Raise `credential_invalid` if the key that signed the token was removed or retired."""
        tenant = await self._tenants.find(principal.tenant)
        kid = principal.signed_by
        key = None if tenant is None or kid is None else await self._keys.find(tenant, kid)
        if key is None or self._is_retired(key):
            raise to_public_error(
                CredentialRejectedError(f"key {kid} of {principal.tenant} was removed or retired")
            )

    def evict(self, revocation: Revocation) -> None:
        if revocation.kid is not None:
            self._keys.evict(revocation.tenant)
            self._verified.clear()
            self._evictions += 1

    async def examine(self, token: str) -> Principal:
        """Verify a token without caching the result, except its signature. Raise `CredentialRejectedError`."""
        segments = split_jwt(token)
        header, claims = read_jwt_header(segments.header), read_jwt_body(segments.claims)
        algorithm, kid = _check_header(header)
        tenant = await self._find_tenant(claims)
        key = await self._keys.find(tenant, kid)
        if key is None:
            raise CredentialRejectedError(
                f"{tenant.id} has no key {kid!r}: neither registered nor at its JWKS URL"
            )
        self._check_key(key, algorithm)
        _check_typ(header, tenant)
        self._signatures.check(_digest(token), token, key)
        parsed = parse_claims(claims)
        parsed.check(tenant, self._clock.now_ms() / 1000, self._policy.max_lifetime_s)
        return _principal(parsed, kid)

    async def _find_tenant(self, claims: Json) -> Tenant:
        name = claims.get("tenant")
        if not isinstance(name, str):
            raise CredentialRejectedError("it has no claim `tenant`, which selects the keys")
        tenant = await self._tenants.find(TenantId(name))
        if tenant is None:
            raise CredentialRejectedError(f"tenant {name!r} does not exist")
        return tenant

    def _check_key(self, key: PublicKey, algorithm: str) -> None:
        if algorithm not in key.algorithms:
            raise CredentialRejectedError(f"its `alg` {algorithm} is not one of key {key.kid}")
        if self._is_retired(key):
            raise CredentialRejectedError(f"key {key.kid} is retired")

    def _is_retired(self, key: PublicKey) -> bool:
        return key.not_after_ms is not None and key.not_after_ms <= self._clock.now_ms()

    def _find_cached(self, digest: bytes) -> Principal | None:
        cached = self._verified.get(digest)
        if cached is None:
            return None
        expires_at_ms = cached.principal.expires_at_ms
        is_live = expires_at_ms is None or self._clock.now_ms() < expires_at_ms
        if is_live and self._clock.monotonic() < cached.until:
            return cached.principal
        del self._verified[digest]
        return None

    def _cache(self, digest: bytes, principal: Principal) -> None:
        self._verified[digest] = _Verified(principal, self._clock.monotonic() + self._policy.cache_s)
        if len(self._verified) > self._policy.max_cached:
            self._verified.popitem(last=False)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _check_header(header: Mapping[str, Any]) -> tuple[str, str]:
    """Return the algorithm and the `kid`."""
    if forbidden := [name for name in FORBIDDEN_HEADERS if name in header]:
        raise CredentialRejectedError(
            f"its header has {forbidden}; keys and extensions are not accepted from a token"
        )
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise CredentialRejectedError(f"its `alg` is {algorithm!r}; allowed are {sorted(ALGORITHMS)}")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_BYTES:
        raise CredentialRejectedError("its header has no `kid`, which selects the key")
    return algorithm, kid


def _check_typ(header: Mapping[str, Any], tenant: Tenant) -> None:
    """Compare media types without case and without the prefix `application/` (RFC 7515, 4.1.9)."""
    wanted, typ = tenant.settings.tokens.typ, header.get("typ")
    if wanted is not None and (not isinstance(typ, str) or _media_type(typ) != _media_type(wanted)):
        raise CredentialRejectedError(f"its `typ` {typ!r} is not {wanted!r}")


def _media_type(typ: str) -> str:
    return typ.lower().removeprefix("application/")


def _principal(claims: TokenClaims, kid: str) -> Principal:
    return Principal(
        tenant=claims.tenant,
        user=claims.user,
        device=claims.device,
        issued_at_ms=None if claims.issued_at_s is None else round(claims.issued_at_s * 1000),
        expires_at_ms=round(claims.expires_at_s * 1000),
        signed_by=kid,
    )


class CredentialVerifierChain:
    """Verify any credential: an API key, an access token of a session, or a token of the tenant's server.

    The kind is chosen from the credential's text before verification, so each credential has exactly one verifier.
    """

    def __init__(
        self,
        api_keys: ApiKeyService,
        access: CredentialVerifier,
        users: CredentialVerifier,
        admission: UserAdmission,
    ) -> None:
        self._api_keys = api_keys
        self._access = access
        self._users = users
        self._admission = admission
        self._deleted: set[TenantId] = set()

    async def verify(self, bearer: str) -> Principal:
        """Return the principal of a credential. Create its user on first use.

        Raises `credential_invalid`, `credential_expired`, `forbidden` for a suspended user, and `keys_unavailable`
        while no decision is possible.
        """
        if bearer.startswith(PREFIX):
            principal = await self._api_keys.verify(bearer)
            self._check_tenant(principal)
            return principal
        try:
            is_session_token = is_access_token(bearer)
        except CredentialRejectedError as refused:
            raise to_public_error(refused) from refused
        principal = await (self._access if is_session_token else self._users).verify(bearer)
        self._check_tenant(principal)
        await self._admission.check(principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        """Raise what `verify` would raise now for the user credential that this principal was verified with."""
        self._check_tenant(principal)
        await (self._users if principal.session is None else self._access).recheck(principal)
        await self._admission.check(principal)

    def evict(self, revocation: Revocation) -> None:
        """Drop cached state that the revocation makes stale."""
        # The caches have rows and keys of a deleted tenant for up to a minute.
        if revocation.is_of_tenant:
            self._deleted.add(revocation.tenant)
        if revocation.user is not None:
            self._admission.evict(revocation.tenant, revocation.user)
        self._access.evict(revocation)
        self._users.evict(revocation)

    def _check_tenant(self, principal: Principal) -> None:
        if principal.tenant in self._deleted:
            raise to_public_error(CredentialRejectedError(f"tenant {principal.tenant} was deleted"))


def is_access_token(token: str) -> bool:
    """Return whether Tidings issued the token, by its unverified type and issuer. Raise `CredentialRejectedError`."""
    segments = split_jwt(token)
    if read_jwt_header(segments.header).get("typ") != ACCESS_JWT_TYPE:
        return False
    return read_jwt_body(segments.claims).get("iss") == ISSUER
