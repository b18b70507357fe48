"""Plain calls to the processes: are they ready, and the REST routes that fill the tenant. In a thread each."""

import asyncio
import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_TIMEOUT_S = 20.0
_PROBE_S = 2.0


class HttpResult(NamedTuple):
    status: int
    body: Any


async def is_http_ready(admin_port: int) -> bool:
    try:
        return (await asyncio.to_thread(_get_ready, admin_port)) == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False


def _get_ready(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PROBE_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    finally:
        connection.close()


async def http_call(
    method: str, url: str, bearer: str, body: object = None, *, key: str | None = None
) -> HttpResult:
    """`key` is the `Idempotency-Key` of what is made."""
    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    return await asyncio.to_thread(_call, method, url, headers, body)


def _call(method: str, url: str, headers: dict[str, str], body: object) -> HttpResult:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_TIMEOUT_S)
    try:
        path = place.path + (f"?{place.query}" if place.query else "")
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return HttpResult(answer.status, json.loads(text) if text else None)
