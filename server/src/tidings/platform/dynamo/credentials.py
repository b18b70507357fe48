"""Endpoints, credentials and request signatures (SigV4). botocore finds the endpoints and credentials of AWS."""

import asyncio
import hashlib
import hmac
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from tidings.kernel.security import Secret

if TYPE_CHECKING:
    from hashlib import _Hash

    from botocore.session import Session

AWS = "aws"
DYNAMODB = "dynamodb"
STREAMS = "dynamodbstreams"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`host`: value of the Host header, with the port unless it is the scheme's default."""

    address: str
    port: int
    host: str
    tls: ssl.SSLContext | None = None


def parse_endpoint(url: str, *, ca_file: str | None = None) -> Endpoint:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError(f"{url!r} is not an endpoint. Write http(s)://host[:port].")
    tls = tls_context(ca_file) if parts.scheme == "https" else None
    usual = 443 if tls else 80
    port = parts.port or usual
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = name if port == usual else f"{name}:{port}"
    return Endpoint(parts.hostname, port, host, tls)


def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """Return a context that verifies certificate and name. Without `ca_file` it trusts botocore's bundle."""
    from botocore.httpsession import get_cert_path  # noqa: PLC0415 - takes half a second, needed for TLS only

    context = ssl.create_default_context(cafile=ca_file or get_cert_path(verify=True))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def aws_endpoint(session: "Session", service: str, region: str) -> Endpoint:
    """Return the endpoint of an AWS service. Blocks, because botocore reads files. Uses AWS_CA_BUNDLE if set."""
    # Any keys: without them botocore searches for some, which takes seconds if there are none.
    unused = "unused"
    client = session.create_client(
        service, region_name=region, aws_access_key_id=unused, aws_secret_access_key=unused
    )
    try:
        return parse_endpoint(client.meta.endpoint_url, ca_file=session.get_config_variable("ca_bundle"))
    finally:
        client.close()


REFRESH_RETRY_S = 60.0
STALE_S = 300.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AwsKeys:
    access_key: str
    secret_key: Secret
    token: Secret | None = None


# Local engines do not check credentials but require some. DynamoDB Local accepts letters and digits only.
LOCAL_KEYS = AwsKeys("local", Secret("local"))


class NoCredentialsError(Exception):
    """botocore found no credentials."""


class CredentialsProvider(Protocol):
    """`keys` may be used until the event loop's clock reaches `ask_at`. Then call `ask` first."""

    keys: AwsKeys
    ask_at: float

    async def ask(self, now: float) -> None:
        """Renew the keys. Returns at once while the current ones may still be used."""

    async def renew(self) -> None:
        """Fetch new keys and wait for them, after the current ones were refused as expired."""


class StaticCredentials:
    def __init__(self, keys: AwsKeys) -> None:
        self.keys = keys
        self.ask_at = float("inf")

    async def ask(self, now: float) -> None: ...

    async def renew(self) -> None: ...


class RenewedCredentials:
    """Temporary keys. `fetch` may block, and returns new ones over time."""

    def __init__(
        self,
        fetch: Callable[[], AwsKeys],
        keys: AwsKeys,
        now: float,
        *,
        ask_again_s: float = REFRESH_RETRY_S,
        stale_s: float = STALE_S,
    ) -> None:
        self._fetch = fetch
        self.keys = keys
        self._fetched_at = now
        self._ask_again_s = ask_again_s
        self._stale_s = stale_s
        self.ask_at = now + ask_again_s
        self._running: asyncio.Task[None] | None = None

    async def ask(self, now: float) -> None:
        is_stale = now >= self._fetched_at + self._stale_s
        task = self._start()
        if is_stale:
            await asyncio.shield(task)
        else:
            self.ask_at = now + self._ask_again_s

    async def renew(self) -> None:
        await asyncio.shield(self._start())

    def _start(self) -> asyncio.Task[None]:
        """Start a fetch unless one is in flight. Cancelling a caller does not cancel it."""
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="dynamo-credentials")
            self._running.add_done_callback(self._drop)
        return self._running

    def _drop(self, _: asyncio.Task[None]) -> None:
        self._running = None

    async def _run(self) -> None:
        try:
            self.keys = await asyncio.to_thread(self._fetch)
        except Exception:  # noqa: BLE001 - every provider has its own errors
            # The current keys may be valid for minutes. If they are not, DynamoDB refuses them.
            _log.warning("cannot renew credentials, using the current ones", exc_info=True)
        self._fetched_at = asyncio.get_running_loop().time()
        self.ask_at = self._fetched_at + self._ask_again_s


def botocore_keys(session: "Session") -> Callable[[], AwsKeys]:
    """Return a function that fetches keys from botocore's providers: environment, files, container, instance, SSO …"""

    def fetch() -> AwsKeys:
        found = session.get_credentials()
        if found is None:
            raise NoCredentialsError("botocore found no AWS credentials")
        frozen = found.get_frozen_credentials()
        token = Secret(frozen.token) if frozen.token else None
        return AwsKeys(str(frozen.access_key), Secret(str(frozen.secret_key)), token)

    return fetch


async def find_keys(session: "Session") -> RenewedCredentials:
    fetch = botocore_keys(session)
    keys = await asyncio.to_thread(fetch)
    return RenewedCredentials(fetch, keys, asyncio.get_running_loop().time())


ALGORITHM = "AWS4-HMAC-SHA256"
CONTENT_TYPE = "application/x-amz-json-1.0"
_BLOCK_BYTES = 64
_INNER_PAD = bytes(0x36 ^ n for n in range(256))
_OUTER_PAD = bytes(0x5C ^ n for n in range(256))


@dataclass(frozen=True, slots=True)
class _Stamp:
    """The part that requests to one target share within a second: two started hashes and the head."""

    canonical: "_Hash"
    inner: "_Hash"
    head: bytes


class Signer:
    """Build signed HTTP requests for one host with one set of keys."""

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
            self._start_second(second)
        stamp = self._stamps.get(target) or self._stamp(target)
        canonical = stamp.canonical.copy()
        canonical.update(hashlib.sha256(body).hexdigest().encode())
        inner = stamp.inner.copy()
        inner.update(canonical.hexdigest().encode())
        outer = self._outer_key.copy()
        outer.update(inner.digest())
        signature = outer.hexdigest().encode()
        return b"%b%b\r\nContent-Length: %d\r\n\r\n%b" % (stamp.head, signature, len(body), body)

    def _start_second(self, second: int) -> None:
        """Drop everything that contains the previous second and, on a new day, derive a new key."""
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
        """Return the headers sorted by name, as the signature requires."""
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
    """Return the inner and outer states of HMAC-SHA256 with this key (RFC 2104). Every signature of a day starts there."""
    block = key.ljust(_BLOCK_BYTES, b"\0")
    return hashlib.sha256(block.translate(_INNER_PAD)), hashlib.sha256(block.translate(_OUTER_PAD))
