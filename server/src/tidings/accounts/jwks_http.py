"""Fetch JWKS documents over HTTPS without reaching internal networks.

The URL is checked when it is set, and the resolved IP address at each connection.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from tidings.accounts.verification_keys import KeySourceError
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.platform.guarded_http import open_guarded_session

_OK = 200
_HEADERS = {"Accept": "application/jwk-set+json, application/json", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """`timeout_s` covers the whole request, from name resolution to the last byte."""

    network: NetworkPolicy = NetworkPolicy.PUBLIC
    timeout_s: float = 3.0
    max_bytes: int = 65_536
    max_connections: int = 16


class HttpJwks:
    """Fetches JWKS documents: bounded in size and time, without redirects. Use it from one event loop."""

    def __init__(self, session: aiohttp.ClientSession, options: FetchOptions) -> None:
        self._session = session
        self._options = options

    async def fetch(self, url: str, /) -> bytes:
        """Raise `KeySourceError` if the URL is refused or the document cannot be fetched."""
        if fault := check_url(url, self._options.network):
            raise KeySourceError(f"the URL is refused: {fault}")
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status != _OK:
                    raise KeySourceError(f"the server answered {answer.status}")
                return await self._read(answer.content)
        except TimeoutError as error:
            raise KeySourceError(f"the request took longer than {self._options.timeout_s} s") from error
        except (aiohttp.ClientError, ValueError) as error:
            raise KeySourceError(f"the request failed: {error}") from error

    async def _read(self, content: aiohttp.StreamReader) -> bytes:
        body = bytearray()
        async for piece in content.iter_any():
            body += piece
            if len(body) > self._options.max_bytes:
                raise KeySourceError(f"the document is larger than {self._options.max_bytes} bytes")
        return bytes(body)


@asynccontextmanager
async def open_http_jwks(options: FetchOptions) -> AsyncIterator[HttpJwks]:
    async with open_guarded_session(
        options.network,
        max_connections=options.max_connections,
        timeout_s=options.timeout_s,
        headers=_HEADERS,
        keeps_connections=False,
    ) as session:
        yield HttpJwks(session, options)
