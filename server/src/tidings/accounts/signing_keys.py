"""Signing keys of a tenant, as JWK: Ed25519 and P-256. Operators add, list and retire them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey
from msgspec import Struct

from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock, format_ms, format_ms_or_none
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, new_ulid
from tidings.kernel.security import SecurityEventKind, record_security_event

type Jwk = Mapping[str, Any]
type KeyAlgorithm = Literal["Ed25519", "P-256"]

MAX_KID_BYTES = 128
MAX_KEYS = 50
_NUMBERS = ("kty", "crv", "x", "y")
_PUBLIC = (*_NUMBERS, "kid", "use", "alg")
_ALGORITHMS: Mapping[tuple[str, str], frozenset[str]] = {
    ("OKP", "Ed25519"): frozenset({"EdDSA", "Ed25519"}),
    ("EC", "P-256"): frozenset({"ES256"}),
}
_KEYS: Mapping[str, Callable[[dict[str, Any]], ECKey | OKPKey]] = {
    "EC": ECKey.import_key,
    "OKP": OKPKey.import_key,
}
ALGORITHMS = frozenset().union(*_ALGORITHMS.values())


class BadKeyError(ValueError):
    """A JWK cannot be used. The message never contains key material."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key. `algorithms` are the allowed `alg` values of tokens signed with it."""

    kid: str
    algorithms: frozenset[str]
    key: ECKey | OKPKey
    not_after_ms: int | None = None


def make_pair(kind: KeyAlgorithm) -> dict[str, Any]:
    """Return a new private JWK with a unique `kid`. Store only its `public_part`."""
    key = OKPKey.generate_key(kind) if kind == "Ed25519" else ECKey.generate_key(kind)
    algorithm = "EdDSA" if kind == "Ed25519" else "ES256"
    return {**key.as_dict(private=True), "kid": new_ulid(), "use": "sig", "alg": algorithm}


def public_part(jwk: Jwk) -> dict[str, Any]:
    """Return only the members that are known to be public."""
    return {name: jwk[name] for name in _PUBLIC if name in jwk}


def read_key(jwk: object, not_after_ms: int | None = None) -> PublicKey:
    """Parse a JWK; of a private key, its public part. Raise `BadKeyError`."""
    if not isinstance(jwk, Mapping):
        raise BadKeyError("it is not a JSON object")
    kid = jwk.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid.encode(errors="replace")) <= MAX_KID_BYTES:
        raise BadKeyError(f"it needs a `kid` of 1 to {MAX_KID_BYTES} bytes")
    uses = jwk.get("key_ops", ["verify"])
    if jwk.get("use", "sig") != "sig" or not isinstance(uses, list) or "verify" not in uses:
        raise BadKeyError("its `use` or `key_ops` do not allow verifying signatures")
    algorithms = _algorithms(jwk)
    try:
        # Without `alg` and `use`, which were checked above: joserfc treats EdDSA and Ed25519 as different.
        key = _KEYS[jwk["kty"]]({name: jwk[name] for name in _NUMBERS if name in jwk})
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise BadKeyError("its parameters are not a valid public key") from error
    return PublicKey(kid, algorithms, key, not_after_ms)


def _algorithms(jwk: Jwk) -> frozenset[str]:
    allowed = _ALGORITHMS.get((str(jwk.get("kty")), str(jwk.get("crv"))))
    if allowed is None:
        raise BadKeyError("it is neither an Ed25519 nor a P-256 key")
    algorithm = jwk.get("alg")
    if algorithm is not None and algorithm not in tuple(allowed):
        raise BadKeyError("its `alg` does not match its key type")
    return allowed


def read_jwks(body: bytes) -> dict[str, PublicKey]:
    """Return the usable keys of a JWKS document by `kid`; the first one if a `kid` is repeated.

    Ignores keys of other types. Raises `BadKeyError` if the document is not a JWKS.
    """
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadKeyError("it is not JSON") from error
    keys = document.get("keys")
    if not isinstance(keys, list) or len(keys) > MAX_KEYS:
        raise BadKeyError(f"it needs a list `keys` with at most {MAX_KEYS} keys")
    found: dict[str, PublicKey] = {}
    for jwk in keys:
        # A key of another type is not an error: it is for other clients of the identity provider.
        with suppress(BadKeyError):
            key = read_key(jwk)
            found.setdefault(key.kid, key)
    return found


class SigningKey(Struct, frozen=True, kw_only=True):
    """A registered key. `jwk` is public. From `not_after_ms` on, all tokens signed with it are refused."""

    tenant: TenantId
    kid: str
    jwk: dict[str, Any]
    created_at_ms: int
    not_after_ms: int | None = None


class NewPair(NamedTuple):
    """A new key pair. `private` is shown once and not stored."""

    key: SigningKey
    private: dict[str, Any]


class SigningKeyStore(Protocol):
    """Store of signing keys. Every method raises `keys_unavailable` while the store is unavailable."""

    async def list(self, tenant: TenantId, /) -> Sequence[SigningKey]:
        """List all keys, including retired ones. Strongly consistent."""
        ...

    async def add(self, key: SigningKey, /) -> bool:
        """Store a new key. False: the `kid` exists, and its key is unchanged."""
        ...

    async def retire(self, key: SigningKey, not_after_ms: int, /) -> bool:
        """Set the end of a key and write its revocation; atomic. False: the key was changed since it was read."""
        ...


class SigningKeyService:
    def __init__(self, store: SigningKeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make(self, tenant: TenantId, kind: KeyAlgorithm) -> NewPair:
        private = make_pair(kind)
        return NewPair(await self.add(tenant, private), private)

    async def add(self, tenant: TenantId, jwk: Jwk) -> SigningKey:
        """Register a key. Of a private key, only the public part is stored."""
        try:
            kid = read_key(jwk).kid
        except BadKeyError as error:
            raise TidingsError(Code.REQUEST_INVALID, f"The key cannot be used: {error}.") from error
        key = SigningKey(tenant=tenant, kid=kid, jwk=public_part(jwk), created_at_ms=self._clock.now_ms())
        if not await self._store.add(key):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"Tenant {tenant} already has a key {kid}.",
                hint="Use a new `kid`: it cannot be reused, even after its key was retired.",
            )
        note_change(None, {"kid": kid, "jwk": key.jwk})
        record_security_event(SecurityEventKind.SIGNING_KEY_ADDED, tenant=tenant, subject=kid)
        return key

    async def list(self, tenant: TenantId) -> Sequence[SigningKey]:
        return await self._store.list(tenant)

    async def retire(self, tenant: TenantId, kid: str, not_after_ms: int) -> SigningKey:
        for key in await self._store.list(tenant):
            if key.kid == kid and await self._store.retire(key, not_after_ms):
                before, after = format_ms_or_none(key.not_after_ms), format_ms(not_after_ms)
                note_change({"kid": kid, "not_after": before}, {"kid": kid, "not_after": after})
                record_security_event(SecurityEventKind.SIGNING_KEY_RETIRED, tenant=tenant, subject=kid)
                return key
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"Tenant {tenant} has no key {kid}.",
            hint="List the keys with `tidings tenant key list`.",
        )
