"""HTTP requests to URLs that tenants choose. The address of each connection is checked when the socket is opened."""

import errno
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tidings.kernel.network_policy import NetworkPolicy, may_connect

_KEEP_S = 30.0


@asynccontextmanager
async def open_guarded_session(
    network: NetworkPolicy,
    *,
    max_connections: int,
    timeout_s: float,
    headers: Mapping[str, str],
    keeps_connections: bool,
) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session that connects only to addresses of `network`, without cookies, proxies and decompression.

    A refused address raises `aiohttp.ClientConnectorError`. `timeout_s` covers a whole request. Redirects would be
    followed to other URLs: pass `allow_redirects=False`.
    """

    def make_socket(address: Any) -> socket.socket:  # noqa: ANN401 - aiohttp's type is a tuple of Any
        family, kind, protocol, _, (host, *_) = address
        if not may_connect(host, network):
            raise PermissionError(errno.EACCES, "connections to this address are not allowed")
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(
        socket_factory=make_socket,
        limit=max_connections,
        # The name is resolved for each connection. A cached answer would delay the change of an endpoint's address.
        use_dns_cache=False,
        **({"keepalive_timeout": _KEEP_S} if keeps_connections else {"force_close": True}),
    )
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=headers,
        auto_decompress=False,
        trust_env=False,
    ) as session:
        yield session
