"""Keys that users' tokens are verified with, as JWK: Ed25519 and P-256 for signatures, nothing else. Pure."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey
from msgspec import Struct

from tidings.kernel.clock import Clock
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
    """Says what is wrong with it; never what it holds."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """`algorithms` are those that a token which names this key may have been signed by."""

    kid: str
    algorithms: frozenset[str]
    key: ECKey | OKPKey
    not_after_ms: int | None = None


def make_pair(kind: KeyAlgorithm) -> dict[str, Any]:
    """A private JWK with a `kid` of its own. `public_part` is what may be kept."""
    made = OKPKey.generate_key(kind) if kind == "Ed25519" else ECKey.generate_key(kind)
    algorithm = "EdDSA" if kind == "Ed25519" else "ES256"
    return {**made.as_dict(private=True), "kid": new_ulid(), "use": "sig", "alg": algorithm}


def public_part(jwk: Jwk) -> dict[str, Any]:
    """By name of what is public, so that nothing else comes along."""
    return {name: jwk[name] for name in _PUBLIC if name in jwk}


def read_key(jwk: object, not_after_ms: int | None = None) -> PublicKey:
    """Raises `BadKeyError`. A private key gives its public part."""
    if not isinstance(jwk, Mapping):
        raise BadKeyError("it is not a JSON object")
    kid = jwk.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid.encode(errors="replace")) <= MAX_KID_BYTES:
        raise BadKeyError(f"it has no `kid` of 1 to {MAX_KID_BYTES} bytes")
    uses = jwk.get("key_ops", ["verify"])
    if jwk.get("use", "sig") != "sig" or not isinstance(uses, list) or "verify" not in uses:
        raise BadKeyError("it is not for verifying signatures: look at its `use` and `key_ops`")
    algorithms = _algorithms(jwk)
    try:
        # without `alg` and `use`, which were judged above: joserfc takes EdDSA and Ed25519 for two
        key = _KEYS[jwk["kty"]]({name: jwk[name] for name in _NUMBERS if name in jwk})
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise BadKeyError("its numbers are not those of a public key") from error
    return PublicKey(kid, algorithms, key, not_after_ms)


def _algorithms(jwk: Jwk) -> frozenset[str]:
    allowed = _ALGORITHMS.get((str(jwk.get("kty")), str(jwk.get("crv"))))
    if allowed is None:
        raise BadKeyError("it is neither an Ed25519 nor a P-256 key")
    said = jwk.get("alg")
    if said is not None and said not in tuple(allowed):
        raise BadKeyError("its `alg` is not one of its kind of key")
    return allowed


def read_jwks(body: bytes) -> dict[str, PublicKey]:
    """The keys of a JWKS document that can be used here, by `kid`; of two with one `kid` the first.

    Keys of other kinds may stand beside them. Raises `BadKeyError` for what is no such document.
    """
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadKeyError("it is not JSON") from error
    keys = document.get("keys")
    if not isinstance(keys, list) or len(keys) > MAX_KEYS:
        raise BadKeyError(f"it has no list `keys` of at most {MAX_KEYS}")
    found: dict[str, PublicKey] = {}
    for jwk in keys:
        # a key of another kind is no fault: it serves somebody else
        with suppress(BadKeyError):
            key = read_key(jwk)
            found.setdefault(key.kid, key)
    return found


class SigningKey(Struct, frozen=True, kw_only=True):
    """`jwk` is public. From `not_after_ms` on no token of this key is taken, whatever else it says."""

    tenant: TenantId
    kid: str
    jwk: dict[str, Any]
    created_at_ms: int
    not_after_ms: int | None = None


class NewPair(NamedTuple):
    """`private` is shown once and kept nowhere."""

    key: SigningKey
    private: dict[str, Any]


class SigningKeyStore(Protocol):
    """Every method raises `keys_unavailable` while the store does not answer."""

    async def list(self, tenant: TenantId, /) -> Sequence[SigningKey]:
        """All, retired ones too. Strong."""
        ...

    async def add(self, key: SigningKey, /) -> bool:
        """False: there is one of this `kid`, and it stays as it is."""
        ...

    async def retire(self, key: SigningKey, not_after_ms: int, /) -> bool:
        """Sets the end. False: it is not there any more as it was read."""
        ...


class SigningKeyService:
    def __init__(self, store: SigningKeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make(self, tenant: TenantId, kind: KeyAlgorithm) -> NewPair:
        private = make_pair(kind)
        return NewPair(await self.add(tenant, private), private)

    async def add(self, tenant: TenantId, jwk: Jwk) -> SigningKey:
        """Of a private key the public part is kept, nothing else."""
        try:
            kid = read_key(jwk).kid
        except BadKeyError as error:
            raise TidingsError(Code.REQUEST_INVALID, f"This key can't be used: {error}.") from error
        key = SigningKey(tenant=tenant, kid=kid, jwk=public_part(jwk), created_at_ms=self._clock.now_ms())
        if not await self._store.add(key):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"{tenant} has a key {kid} already.",
                hint="A `kid` is never used again, not even for a key that was retired.",
            )
        record_security_event(SecurityEventKind.SIGNING_KEY_ADDED, tenant=tenant, subject=kid)
        return key

    async def list(self, tenant: TenantId) -> Sequence[SigningKey]:
        return await self._store.list(tenant)

    async def retire(self, tenant: TenantId, kid: str, not_after_ms: int) -> SigningKey:
        for key in await self._store.list(tenant):
            if key.kid == kid and await self._store.retire(key, not_after_ms):
                record_security_event(SecurityEventKind.SIGNING_KEY_RETIRED, tenant=tenant, subject=kid)
                return key
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{tenant} has no key {kid}.",
            hint="`tidings tenant key list` shows them.",
        )
