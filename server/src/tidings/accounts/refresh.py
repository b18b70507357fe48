"""Refresh tokens: how they are spelled, which one follows, what one is that is presented. Pure.

    tdr.<tenant>.<session>.<secret (32 bytes) and tag (16), base64url>

The table keeps the SHA-256 of the secret. The tag, under the tenant's key, shows that a token which is no longer
good once was: only such a one ends its session, so nobody can end sessions whose ids he has heard of.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from tidings.accounts.model import SessionId
from tidings.accounts.records import Session
from tidings.accounts.rules import invalid_request
from tidings.kernel.ids import TenantId

SECRET_BYTES = 32
TAG_BYTES = 16
MAX_REFRESH_TOKEN_CHARS = 160
RETRY_KEY_CHARS = (16, 64)
_SHAPE = re.compile(
    r"tdr\.([a-zA-Z0-9.-][a-zA-Z0-9._-]{0,31})\.([0-9A-HJKMNP-TV-Z]{26})\.([A-Za-z0-9_-]{64})"
)
_RETRY_KEY = re.compile(rf"[\x21-\x7e]{{{RETRY_KEY_CHARS[0]},{RETRY_KEY_CHARS[1]}}}")

type Mac = Callable[[bytes], bytes]
"""HMAC-SHA256 under the tenant's key."""


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
    """The one before, with the key of the refresh that replaced it: its answer was lost."""
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
    """The same for a retry, so that it gets the token whose answer was lost. Not to be had without the tenant's key."""
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
    """Long enough that a thief of the token does not guess it."""
    if key is not None and not _RETRY_KEY.fullmatch(key):
        least, most = RETRY_KEY_CHARS
        raise invalid_request(
            f"The key of a refresh is {least} to {most} printable characters, drawn by chance."
        )
    return key


def token_hash(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _tag(tenant: TenantId, session: SessionId, secret: bytes, mac: Mac) -> bytes:
    return mac(f"_refresh#{tenant}#{session}#".encode() + secret)[:TAG_BYTES]
