"""Which addresses Tidings may connect to on behalf of a tenant.

A tenant chooses the URL of its keys and of its webhooks. It must not reach the server's own network. The URL is checked
when it is set, and the resolved IP address at each connection: a name can resolve to another address each time.
"""

from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

_NAT64 = IPv6Network("64:ff9b::/96")
_NAME_CHARS, _LABEL_CHARS = 253, 63
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

type Address = IPv4Address | IPv6Address


class NetworkPolicy(StrEnum):
    """Networks that the URLs of tenants may point to."""

    PUBLIC = "public"
    """Public addresses, over https."""
    PRIVATE = "private"
    """Also private networks, over https: for a server of the tenant in the same network."""
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


@lru_cache(maxsize=4_096)
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
    if not _is_host(parts.hostname):
        return "its host is not a valid name or address"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "it must not have a user, a password or a fragment"
    return None


def _is_host(name: str) -> bool:
    # RFC 1035 section 2.3.4. The resolver raises `UnicodeError` for other names.
    labels = name.removesuffix(".").split(".")
    return len(name) <= _NAME_CHARS and all(0 < len(label) <= _LABEL_CHARS for label in labels)


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
