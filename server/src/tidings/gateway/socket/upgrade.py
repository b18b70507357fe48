"""The checks on an upgrade request, in order of cost. Pure: a head in, an `UpgradeRequest` or a `UpgradeRefusal` out."""

import base64
import binascii

from tidings.gateway.socket.forwarded import client_address
from tidings.gateway.socket.head import RequestHead
from tidings.gateway.socket.options import UpgradeRules
from tidings.gateway.socket.ports import UpgradeRefusal, UpgradeRequest
from tidings.kernel.errors import Code

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
    """The request as a library reads it that insists on reading one: what was checked, and nothing else."""
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
        return UpgradeRefusal(404, Code.REQUEST_INVALID, f"There is no socket here; it is at {rules.path}")
    if head.values("transfer-encoding") or any(v.strip("0") for v in head.values("content-length")):
        return _invalid(400, "An upgrade request has no body")
    repeated = [name for name in _SINGLE if len(head.values(name)) > 1]
    if repeated or not head.values("host"):
        return _invalid(400, f"Exactly one {repeated[0] if repeated else 'host'} header is wanted")
    return None


def _websocket(head: RequestHead) -> UpgradeRefusal | None:
    asks = "upgrade" in (option.lower() for option in head.tokens("connection"))
    if not asks or "websocket" not in (kind.lower() for kind in head.tokens("upgrade")):
        return _invalid(426, "This is a WebSocket; the request asks for no upgrade", Upgrade="websocket")
    if _one(head, "sec-websocket-version") != _VERSION:
        wanted = {"Upgrade": "websocket", "Sec-WebSocket-Version": _VERSION}
        return _invalid(426, f"Only version {_VERSION} of the protocol is spoken", **wanted)
    if not _is_key(_one(head, "sec-websocket-key") or ""):
        return _invalid(400, "Sec-WebSocket-Key is no key")
    return None


def _origin(head: RequestHead, rules: UpgradeRules) -> UpgradeRefusal | None:
    """A browser always says where its page comes from; whatever says nothing is no browser."""
    origin = _one(head, "origin")
    is_allowed = rules.allows_no_origin if origin is None else rules.origins.allow(origin)
    return None if is_allowed else UpgradeRefusal(403, Code.FORBIDDEN, "This origin is not on the list")


def _subprotocol(head: RequestHead, rules: UpgradeRules) -> str | UpgradeRefusal | None:
    """Ours by our preference. Who offers only others would hang up after the answer: better told at once."""
    offered = head.tokens("sec-websocket-protocol")
    if not offered:
        return None
    chosen = next((name for name in rules.subprotocols if name in offered), None)
    return chosen or _invalid(400, "None of the offered subprotocols is spoken here")


def _path(head: RequestHead) -> str:
    """Without the query, which is not kept: a credential there would be in every log on the way."""
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
