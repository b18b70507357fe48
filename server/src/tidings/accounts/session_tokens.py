"""Tokens of sessions: access tokens (short-lived JWTs, signed with a key of the tenant) and refresh tokens.

Verifying an access token needs no table. `session_cache.py` checks whether its session is still active.
"""

import base64
import binascii
import hashlib
import hmac
import re
from enum import Enum, auto
from typing import Annotated, Literal, NamedTuple

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from msgspec import Meta, Struct

from tidings.accounts.model import Principal, Session, SessionId
from tidings.accounts.ports import Mac, SigningKeys
from tidings.accounts.rules import invalid_request, rejected_for
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, TenantId, UserId

ISSUER = "tidings"
TYPE = "at+jwt"
ALGORITHM = "HS256"
MAX_ACCESS_TOKEN_CHARS = 2048
_SKEW_S = 5
"""How far the clock of the process that minted a token may be ahead."""


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    alg: Literal["HS256"]
    typ: Literal["at+jwt"]
    kid: Annotated[str, Meta(max_length=64)]


class _Claims(Struct, frozen=True):
    iss: Literal["tidings"]
    tenant: str
    sub: str
    device: str
    session: str
    iat: int
    exp: int


_KID = re.compile(r"([a-zA-Z0-9.-][a-zA-Z0-9._-]{0,31})/([1-9][0-9]{0,9})")
_read_header = msgspec.json.Decoder(_Header).decode


class AccessTokenService:
    """Mint and verify access tokens."""

    def __init__(self, keys: SigningKeys, clock: Clock, life_s: float) -> None:
        self._keys = keys
        self._clock = clock
        self.life_s = life_s

    async def mint(self, principal: Principal, /) -> str:
        """Sign a token for a user's session. `kid` names tenant and key version: versions are per tenant."""
        if principal.user is None or principal.device is None or principal.session is None:
            raise ValueError("an access token is for the session of a user's device")
        version, key = await self._keys.signing_key(principal.tenant)
        now_s = self._clock.now_ms() // 1000
        claims = {
            "iss": ISSUER,
            "tenant": principal.tenant,
            "sub": principal.user,
            "device": principal.device,
            "session": principal.session,
            "iat": now_s,
            "exp": now_s + int(self.life_s),
        }
        header = {"alg": ALGORITHM, "typ": TYPE, "kid": f"{principal.tenant}/{version}"}
        return jwt.encode(header, claims, OctKey.import_key(key), algorithms=[ALGORITHM])

    async def verify(self, token: str) -> Principal:
        """Raise `credential_invalid`, or `credential_expired` for a token that was valid."""
        tenant, version = _signer(token)
        key = await self._keys.to_verify(tenant, version)
        if key is None:
            raise rejected_for("unknown signing key of an access token", subject=f"{tenant}/{version}")
        try:
            read = jwt.decode(token, OctKey.import_key(key), algorithms=[ALGORITHM])
            claims = msgspec.convert(read.claims, _Claims)
        except (JoseError, ValueError):
            raise rejected_for("forged access token", subject=f"{tenant}/{version}") from None
        if claims.tenant != tenant:
            raise rejected_for("access token of another tenant", tenant=tenant)
        self._check_time(claims)
        return _principal(tenant, claims)

    def _check_time(self, claims: _Claims) -> None:
        """Check expiry and lifetime. A token that lives longer than `life_s` was not minted by `mint`."""
        now_s = self._clock.now_ms() / 1000
        if claims.iat > now_s + _SKEW_S or claims.exp - claims.iat > self.life_s:
            raise rejected_for("access token with a wrong lifetime", tenant=claims.tenant)
        if now_s >= claims.exp:
            raise TidingsError(Code.CREDENTIAL_EXPIRED, "The access token has expired.")


def _signer(token: str) -> tuple[TenantId, int]:
    """Return the tenant and key version that the token names. Both are unverified."""
    header = _header(token)
    kid = header and _KID.fullmatch(header.kid)
    if not kid:
        raise rejected_for("malformed access token")
    return TenantId(kid[1]), int(kid[2])


def _header(token: str) -> _Header | None:
    head, dot, _ = token[: MAX_ACCESS_TOKEN_CHARS + 1].partition(".")
    if len(token) > MAX_ACCESS_TOKEN_CHARS or not dot:
        return None
    try:
        return _read_header(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return None


def _principal(tenant: TenantId, claims: _Claims) -> Principal:
    return Principal(
        tenant=tenant,
        user=UserId(claims.sub),
        device=DeviceId(claims.device),
        session=SessionId(claims.session),
        issued_at_ms=claims.iat * 1000,
        expires_at_ms=claims.exp * 1000,
    )


SECRET_BYTES = 32
TAG_BYTES = 16
MAX_REFRESH_TOKEN_CHARS = 160
RETRY_KEY_CHARS = (16, 64)
_SHAPE = re.compile(
    r"tdr\.([a-zA-Z0-9.-][a-zA-Z0-9._-]{0,31})\.([0-9A-HJKMNP-TV-Z]{26})\.([A-Za-z0-9_-]{64})"
)
_RETRY_KEY = re.compile(rf"[\x21-\x7e]{{{RETRY_KEY_CHARS[0]},{RETRY_KEY_CHARS[1]}}}")


class PresentedToken(NamedTuple):
    tenant: TenantId
    session: SessionId
    secret: bytes
    tag: bytes

    @property
    def hash(self) -> bytes:
        return token_hash(self.secret)


class TokenUse(Enum):
    CURRENT = auto()
    RETRY = auto()
    """The previous token, with the idempotency key of the refresh that replaced it: the client lost the answer."""
    OTHER = auto()


def format_token(tenant: TenantId, session: SessionId, secret: bytes, mac: Mac) -> str:
    end = base64.urlsafe_b64encode(secret + _tag(tenant, session, secret, mac)).decode()
    return f"tdr.{tenant}.{session}.{end}"


def parse_token(token: str) -> PresentedToken | None:
    found = _SHAPE.fullmatch(token) if len(token) <= MAX_REFRESH_TOKEN_CHARS else None
    if found is None:
        return None
    try:
        end = base64.urlsafe_b64decode(found[3])
    except binascii.Error:
        return None
    return PresentedToken(TenantId(found[1]), SessionId(found[2]), end[:SECRET_BYTES], end[SECRET_BYTES:])


def has_valid_mac(presented: PresentedToken, mac: Mac) -> bool:
    tenant, session, secret, tag = presented
    return hmac.compare_digest(_tag(tenant, session, secret, mac), tag)


def next_token(presented: PresentedToken, retry_key: str, mac: Mac) -> bytes:
    """Derive the next secret. A retry derives the same one, so it returns the token of the lost answer.

    Deriving it needs the tenant's key.
    """
    return mac(b"_refresh next#" + presented.session.encode() + presented.secret + retry_key.encode())


def classify_use(row: Session, presented: PresentedToken, retry_key: str | None) -> TokenUse:
    if hmac.compare_digest(row.token_hash, presented.hash):
        return TokenUse.CURRENT
    if row.previous_hash is None or not hmac.compare_digest(row.previous_hash, presented.hash):
        return TokenUse.OTHER
    if retry_key is None or row.rotation_key_hash is None:
        return TokenUse.OTHER
    is_same = hmac.compare_digest(row.rotation_key_hash, token_hash(retry_key.encode()))
    return TokenUse.RETRY if is_same else TokenUse.OTHER


def check_retry_key(key: str | None) -> str | None:
    """Require a key that an attacker with a stolen token cannot guess."""
    if key is not None and not _RETRY_KEY.fullmatch(key):
        least, most = RETRY_KEY_CHARS
        raise invalid_request(
            f"The key of a refresh must have {least} to {most} random printable characters."
        )
    return key


def token_hash(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _tag(tenant: TenantId, session: SessionId, secret: bytes, mac: Mac) -> bytes:
    return mac(f"_refresh#{tenant}#{session}#".encode() + secret)[:TAG_BYTES]
