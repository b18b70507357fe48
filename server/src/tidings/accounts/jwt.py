"""Parse JWTs within limits, verify their signatures, and check their claims. No I/O.

Unverified header and claims only select the key. A URL or key in a token is never used.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, override

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import import_key
from joserfc.jws import JWSRegistry

from tidings.accounts.rules import CredentialRejectedError
from tidings.accounts.signing_keys import ALGORITHMS, Jwk, PublicKey, read_key
from tidings.kernel.ids import USER_ID_DESCRIPTION, DeviceId, TenantId, UserId, is_user_id
from tidings.tenants.model import Tenant

MAX_TOKEN_BYTES = 8192
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)")
_MAX_HEADER_CHARS = 200
"""Longer headers are not cached, so that unauthenticated clients cannot fill memory. Usual headers are half as long."""
FORBIDDEN_HEADERS = ("jku", "jwk", "x5u", "x5c", "crit", "b64")
"""Headers that carry a key, and extensions that a verifier must understand: none is supported."""

type Json = dict[str, Any]


class Segments(NamedTuple):
    header: str
    claims: str


def split_jwt(token: str) -> Segments:
    """Split a token. Length and characters are checked before anything is decoded."""
    if len(token) > MAX_TOKEN_BYTES:
        raise CredentialRejectedError(f"it is longer than {MAX_TOKEN_BYTES} bytes")
    form = _FORM.fullmatch(token)
    if form is None:
        raise CredentialRejectedError("it does not have three base64url parts separated by dots")
    return Segments(form[1], form[2])


def read_jwt_header(segment: str) -> Mapping[str, Any]:
    return _cached_header(segment) if len(segment) <= _MAX_HEADER_CHARS else _read_object(segment, "header")


@lru_cache(maxsize=1_024)
def _cached_header(segment: str) -> Mapping[str, Any]:
    """Cache headers: all tokens of one key have the same one."""
    return MappingProxyType(_read_object(segment, "header"))


def read_jwt_body(segment: str) -> Json:
    return _read_object(segment, "claims")


def _read_object(segment: str, part: str) -> Json:
    """Decode a JSON object without duplicate names: with them, two parsers could see different claims."""
    try:
        value = _read(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)).decode())
    except (ValueError, RecursionError) as error:
        raise CredentialRejectedError(f"its {part} cannot be decoded: {type(error).__name__}") from error
    if not isinstance(value, dict):
        raise CredentialRejectedError(f"its {part} is not a JSON object")
    return value


def _unique_names(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise CredentialRejectedError("one of its JSON objects has a duplicate name")
    return value


def _no_constant(name: str) -> float:
    raise CredentialRejectedError(f"{name} is not JSON")


_read = json.JSONDecoder(object_pairs_hook=_unique_names, parse_constant=_no_constant).decode


class _Registry(JWSRegistry):
    """Maps `EdDSA` to Ed25519: joserfc would also accept Ed448, and log a warning with each token."""

    @override
    def get_alg(self, name: str) -> JWSAlgModel:
        return super().get_alg("Ed25519" if name == "EdDSA" else name)


_REGISTRY = _Registry(algorithms=sorted(ALGORITHMS - {"EdDSA"}), strict_check_header=False)


def check_signature(token: str, key: PublicKey) -> None:
    """Raise `CredentialRejectedError` unless `key` signed the token."""
    try:
        jws.deserialize_compact(token, key.key, registry=_REGISTRY)
    except (JoseError, ValueError) as error:
        raise CredentialRejectedError(
            f"its signature does not match key {key.kid}: {type(error).__name__}"
        ) from error


class SignatureCache:
    """Remember verified signatures by the digest of the token. Verifying one is the most expensive step.

    A verified signature never becomes invalid. The caller checks with each use that the key still belongs to the
    tenant and that the claims are valid.
    """

    def __init__(self, max_count: int) -> None:
        self._max_count = max_count
        self._verified: OrderedDict[bytes, PublicKey] = OrderedDict()

    def check(self, digest: bytes, token: str, key: PublicKey) -> None:
        """Raise `CredentialRejectedError` unless `key` signed the token."""
        known = self._verified.get(digest)
        if known is None or not _is_same(known, key):
            check_signature(token, key)
        self._verified[digest] = key
        self._verified.move_to_end(digest)
        if len(self._verified) > self._max_count:
            self._verified.popitem(last=False)


def _is_same(one: PublicKey, other: PublicKey) -> bool:
    """Compare by value: a key that was read again is another object."""
    return one is other or one.key.as_dict() == other.key.as_dict()


def user_claims(
    tenant: str, user: str, *, now_s: int, life_s: int, audience: str = "tidings"
) -> dict[str, Any]:
    """Return the claims of a user's token."""
    return {"tenant": tenant, "sub": user, "aud": audience, "iat": now_s, "exp": now_s + life_s}


def sign_jws(claims: Mapping[str, Any], private: Jwk) -> str:
    """Sign a token as a tenant's server does. Raise `BadKeyError`, or `JoseError` for a key without `d`."""
    key = read_key(private)
    algorithm = "ES256" if "ES256" in key.algorithms else "EdDSA"
    header = {"alg": algorithm, "kid": key.kid, "typ": "JWT"}
    numbers: dict[str, str | list[str]] = {
        name: str(private[name]) for name in ("kty", "crv", "x", "y", "d") if name in private
    }
    return jws.serialize_compact(header, json.dumps(claims), import_key(numbers), registry=_REGISTRY)


_LATEST_S = 32_503_680_000.0  # the year 3000: a later time is in milliseconds instead of seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClaims:
    tenant: TenantId
    user: UserId
    device: DeviceId | None
    issuer: str | None = None
    audiences: frozenset[str]
    expires_at_s: float
    not_before_s: float | None
    issued_at_s: float | None

    def check(self, tenant: Tenant, now_s: float, max_lifetime_s: float) -> None:
        """Check the claims. Expiry is checked last: the client may learn it only if everything else is valid."""
        if self.tenant != tenant.id:
            raise CredentialRejectedError(f"it is for {self.tenant} and was signed with a key of {tenant.id}")
        rules = tenant.settings.tokens
        if self.audiences.isdisjoint(rules.audiences):
            raise CredentialRejectedError(
                f"its `aud` {sorted(self.audiences)} contains none of {list(rules.audiences)}"
            )
        if rules.issuer is not None and self.issuer != rules.issuer:
            raise CredentialRejectedError(f"its `iss` {self.issuer!r} is not {rules.issuer!r}")
        self._check_start(now_s, rules.skew_s)
        self._check_lifetime(now_s, rules.skew_s, max_lifetime_s)
        if self.expires_at_s + rules.skew_s <= now_s:
            raise CredentialRejectedError(
                f"it expired {now_s - self.expires_at_s:.0f} s ago", is_expired=True
            )

    def _check_start(self, now_s: float, skew_s: int) -> None:
        for name, at_s in (("nbf", self.not_before_s), ("iat", self.issued_at_s)):
            if at_s is not None and at_s > now_s + skew_s:
                raise CredentialRejectedError(
                    f"its `{name}` is {at_s - now_s:.0f} s in the future; {skew_s} s are allowed"
                )

    def _check_lifetime(self, now_s: float, skew_s: int, max_lifetime_s: float) -> None:
        """Check the lifetime. Without `iat`, only the remaining lifetime is known."""
        begins_s = now_s + skew_s if self.issued_at_s is None else self.issued_at_s
        if self.expires_at_s - begins_s > max_lifetime_s:
            raise CredentialRejectedError(
                f"its lifetime is longer than the maximum of {max_lifetime_s:.0f} s"
            )


def parse_claims(claims: Json) -> TokenClaims:
    expires_at_s = _time(claims, "exp")
    if expires_at_s is None:
        raise CredentialRejectedError("it has no `exp`")
    device, issuer = claims.get("device"), claims.get("iss")
    return TokenClaims(
        tenant=TenantId(_text(claims, "tenant")),
        user=UserId(_id(claims, "sub")),
        device=None if device is None else DeviceId(_id(claims, "device")),
        issuer=issuer if isinstance(issuer, str) else None,
        audiences=_audiences(claims.get("aud")),
        expires_at_s=expires_at_s,
        not_before_s=_time(claims, "nbf"),
        issued_at_s=_time(claims, "iat"),
    )


def _text(claims: Json, name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str):
        raise CredentialRejectedError(f"its `{name}` is not a string")
    return value


def _id(claims: Json, name: str) -> str:
    value = _text(claims, name)
    if not is_user_id(value):
        raise CredentialRejectedError(f"its `{name}` is not a valid id: {USER_ID_DESCRIPTION}")
    return value


def _audiences(value: Any) -> frozenset[str]:  # noqa: ANN401 - any JSON value
    each = value if isinstance(value, list) else [value]
    if not each or not all(isinstance(one, str) for one in each):
        raise CredentialRejectedError("its `aud` is neither a string nor a list of strings")
    return frozenset(each)


def _time(claims: Json, name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _LATEST_S:
        raise CredentialRejectedError(f"its `{name}` is not a time in seconds since 1970")
    return float(value)
