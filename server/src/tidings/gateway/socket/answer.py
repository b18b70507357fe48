"""Spells a refusal as an HTTP answer, with a problem (RFC 9457) as its body."""

import json
from http import HTTPStatus

from tidings.gateway.socket.ports import UpgradeRefusal


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
