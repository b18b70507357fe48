"""Where a JWKS URL may lead: judged by its text when it is set, and by the address at each connection. Pure."""

from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

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
