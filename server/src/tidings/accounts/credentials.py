"""Users' tokens that the customer's own server minted: a JWT, signed with a key of the tenant that it names.

The unverified `tenant` chooses the key set and nothing else; what counts is said after the signature was checked.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tidings.accounts.api_keys import PREFIX
from tidings.accounts.jwt import (
    NOT_IN_A_HEADER,
    ClaimsPolicy,
    Json,
    SignatureCache,
    read_claims,
    read_jwt_body,
    read_jwt_header,
    split_jwt,
)
from tidings.accounts.model import Principal
from tidings.accounts.rules import CredentialRejectedError, to_public_error
from tidings.accounts.session_cache import Revocation
from tidings.accounts.signing_keys import ALGORITHMS, MAX_KID_BYTES, PublicKey
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId
from tidings.tenants.model import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPolicy:
    """`cache_s`: how long a token that was verified is taken again without a look at keys and settings.

    `signed_count`: of so many it is remembered that their signature was good, for whenever they come again.
    """

    max_lifetime_s: float = 86_400.0
    cache_s: float = 10.0
    max_cached: int = 20_000
    signed_count: int = 50_000


class TenantSource(Protocol):
    async def find(self, tenant: TenantId, /) -> Tenant | None: ...


class KeySource(Protocol):
    async def find(self, tenant: Tenant, kid: str, /) -> PublicKey | None: ...

    def evict(self, tenant: TenantId, /) -> None:
        """Read the tenant's registered keys again before the next use."""
        ...


class _Verified(NamedTuple):
    principal: Principal
    until: float


class UserTokenVerifier:
    """Belongs to the event loop that it is used in."""

    def __init__(self, tenants: TenantSource, keys: KeySource, clock: Clock, policy: TokenPolicy) -> None:
        self._tenants = tenants
        self._keys = keys
        self._clock = clock
        self._policy = policy
        self._verified: OrderedDict[bytes, _Verified] = OrderedDict()
        self._signatures = SignatureCache(policy.signed_count)

    async def verify(self, token: str) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; `keys_unavailable` while there is nothing to ask."""
        digest = _digest(token)
        if (again := self._recall(digest)) is not None:
            return again
        try:
            principal = await self.examine(token)
        except CredentialRejectedError as refused:
            raise to_public_error(refused) from refused
        self._remember(digest, principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        """Raise `credential_invalid` once the key that signed the token is gone or retired."""
        tenant = await self._tenants.find(principal.tenant)
        kid = principal.signed_by
        key = None if tenant is None or kid is None else await self._keys.find(tenant, kid)
        if key is None or self._is_retired(key):
            raise to_public_error(
                CredentialRejectedError(f"key {kid} of {principal.tenant} is gone or retired")
            )

    def evict(self, revocation: Revocation) -> None:
        if revocation.kid is not None:
            self._keys.evict(revocation.tenant)
            self._verified.clear()

    async def examine(self, token: str) -> Principal:
        """Raises `CredentialRejectedError`, which says why. Remembers of it only that its signature was good."""
        segments = split_jwt(token)
        header, claims = read_jwt_header(segments.header), read_jwt_body(segments.claims)
        algorithm, kid = _check_header(header)
        tenant = await self._tenant_named(claims)
        key = await self._keys.find(tenant, kid)
        if key is None:
            raise CredentialRejectedError(
                f"{tenant.id} has no key {kid!r}: neither registered nor at its JWKS URL"
            )
        self._check_key(key, algorithm)
        _check_typ(header, tenant)
        self._signatures.check(_digest(token), token, key)
        said = read_claims(claims)
        said.check(tenant, self._clock.now_ms() / 1000, self._policy.max_lifetime_s)
        return _principal(said, kid)

    async def _tenant_named(self, claims: Json) -> Tenant:
        name = claims.get("tenant")
        if not isinstance(name, str):
            raise CredentialRejectedError("it has no claim `tenant`, so its keys can't be found")
        tenant = await self._tenants.find(TenantId(name))
        if tenant is None:
            raise CredentialRejectedError(f"there is no tenant {name!r}")
        return tenant

    def _check_key(self, key: PublicKey, algorithm: str) -> None:
        if algorithm not in key.algorithms:
            raise CredentialRejectedError(f"its `alg` {algorithm} is not one of key {key.kid}")
        if self._is_retired(key):
            raise CredentialRejectedError(f"key {key.kid} is retired")

    def _is_retired(self, key: PublicKey) -> bool:
        return key.not_after_ms is not None and key.not_after_ms <= self._clock.now_ms()

    def _recall(self, digest: bytes) -> Principal | None:
        kept = self._verified.get(digest)
        if kept is None:
            return None
        over_at = kept.principal.expires_at_ms
        if self._clock.monotonic() < kept.until and (over_at is None or self._clock.now_ms() < over_at):
            return kept.principal
        del self._verified[digest]
        return None

    def _remember(self, digest: bytes, principal: Principal) -> None:
        self._verified[digest] = _Verified(principal, self._clock.monotonic() + self._policy.cache_s)
        if len(self._verified) > self._policy.max_cached:
            self._verified.popitem(last=False)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _check_header(header: Mapping[str, Any]) -> tuple[str, str]:
    """The algorithm and the key that it names."""
    if strange := [name for name in NOT_IN_A_HEADER if name in header]:
        raise CredentialRejectedError(
            f"its header has {strange}; keys and extensions are not taken from a token"
        )
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise CredentialRejectedError(f"its `alg` is {algorithm!r}, allowed are {sorted(ALGORITHMS)}")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_BYTES:
        raise CredentialRejectedError("its header has no `kid`, so its key can't be found")
    return algorithm, kid


def _check_typ(header: Mapping[str, Any], tenant: Tenant) -> None:
    """Media types are compared without case, and `application/` may be left out (RFC 7515, 4.1.9)."""
    wanted, typ = tenant.settings.tokens.typ, header.get("typ")
    if wanted is not None and (not isinstance(typ, str) or _media_type(typ) != _media_type(wanted)):
        raise CredentialRejectedError(f"its `typ` {typ!r} is not {wanted!r}")


def _media_type(typ: str) -> str:
    return typ.lower().removeprefix("application/")


def _principal(said: ClaimsPolicy, kid: str) -> Principal:
    return Principal(
        tenant=said.tenant,
        user=said.user,
        device=said.device,
        issued_at_ms=None if said.issued_at_s is None else round(said.issued_at_s * 1000),
        expires_at_ms=round(said.expires_at_s * 1000),
        signed_by=kid,
    )


ACCESS_TYP = "at+jwt"
ISSUER = "tidings"


class CredentialVerifier(Protocol):
    async def verify(self, text: str, /) -> Principal: ...


class UserVerifier(CredentialVerifier, Protocol):
    async def recheck(self, principal: Principal, /) -> None:
        """Raise if the credential that this principal came from would be refused now."""
        ...

    def evict(self, revocation: Revocation, /) -> None: ...


class AdmissionCheck(Protocol):
    async def check(self, principal: Principal, /) -> None: ...

    def evict(self, tenant: TenantId, user: UserId, /) -> None: ...


class CredentialVerifierChain:
    """`access`: short tokens that Tidings issues itself, for sessions that began with a phone code."""

    def __init__(
        self,
        api_keys: CredentialVerifier,
        access: UserVerifier,
        users: UserVerifier,
        admission: AdmissionCheck,
    ) -> None:
        self._api_keys = api_keys
        self._access = access
        self._users = users
        self._admission = admission

    async def verify(self, bearer: str) -> Principal:
        """Raise `credential_invalid`, `credential_expired`, `forbidden` for a suspended user; `keys_unavailable` while
        it can't be decided. A user who was not known exists from here on.
        """
        if bearer.startswith(PREFIX):
            return await self._api_keys.verify(bearer)
        try:
            is_own = is_access_token(bearer)
        except CredentialRejectedError as refused:
            raise to_public_error(refused) from refused
        principal = await (self._access.verify(bearer) if is_own else self._users.verify(bearer))
        await self._admission.check(principal)
        return principal

    async def recheck(self, principal: Principal) -> None:
        """Raise what `verify` would raise now for the user's credential that gave this principal."""
        await (self._users if principal.session is None else self._access).recheck(principal)
        await self._admission.check(principal)

    def evict(self, revocation: Revocation) -> None:
        """Read again what this revocation is about."""
        if revocation.user is not None:
            self._admission.evict(revocation.tenant, revocation.user)
        self._access.evict(revocation)
        self._users.evict(revocation)


def is_access_token(token: str) -> bool:
    """By what it says of itself. Raises `CredentialRejectedError` for what is no token at all."""
    segments = split_jwt(token)
    if read_jwt_header(segments.header).get("typ") != ACCESS_TYP:
        return False
    return read_jwt_body(segments.claims).get("iss") == ISSUER
