"""Send requests to endpoints over HTTP: bounded in size and time, without redirects, to allowed addresses only."""

import errno
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.platform.guarded_http import open_guarded_session
from tidings.webhooks.model import Attempt

_HEADERS: Final = {
    "Content-Type": "application/json",
    "User-Agent": "Tidings-Webhooks",
    "Accept-Encoding": "identity",
}
_SUCCESS: Final = range(200, 300)
_REDIRECT: Final = range(300, 400)
_DRAINED_BYTES: Final = 4096
_MAX_RETRY_AFTER_S: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportOptions:
    network: NetworkPolicy = NetworkPolicy.PUBLIC
    max_connections: int = 512


class HttpWebhookTransport:
    """Use it from one event loop."""

    def __init__(self, session: aiohttp.ClientSession, options: TransportOptions) -> None:
        self._session = session
        self._options = options

    def check(self, url: str) -> str | None:
        return check_url(url, self._options.network)

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        max_answer_bytes: int = 0,
    ) -> Attempt:
        started = time.monotonic()
        try:
            if fault := self.check(url):
                return Attempt(latency_ms=0, reason=f"the URL is refused: {fault}")
            async with self._session.post(
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
            ) as answer:
                return await _attempt(answer, started, max_answer_bytes)
        except TimeoutError:
            return _failed(started, f"no answer within {timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _failed(started, _reason(error))


async def _attempt(answer: aiohttp.ClientResponse, started: float, max_bytes: int) -> Attempt:
    """Read the answer. A short body is read in any case, so that the connection can be used again."""
    status, wanted = answer.status, max(max_bytes, _DRAINED_BYTES)
    body = await answer.content.read(wanted + 1)
    while len(body) <= wanted and (more := await answer.content.read(wanted + 1 - len(body))):
        body += more
    if len(body) > wanted:
        answer.close()
    latency_ms = _since(started)
    if status not in _SUCCESS:
        reason = "redirects are not followed" if status in _REDIRECT else f"the endpoint answered {status}"
        return Attempt(
            latency_ms=latency_ms, status=status, reason=reason, retry_after_ms=_retry_after_ms(answer)
        )
    if max_bytes and len(body) > max_bytes:
        return Attempt(
            latency_ms=latency_ms, status=status, reason=f"the answer is larger than {max_bytes} bytes"
        )
    return Attempt(latency_ms=latency_ms, status=status, body=body if max_bytes else b"")


def _retry_after_ms(answer: aiohttp.ClientResponse) -> int:
    text = answer.headers.get("Retry-After", "")
    if not text.isascii() or not text.isdecimal():
        return 0
    return min(int(text), _MAX_RETRY_AFTER_S) * 1000


def _failed(started: float, reason: str) -> Attempt:
    return Attempt(latency_ms=_since(started), reason=reason)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _reason(error: Exception) -> str:
    """Say why no answer arrived, without addresses of the server's network."""
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno == errno.EACCES:
        return "connections to this address are not allowed"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name of the host cannot be resolved"
    if isinstance(error, aiohttp.ClientSSLError):
        return "the TLS handshake failed"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {os.strerror(error.os_error.errno) if error.os_error.errno else 'it failed'}"
    if isinstance(error, aiohttp.InvalidURL):
        return "the URL is refused: it is not a valid URL"
    return f"the request failed: {type(error).__name__}"


@asynccontextmanager
async def open_webhook_transport(options: TransportOptions) -> AsyncIterator[HttpWebhookTransport]:
    async with open_guarded_session(
        options.network,
        max_connections=options.max_connections,
        timeout_s=60.0,
        headers=_HEADERS,
        keeps_connections=True,
    ) as session:
        yield HttpWebhookTransport(session, options)
