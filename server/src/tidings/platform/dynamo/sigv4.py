"""AWS Signature Version 4 for DynamoDB's one kind of request: POST to `/`, a JSON body, a target.

Everything but the body is the same for all requests to a target within a second, so it is hashed once a second
and copied. botocore's signer is the oracle in the tests.
"""

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidings.platform.dynamo.credentials import AwsKeys

if TYPE_CHECKING:
    from hashlib import _Hash

ALGORITHM = "AWS4-HMAC-SHA256"
CONTENT_TYPE = "application/x-amz-json-1.0"
_BLOCK_BYTES = 64
_INNER_PAD = bytes(0x36 ^ n for n in range(256))
_OUTER_PAD = bytes(0x5C ^ n for n in range(256))


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the requests to one target share in one second: two begun hashes, and the head up to the signature."""

    canonical: "_Hash"
    inner: "_Hash"
    head: bytes


class Signer:
    """Makes whole, signed HTTP requests for one host with one set of keys."""

    def __init__(
        self,
        host: str,
        region: str,
        service: str,
        keys: AwsKeys,
        now: Callable[[], float] = time.time,
        *,
        content_type: str = CONTENT_TYPE,
    ) -> None:
        self.keys = keys
        self._host = host
        self._region = region
        self._service = service
        self._content_type = content_type
        self._now = now
        self._second = -1
        self._timestamp = ""
        self._scope = ""
        self._inner_key = self._outer_key = hashlib.sha256()
        self._stamps: dict[str, _Stamp] = {}

    def request(self, target: str, body: bytes) -> bytes:
        second = int(self._now())
        if second != self._second:
            self._turn(second)
        stamp = self._stamps.get(target) or self._stamp(target)
        canonical = stamp.canonical.copy()
        canonical.update(hashlib.sha256(body).hexdigest().encode())
        inner = stamp.inner.copy()
        inner.update(canonical.hexdigest().encode())
        outer = self._outer_key.copy()
        outer.update(inner.digest())
        signature = outer.hexdigest().encode()
        return b"%b%b\r\nContent-Length: %d\r\n\r\n%b" % (stamp.head, signature, len(body), body)

    def _turn(self, second: int) -> None:
        """A new second: nothing that carries the old one may be used again. A new day: a new key, too."""
        timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        if timestamp[:8] != self._timestamp[:8]:
            self._scope = f"{timestamp[:8]}/{self._region}/{self._service}/aws4_request"
            self._inner_key, self._outer_key = _hmac_states(self._signing_key(timestamp[:8]))
        self._timestamp = timestamp
        self._stamps.clear()
        self._second = second

    def _signing_key(self, day: str) -> bytes:
        key = f"AWS4{self.keys.secret_key.reveal()}".encode()
        for part in (day, self._region, self._service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key

    def _stamp(self, target: str) -> _Stamp:
        headers = self._signed_headers(target)
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        inner = self._inner_key.copy()
        inner.update(f"{ALGORITHM}\n{self._timestamp}\n{self._scope}\n".encode())
        stamp = _Stamp(
            canonical=hashlib.sha256(f"POST\n/\n\n{lines}\n{names}\n".encode()),
            inner=inner,
            head=self._head(headers, names).encode(),
        )
        self._stamps[target] = stamp
        return stamp

    def _signed_headers(self, target: str) -> dict[str, str]:
        """In the order of their names, as the signature wants them."""
        token = self.keys.token
        return {
            "content-type": self._content_type,
            "host": self._host,
            "x-amz-date": self._timestamp,
            **({"x-amz-security-token": token.reveal()} if token else {}),
            "x-amz-target": target,
        }

    def _head(self, headers: dict[str, str], names: str) -> str:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        credential = f"{self.keys.access_key}/{self._scope}"
        return (
            f"POST / HTTP/1.1\r\n{lines}accept-encoding: identity\r\n"
            f"authorization: {ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature="
        )


def _hmac_states(key: bytes) -> tuple["_Hash", "_Hash"]:
    """HMAC-SHA256 of a key, begun: what every signature of the day starts from (RFC 2104)."""
    block = key.ljust(_BLOCK_BYTES, b"\0")
    return hashlib.sha256(block.translate(_INNER_PAD)), hashlib.sha256(block.translate(_OUTER_PAD))
