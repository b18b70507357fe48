"""Where a JWKS URL may lead: judged by its text when it is set, and by the address at each connection. Pure."""

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
    """How far the fetch of keys may go. A tenant can set a URL; it must not reach what only the server can."""

    PUBLIC = "public"
    """Public addresses, by https."""
    PRIVATE = "private"
    """Those of private networks too, by https: an identity server inside the network."""
    LOCAL = "local"
    """This machine too, and that by http as well: for development and tests."""


_NEVER = tuple(
    ip_network(text)
    for text in (
        "fec0::/10",  # site-local: deprecated, never public, and Python takes it for global
        "fd00:ec2::/32",  # AWS: instance metadata, DNS and time by IPv6
        "168.63.129.16/32",  # Azure's platform, at a public address
    )
)


def check_url(url: str, reach: NetworkPolicy) -> str | None:
    """What is wrong with it; None: nothing that its text shows."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "it can't be read as a URL"
    if parts.scheme != "https" and not _is_plain_loopback(parts, reach):
        return "it has to be https"
    if not parts.hostname or port == 0:
        return "it names no host"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "it may have no user, no password and no fragment"
    return None


def _is_plain_loopback(parts: SplitResult, reach: NetworkPolicy) -> bool:
    return reach is NetworkPolicy.LOCAL and parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES


def may_connect(address: str, reach: NetworkPolicy) -> bool:
    """`address` as a socket takes it. Link-local is refused always, and so is every other address at which a cloud
    serves credentials to its machines.
    """
    try:
        each = _meant(ip_address(address.partition("%")[0]))
    except ValueError:
        return False
    if each.is_loopback:
        return reach is NetworkPolicy.LOCAL
    if each.is_multicast or each.is_unspecified or each.is_link_local or each.is_reserved:
        return False
    if any(each in network for network in _NEVER if network.version == each.version):
        return False
    return each.is_global or (reach is not NetworkPolicy.PUBLIC and each.is_private)


def _meant(address: Address) -> Address:
    """An IPv4 address that an IPv6 one carries is judged as what it is."""
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
