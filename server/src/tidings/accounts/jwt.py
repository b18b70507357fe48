"""Takes a token apart, with bounds, before anything in it is believed. Pure; verifies nothing.

What is read here chooses which keys to try, and nothing else. No URL and no key is ever taken from a token.
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
"""What strangers can make us keep is bounded; headers that people use are half as long."""
NOT_IN_A_HEADER = ("jku", "jwk", "x5u", "x5c", "crit", "b64")
"""Places that bring a key along, and extensions that must be understood: none of them is."""

type Json = dict[str, Any]


class Segments(NamedTuple):
    header: str
    claims: str


def split_jwt(token: str) -> Segments:
    """Bounds come first: nothing is decoded of what is too long or has other characters."""
    if len(token) > MAX_TOKEN_BYTES:
        raise CredentialRejectedError(f"it is longer than {MAX_TOKEN_BYTES} bytes")
    form = _FORM.fullmatch(token)
    if form is None:
        raise CredentialRejectedError("it is not three parts of base64url with dots between")
    return Segments(form[1], form[2])


def read_jwt_header(segment: str) -> Mapping[str, Any]:
    return _kept_header(segment) if len(segment) <= _MAX_HEADER_CHARS else _read_object(segment, "header")


@lru_cache(maxsize=1_024)
def _kept_header(segment: str) -> Mapping[str, Any]:
    """All tokens of one key have the same one: it says how they were signed, and nothing of who comes."""
    return MappingProxyType(_read_object(segment, "header"))


def read_jwt_body(segment: str) -> Json:
    return _read_object(segment, "claims")


def _read_object(segment: str, part: str) -> Json:
    """A JSON object in which no name stands twice: else two readers could see two different claims."""
    try:
        value = _read(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)).decode())
    except (ValueError, RecursionError) as error:
        raise CredentialRejectedError(f"its {part} can't be read: {type(error).__name__}") from error
    if not isinstance(value, dict):
        raise CredentialRejectedError(f"its {part} is not a JSON object")
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> Json:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise CredentialRejectedError("a name stands twice in one of its JSON objects")
    return made


def _no_constant(name: str) -> float:
    raise CredentialRejectedError(f"{name} is not JSON")


_read = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant).decode


class _Registry(JWSRegistry):
    """`EdDSA` means Ed25519 here: joserfc would take Ed448 for it too, and warn of the old name with each token."""

    @override
    def get_alg(self, name: str) -> JWSAlgModel:
        return super().get_alg("Ed25519" if name == "EdDSA" else name)


_REGISTRY = _Registry(algorithms=sorted(ALGORITHMS - {"EdDSA"}), strict_check_header=False)


def check_signature(token: str, key: PublicKey) -> None:
    """Raises `CredentialRejectedError`."""
    try:
        jws.deserialize_compact(token, key.key, registry=_REGISTRY)
    except (JoseError, ValueError) as error:
        raise CredentialRejectedError(
            f"its signature is not that of key {key.kid}: {type(error).__name__}"
        ) from error


class SignatureCache:
    """Those that were good, by the digest of their token: who comes back with it is spared the dearest part.

    That a key signed a token stays true. Whether the key is still the tenant's, and the rest of what the token says,
    is looked at each time by whoever asks here.
    """

    def __init__(self, kept: int) -> None:
        self._cache = kept
        self._good: OrderedDict[bytes, PublicKey] = OrderedDict()

    def check(self, digest: bytes, token: str, key: PublicKey) -> None:
        """Raises `CredentialRejectedError`."""
        known = self._good.get(digest)
        if known is None or not _is_same(known, key):
            check_signature(token, key)
        self._good[digest] = key
        self._good.move_to_end(digest)
        if len(self._good) > self._cache:
            self._good.popitem(last=False)


def _is_same(one: PublicKey, other: PublicKey) -> bool:
    """Also if it was read anew."""
    return one is other or one.key.as_dict() == other.key.as_dict()


def sign_jws(claims: Mapping[str, Any], private: Jwk) -> str:
    """A token as a customer's server would mint it. Raises `BadKeyError`, or `JoseError` for a key without `d`."""
    key = read_key(private)
    algorithm = "ES256" if "ES256" in key.algorithms else "EdDSA"
    header = {"alg": algorithm, "kid": key.kid, "typ": "JWT"}
    numbers: dict[str, str | list[str]] = {
        name: str(private[name]) for name in ("kty", "crv", "x", "y", "d") if name in private
    }
    return jws.serialize_compact(header, json.dumps(claims), import_key(numbers), registry=_REGISTRY)


_LATEST_S = 32_503_680_000.0  # the year 3000: what lies beyond is milliseconds taken for seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPolicy:
    tenant: TenantId
    user: UserId
    device: DeviceId | None
    issuer: str | None = None
    audiences: frozenset[str]
    expires_at_s: float
    not_before_s: float | None
    issued_at_s: float | None

    def check(self, tenant: Tenant, now_s: float, max_lifetime_s: float) -> None:
        """The end of its time comes last: it alone may be told to the bearer, so everything else must be right."""
        if self.tenant != tenant.id:
            raise CredentialRejectedError(
                f"it is for {self.tenant}, and was signed with a key of {tenant.id}"
            )
        rules = tenant.settings.tokens
        if self.audiences.isdisjoint(rules.audiences):
            raise CredentialRejectedError(
                f"its `aud` {sorted(self.audiences)} has none of {list(rules.audiences)}"
            )
        if rules.issuer is not None and self.issuer != rules.issuer:
            raise CredentialRejectedError(f"its `iss` {self.issuer!r} is not {rules.issuer!r}")
        self._check_beginning(now_s, rules.skew_s)
        self._check_lifetime(now_s, rules.skew_s, max_lifetime_s)
        if self.expires_at_s + rules.skew_s <= now_s:
            raise CredentialRejectedError(f"it was over {now_s - self.expires_at_s:.0f} s ago", is_over=True)

    def _check_beginning(self, now_s: float, skew_s: int) -> None:
        for name, at_s in (("nbf", self.not_before_s), ("iat", self.issued_at_s)):
            if at_s is not None and at_s > now_s + skew_s:
                raise CredentialRejectedError(
                    f"its `{name}` is {at_s - now_s:.0f} s ahead; {skew_s} s are allowed"
                )

    def _check_lifetime(self, now_s: float, skew_s: int, max_lifetime_s: float) -> None:
        """Without `iat` only what is left of its life is known."""
        begins_s = now_s + skew_s if self.issued_at_s is None else self.issued_at_s
        if self.expires_at_s - begins_s > max_lifetime_s:
            raise CredentialRejectedError(
                f"it lives for more than {max_lifetime_s:.0f} s, which is the most allowed"
            )


def read_claims(claims: Json) -> ClaimsPolicy:
    expires_at_s = _time(claims, "exp")
    if expires_at_s is None:
        raise CredentialRejectedError("it has no `exp`")
    device, issuer = claims.get("device"), claims.get("iss")
    return ClaimsPolicy(
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
        raise CredentialRejectedError(f"its `{name}` is not a text")
    return value


def _id(claims: Json, name: str) -> str:
    value = _text(claims, name)
    if not is_user_id(value):
        raise CredentialRejectedError(f"its `{name}` is not an id: {USER_ID_DESCRIPTION}")
    return value


def _audiences(value: Any) -> frozenset[str]:  # noqa: ANN401 - whatever the token says
    each = value if isinstance(value, list) else [value]
    if not each or not all(isinstance(one, str) for one in each):
        raise CredentialRejectedError("its `aud` is neither a text nor a list of texts")
    return frozenset(each)


def _time(claims: Json, name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _LATEST_S:
        raise CredentialRejectedError(f"its `{name}` is not a time in seconds since 1970")
    return float(value)
