"""Attacks on the REST API, each from an address of its own on loopback. Standard library only: they start often."""

import json
import socket
import time
from collections import Counter, defaultdict
from http.client import HTTPConnection

SOURCE = "127.0.0.2"
_MAX_BYTES = 64 * 1024 * 1024


def connect(port: int, source: str = SOURCE, receive_bytes: int = 0) -> socket.socket:
    """Connect with a receive buffer of this size, or with the kernel's choice."""
    client = socket.socket()
    if receive_bytes:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.settimeout(5)
    client.bind((source, 0))
    client.connect(("127.0.0.1", port))
    return client


def heads(seconds: float, port: int) -> int:
    """Send headers without end; return the most bytes that one connection was allowed to send."""
    ends_at, most = time.monotonic() + seconds, 0
    while time.monotonic() < ends_at:
        most = max(most, _one_head(port, ends_at))
    return most


def _one_head(port: int, ends_at: float) -> int:
    taken, piece = 0, b"a:\r\n" * 4_096
    with connect(port) as client:
        try:
            client.sendall(b"GET /v1/me HTTP/1.1\r\n")
            while time.monotonic() < ends_at and taken < _MAX_BYTES:
                client.sendall(piece)
                taken += len(piece)
        except OSError:
            return taken  # the server stopped reading
    return taken


def ask(port: int, bearer: str, method: str, path: str, body: object = None, **headers: str) -> int:
    """Send one request on a connection of its own; return the status."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60, source_address=(SOURCE, 0))
    given = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json", **headers}
    connection.request(method, path, None if body is None else json.dumps(body), given)
    status = connection.getresponse().status
    connection.close()
    return status


def schema_bomb(seconds: float, port: int, bearer: str) -> dict[str, list[int]]:
    """Configure a schema that doubles at each level, one with many patterns and one just below the bound; use them."""
    ends_at, statuses = time.monotonic() + seconds, defaultdict[str, set[int]](set)
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(18)}
    doubling = {"$defs": {**defs, "d18": {"const": "never"}}, "$ref": "#/$defs/d0"}
    schemas = {"doubling": doubling}
    for name, make in (
        ("patterns", lambda n: {"pattern": f"^x{n}"}),
        ("costly", lambda n: {"minLength": n + 2}),
    ):
        items = {"anyOf": [{"type": "string", **make(n)} for n in range(350)]}
        schemas[name] = {"properties": {"title": {}, "a": {"items": items}}}
    for name, schema in schemas.items():
        wanted = {"title": name, "categories": [], "payload_schema": schema}
        statuses[f"set {name}"].add(ask(port, bearer, "PUT", f"/v1/inboxes/{name}", wanted))
    while time.monotonic() < ends_at:
        for name in schemas:
            notification = {"user_ids": ["ben"], "message": {"title": "x", "a": ["y"] * 3_000}}
            statuses[name].add(ask(port, bearer, "POST", f"/v1/inboxes/{name}/notifications", notification))
    return {name: sorted(seen) for name, seen in statuses.items()}


def idle_connections(seconds: float, port: int, count: int) -> int:
    """Hold `count` connections: half silent, half idle after one anonymous request; return how often one was lost."""
    ends_at, held, lost = time.monotonic() + seconds, list[socket.socket](), 0
    while time.monotonic() < ends_at:
        while len(held) < count:
            held.append(connect(port))
            if len(held) % 2:
                held[-1].sendall(b"GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n")
        for client in [*held]:
            if is_closed(client):
                client.close()
                held.remove(client)
                lost += 1
        time.sleep(0.01)
    return lost


def is_closed(client: socket.socket) -> bool:
    client.settimeout(0)
    try:
        return client.recv(65_536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def bad_credentials(seconds: float, port: int) -> dict[int, int]:
    """Try forged credentials from the honest client's own address; count the answers by status."""
    ends_at, statuses = time.monotonic() + seconds, Counter[int]()
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < ends_at:
        connection.request("GET", "/v1/me", headers={"Authorization": "Bearer tidings_sk.forged"})
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] += 1
    return dict(statuses)


def groups(seconds: float, port: int, bearer: str) -> dict[int, int]:
    """Create groups of a hundred members who do not exist; count the answers by status."""
    ends_at, statuses = time.monotonic() + seconds, Counter[int]()
    while time.monotonic() < ends_at:
        body = {"type": "group", "name": "x", "members": [f"nobody-{number}" for number in range(99)]}
        key = {"Idempotency-Key": f"{time.monotonic_ns()}", "Tidings-User": "mallory"}
        statuses[ask(port, bearer, "POST", "/v1/chats", body, **key)] += 1
    return dict(statuses)
