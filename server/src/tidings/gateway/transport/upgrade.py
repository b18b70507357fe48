"""Parse and check the HTTP request of a WebSocket upgrade."""

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import final

import httptools

from tidings.gateway.transport.ports import Network, UpgradeRefusal, UpgradeRequest, UpgradeRules
from tidings.kernel.errors import Code

_TOO_LARGE = UpgradeRefusal(431, Code.REQUEST_INVALID, "The request head is too large")
_MALFORMED = UpgradeRefusal(400, Code.REQUEST_INVALID, "The request is not valid HTTP/1.1")


class BadRequestHeadError(Exception):
    """The request head is malformed or too large. `refusal` is the answer."""

    def __init__(self, refusal: UpgradeRefusal) -> None:
        super().__init__(refusal.title)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request. `fields`: in order, names in lower case. `rest`: bytes after the head, the first frames."""

    method: str
    target: str
    version: str
    fields: tuple[tuple[str, str], ...]
    rest: bytes = b""

    def values(self, name: str) -> list[str]:
        return [value for known, value in self.fields if known == name]

    def tokens(self, name: str) -> list[str]:
        """Return the items of a list header, over all of its lines."""
        parts = (part.strip() for value in self.values(name) for part in value.split(","))
        return [part for part in parts if part]


@final
class RequestHeadParser:
    """Parse the request head of one connection within limits. httptools calls the `on_…` methods."""

    def __init__(self, max_bytes: int, max_headers: int) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._max_headers = max_headers
        self._left_bytes = max_bytes
        self._target = b""
        self._fields: list[tuple[str, str]] = []
        self._is_whole = False

    def feed(self, data: bytes) -> RequestHead | None:
        """Return the head once it is complete. Raises `BadRequestHeadError`."""
        rest = b""
        try:
            self._parser.feed_data(data[: self._left_bytes])
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            raise BadRequestHeadError(self._refusal()) from error
        self._left_bytes -= len(data)
        if self._is_whole:
            return self._head(rest)
        if self._left_bytes <= 0:
            raise BadRequestHeadError(_TOO_LARGE)
        return None

    def release(self) -> None:
        """Free the parser after its last use. The two refer to each other, and only the garbage collector would free them."""
        del self._parser

    def _refusal(self) -> UpgradeRefusal:
        return _TOO_LARGE if len(self._fields) > self._max_headers else _MALFORMED

    def _head(self, rest: bytes) -> RequestHead:
        if len(self._fields) > self._max_headers:
            raise BadRequestHeadError(_TOO_LARGE)
        method, version = self._parser.get_method().decode("ascii"), self._parser.get_http_version()
        return RequestHead(method, self._target.decode("latin-1"), version, tuple(self._fields), rest)

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))
        if len(self._fields) > self._max_headers:
            raise BadRequestHeadError(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._is_whole = True


def render_refusal(refusal: UpgradeRefusal) -> bytes:
    body = _body(refusal)
    fields = {
        "Content-Type": "application/problem+json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **refusal.headers,
    }
    if refusal.retry_after_ms is not None:
        fields["Retry-After"] = str(-(-refusal.retry_after_ms // 1_000))
    lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _body(refusal: UpgradeRefusal) -> bytes:
    problem: dict[str, object] = {
        "status": refusal.status,
        "code": refusal.code.value,
        "title": refusal.title,
    }
    if refusal.retry_after_ms is not None:
        problem["retry_after_ms"] = refusal.retry_after_ms
    return json.dumps(problem).encode()


type Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*("[^"]*"|[^;"]*)', re.IGNORECASE)


def client_address(peer: str, head: RequestHead, rules: UpgradeRules) -> str:
    """Return the first address, from the nearest hop outwards, that is not a trusted proxy.

    An unreadable hop ends the search at the proxy that wrote it: any client can forge the hops before it.
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
    """Return whether the peer is a trusted proxy, which connects on behalf of many clients."""
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
    """Parse an address with or without a port: 192.0.2.1:80, [2001:db8::1]:80."""
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


_VERSION = "13"
_KEY_BYTES = 16
_SINGLE = ("host", "origin", "sec-websocket-key", "sec-websocket-version", "upgrade")


def check_upgrade(head: RequestHead, peer: str, rules: UpgradeRules) -> UpgradeRequest | UpgradeRefusal:
    refusal = _http(head, rules) or _websocket(head) or _origin(head, rules)
    if refusal is not None:
        return refusal
    subprotocol = _subprotocol(head, rules)
    if isinstance(subprotocol, UpgradeRefusal):
        return subprotocol
    return UpgradeRequest(
        path=_path(head),
        client=client_address(peer, head, rules),
        origin=_one(head, "origin"),
        subprotocol=subprotocol,
        key=_one(head, "sec-websocket-key") or "",
        extensions=", ".join(head.values("sec-websocket-extensions")) or None,
        user_agent=_one(head, "user-agent"),
    )


def rebuild_request(upgrade: UpgradeRequest, extensions: str | None) -> bytes:
    """Render the checked fields as a request, for a library that must parse the request itself."""
    fields = {
        "Host": "tidings",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": _VERSION,
        "Sec-WebSocket-Key": upgrade.key,
        "Sec-WebSocket-Protocol": upgrade.subprotocol,
        "Sec-WebSocket-Extensions": extensions,
    }
    lines = [f"{name}: {value}\r\n" for name, value in fields.items() if value]
    return f"GET / HTTP/1.1\r\n{''.join(lines)}\r\n".encode("latin-1")


def _http(head: RequestHead, rules: UpgradeRules) -> UpgradeRefusal | None:
    if head.method != "GET":
        return _invalid(405, "Only GET upgrades to a WebSocket", Allow="GET")
    if head.version != "1.1":
        return _invalid(505, "A WebSocket needs HTTP/1.1")
    if _path(head) != rules.path:
        return UpgradeRefusal(404, Code.REQUEST_INVALID, f"Unknown path. The WebSocket is at {rules.path}")
    if head.values("transfer-encoding") or any(v.strip("0") for v in head.values("content-length")):
        return _invalid(400, "An upgrade request has no body")
    repeated = [name for name in _SINGLE if len(head.values(name)) > 1]
    if repeated or not head.values("host"):
        return _invalid(
            400, f"The request must have exactly one {repeated[0] if repeated else 'host'} header"
        )
    return None


def _websocket(head: RequestHead) -> UpgradeRefusal | None:
    asks = "upgrade" in (option.lower() for option in head.tokens("connection"))
    if not asks or "websocket" not in (kind.lower() for kind in head.tokens("upgrade")):
        return _invalid(426, "This is a WebSocket. The request must ask for an upgrade", Upgrade="websocket")
    if _one(head, "sec-websocket-version") != _VERSION:
        wanted = {"Upgrade": "websocket", "Sec-WebSocket-Version": _VERSION}
        return _invalid(426, f"Only version {_VERSION} of the WebSocket protocol is supported", **wanted)
    if not _is_key(_one(head, "sec-websocket-key") or ""):
        return _invalid(400, "Sec-WebSocket-Key is invalid")
    return None


def _origin(head: RequestHead, rules: UpgradeRules) -> UpgradeRefusal | None:
    """Check the origin. A browser always sends it, so a request without one is not from a browser."""
    origin = _one(head, "origin")
    is_allowed = rules.allow_missing_origin if origin is None else rules.origins.allow(origin)
    return None if is_allowed else UpgradeRefusal(403, Code.FORBIDDEN, "This origin is not allowed")


def _subprotocol(head: RequestHead, rules: UpgradeRules) -> str | UpgradeRefusal | None:
    """Return the preferred subprotocol of those offered. Refuse if none matches: the client would close anyway."""
    offered = head.tokens("sec-websocket-protocol")
    if not offered:
        return None
    chosen = next((name for name in rules.subprotocols if name in offered), None)
    return chosen or _invalid(400, "None of the offered subprotocols is supported")


def _path(head: RequestHead) -> str:
    """Return the path without the query, which is never stored: it could contain a credential."""
    return head.target.partition("?")[0]


def _one(head: RequestHead, name: str) -> str | None:
    values = head.values(name)
    return values[0] if values else None


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text.encode("ascii"), validate=True)) == _KEY_BYTES
    except (binascii.Error, UnicodeEncodeError):
        return False


def _invalid(status: int, title: str, **headers: str) -> UpgradeRefusal:
    return UpgradeRefusal(status, Code.REQUEST_INVALID, title, headers)
