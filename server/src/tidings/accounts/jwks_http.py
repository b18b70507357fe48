"""Fetch JWKS documents over HTTPS without reaching internal networks.

The URL is checked when it is set, and the resolved IP address at each connection.
"""

import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp

from tidings.accounts.verification_keys import KeySourceError

_NAT64 = IPv6Network("64:ff9b::/96")
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

type Address = IPv4Address | IPv6Address


class NetworkPolicy(StrEnum):
    """Networks that JWKS URLs may point to. A tenant chooses the URL: it must not reach the server's own network."""

    PUBLIC = "public"
    """Public addresses, over https."""
    PRIVATE = "private"
    """Also private networks, over https: for an identity server in the same network."""
    LOCAL = "local"
    """Also the loopback interface, over http or https: for development and tests."""


_NEVER = tuple(
    ip_network(text)
    for text in (
        "fec0::/10",  # site-local: deprecated and never public, but Python reports it as global
        "fd00:ec2::/32",  # AWS: instance metadata, DNS and time by IPv6
        "168.63.129.16/32",  # Azure platform services, at a public address
    )
)


def check_url(url: str, reach: NetworkPolicy) -> str | None:
    """Return what is wrong with the URL's text, or `None`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "it is not a valid URL"
    if parts.scheme != "https" and not _is_plain_loopback(parts, reach):
        return "it must be https"
    if not parts.hostname or port == 0:
        return "it has no host"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "it must not have a user, a password or a fragment"
    return None


def _is_plain_loopback(parts: SplitResult, reach: NetworkPolicy) -> bool:
    return reach is NetworkPolicy.LOCAL and parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES


def may_connect(address: str, reach: NetworkPolicy) -> bool:
    """Return whether a socket may connect to `address`.

    Link-local addresses are always refused, and so are all addresses at which a cloud serves instance credentials.
    """
    try:
        target = _embedded_ipv4(ip_address(address.partition("%")[0]))
    except ValueError:
        return False
    if target.is_loopback:
        return reach is NetworkPolicy.LOCAL
    if target.is_multicast or target.is_unspecified or target.is_link_local or target.is_reserved:
        return False
    if any(target in network for network in _NEVER if network.version == target.version):
        return False
    return target.is_global or (reach is not NetworkPolicy.PUBLIC and target.is_private)


def _embedded_ipv4(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds, or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


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
    def make_socket(address: Any) -> socket.socket:  # noqa: ANN401 - aiohttp's type is a tuple of Any
        family, kind, protocol, _, (host, *_) = address
        if not may_connect(host, options.network):
            raise PermissionError(errno.EACCES, "fetching keys from this address is not allowed")
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(
        socket_factory=make_socket, limit=options.max_connections, force_close=True
    )
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=options.timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=_HEADERS,
        auto_decompress=False,
        trust_env=False,
    ) as session:
        yield HttpJwks(session, options)
