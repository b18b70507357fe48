"""Where a connection really comes from, when proxies stand in between. Believes nobody who is not trusted."""

import ipaddress
import re
from collections.abc import Iterator

from tidings.gateway.socket.head import RequestHead
from tidings.gateway.socket.options import Network, UpgradeRules

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*("[^"]*"|[^;"]*)', re.IGNORECASE)


def client_address(peer: str, head: RequestHead, rules: UpgradeRules) -> str:
    """From the nearest hop outwards: the first address that is not one of our proxies.

    A hop that can't be read ends the walk at the proxy that wrote it: what lies behind is anybody's claim.
    """
    if not rules.trusted_proxies:
        return peer
    nearest = _parse(peer)
    if nearest is None or not _is_trusted(nearest, rules.trusted_proxies):
        return peer
    for hop in _hops(head, rules):
        address = _parse(hop)
        if address is None:
            break
        nearest = address
        if not _is_trusted(address, rules.trusted_proxies):
            break
    return str(nearest)


def is_proxy(peer: str, rules: UpgradeRules) -> bool:
    """Whether a connection from there is one of our proxies', and so anybody's."""
    if not rules.trusted_proxies:
        return False
    address = _parse(peer)
    return address is not None and _is_trusted(address, rules.trusted_proxies)


def _hops(head: RequestHead, rules: UpgradeRules) -> Iterator[str]:
    entries = reversed(head.tokens(rules.forwarded_by))
    if rules.forwarded_by == "x-forwarded-for":
        yield from entries
    else:
        for entry in entries:
            found = _FOR.search(entry)
            yield found.group(1).strip().strip('"') if found else ""


def _parse(text: str) -> Address | None:
    """An address, with or without a port: 192.0.2.1:80, [2001:db8::1]:80."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_trusted(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)
