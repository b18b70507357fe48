"""Where a list goes on: opaque, signed, and good for one list of one caller only."""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.secrets import Secret

MAX_CURSOR_CHARS = 512
_MAC_BYTES = 16


class CursorSigner:
    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._keys = [hashlib.sha256(b"cursor|" + secret.reveal().encode()).digest() for secret in secrets]

    def of(self, tenant: TenantId, user: UserId | None, route: str, *filters: object) -> "CursorScope":
        """`filters`: what else the list was asked for with; a page goes on with the same."""
        parts = [tenant, user or "", route, *map(repr, filters)]
        return CursorScope(self._keys, "".join(f"{len(part)}:{part}" for part in parts).encode())


class CursorScope:
    """The cursors of one list of one caller: whose they are is signed with them, not written into them."""

    def __init__(self, keys: Sequence[bytes], owner: bytes) -> None:
        self._keys = keys
        self._owner = owner

    def write(self, position: str | None) -> str | None:
        if position is None:
            return None
        body = position.encode()
        return urlsafe_b64encode(self._mac(self._keys[0], body) + body).decode().rstrip("=")

    def read(self, cursor: str | None) -> str | None:
        """Raises `cursor_invalid`; all that can be wrong with it is told alike."""
        if cursor is None:
            return None
        mac, body = _parts(cursor)
        if not any(hmac.compare_digest(mac, self._mac(key, body)) for key in self._keys):
            raise _invalid()
        return body.decode()

    def _mac(self, key: bytes, body: bytes) -> bytes:
        return hmac.digest(key, len(body).to_bytes(4) + body + self._owner, "sha256")[:_MAC_BYTES]


def _parts(cursor: str) -> tuple[bytes, bytes]:
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except (UnicodeEncodeError, Base64Error):
        raise _invalid() from None
    return raw[:_MAC_BYTES], raw[_MAC_BYTES:]


def _invalid() -> TidingsError:
    return TidingsError(
        Code.CURSOR_INVALID, "The cursor is not one of this list.", hint="Begin with the first page."
    )
