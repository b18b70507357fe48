"""Fetches JWKS documents by HTTP: bounded in size and time, without redirects, cookies, proxies or compression.

An address is judged when its socket is made, after names were resolved: a name that points inside is no way in.
"""

import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from tidings.accounts.key_sets import KeySourceError
from tidings.accounts.reach import NetworkPolicy, check_url, may_connect

_OK = 200
_HEADERS = {"Accept": "application/jwk-set+json, application/json", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """`timeout_s` is for all of it, from the name to the last byte."""

    network: NetworkPolicy = NetworkPolicy.PUBLIC
    timeout_s: float = 3.0
    max_bytes: int = 65_536
    at_once: int = 16


class HttpJwks:
    """Belongs to the event loop that it was opened in."""

    def __init__(self, session: aiohttp.ClientSession, options: FetchOptions) -> None:
        self._session = session
        self._options = options

    async def __call__(self, url: str, /) -> bytes:
        if fault := check_url(url, self._options.network):
            raise KeySourceError(f"the URL is refused: {fault}")
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status != _OK:
                    raise KeySourceError(f"it answered {answer.status}")
                return await self._read(answer.content)
        except TimeoutError as error:
            raise KeySourceError(f"it took longer than {self._options.timeout_s} s") from error
        except (aiohttp.ClientError, ValueError) as error:
            raise KeySourceError(f"it can't be fetched: {error}") from error

    async def _read(self, content: aiohttp.StreamReader) -> bytes:
        body = bytearray()
        async for piece in content.iter_any():
            body += piece
            if len(body) > self._options.max_bytes:
                raise KeySourceError(f"it is larger than {self._options.max_bytes} bytes")
        return bytes(body)


@asynccontextmanager
async def open_http_jwks(options: FetchOptions) -> AsyncIterator[HttpJwks]:
    def make_socket(address: Any) -> socket.socket:  # noqa: ANN401 - aiohttp's alias is for a tuple of Any
        family, kind, protocol, _, (host, *_) = address
        if not may_connect(host, options.network):
            raise PermissionError(errno.EACCES, "no keys are fetched from this address")
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(socket_factory=make_socket, limit=options.at_once, force_close=True)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=options.timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=_HEADERS,
        auto_decompress=False,
        trust_env=False,
    ) as session:
        yield HttpJwks(session, options)
