"""A minimal HTTP/1.1 server for `/livez`, `/readyz`, `/metrics` and `/drain`, in a thread of its own, and its client.

So it answers while the process's event loop is blocked, and rendering metrics does not delay that loop. It serves one
request per connection, with limits on sizes and times. Pages are read with GET. `POST /drain` needs a token and exists
only if one is set. Bind the server to an address that only operators can reach.
"""

import asyncio
import errno
import hmac
import http.client
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from tidings.kernel.errors import UnavailableError
from tidings.kernel.security import Secret
from tidings.platform.lifecycle.process_status import ComponentReport, ProcessReport, ProcessStatus
from tidings.platform.lifecycle.watchdog import Heartbeat
from tidings.platform.telemetry import logs, metrics
from tidings.platform.telemetry.logs import ProcessIdentity

log = logs.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AdminResponse:
    status: int
    content_type: str
    body: bytes


_BEARER = b"authorization: bearer "

type AdminPage = Callable[[], AdminResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminOptions:
    """`port` 0 chooses a free port, which is logged. `may_move`: if `port` is in use, choose a free one and warn.

    `request_s`: time limit from the connection to the last byte of the answer. `drain_token`: allows `POST /drain`.
    """

    host: str = "127.0.0.1"
    port: int = 0
    may_move: bool = False
    request_s: float = 5.0
    max_head_bytes: int = 8_192
    max_connections: int = 64
    drain_token: Secret | None = None


class AdminServer:
    """Listens when it is created, and answers from `start` to `stop`. The constructor raises `OSError`.

    `on_drain` is called in the server's thread.
    """

    def __init__(
        self,
        options: AdminOptions,
        pages: Mapping[str, AdminPage],
        on_drain: Callable[[], object] = lambda: None,
    ) -> None:
        self._options = options
        self._pages = pages
        self._on_drain = on_drain
        self._socket = _listen(options)
        self.port: int = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="admin", daemon=True)
        self._open = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(self._options.request_s)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        server = await asyncio.start_server(
            self._serve, sock=self._socket, limit=self._options.max_head_bytes
        )
        await self._stopping.wait()
        # `wait_closed` would wait for the slowest client. Ending the loop closes all connections.
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= self._options.max_connections:
                async with asyncio.timeout(self._options.request_s):
                    writer.write(_encode(await self._answer(reader)))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # The client disconnected or was too slow.
        finally:
            self._open -= 1
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> AdminResponse:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        match head.split(b"\r\n", 1)[0].split(b" "):
            case [b"GET", target, b"HTTP/1.1" | b"HTTP/1.0"]:
                return self._page(target.split(b"?", 1)[0].decode("ascii", "replace"))
            case [b"POST", b"/drain", b"HTTP/1.1" | b"HTTP/1.0"] if self._options.drain_token is not None:
                return self._drain(head, self._options.drain_token)
            case [_, _, b"HTTP/1.1" | b"HTTP/1.0"]:
                return _plain(HTTPStatus.METHOD_NOT_ALLOWED)
            case _:
                return _plain(HTTPStatus.BAD_REQUEST)

    def _drain(self, head: bytes, token: Secret) -> AdminResponse:
        """Start to drain the process, as SIGTERM does. A browser cannot send the header to another origin unasked."""
        given = [line[len(_BEARER) :] for line in head.split(b"\r\n") if line.lower().startswith(_BEARER)]
        if not any(hmac.compare_digest(each.strip(), token.reveal().encode()) for each in given):
            return _plain(HTTPStatus.UNAUTHORIZED)
        self._on_drain()
        return _plain(HTTPStatus.ACCEPTED)

    def _page(self, path: str) -> AdminResponse:
        page = self._pages.get(path)
        if page is None:
            return _plain(HTTPStatus.NOT_FOUND)
        try:
            return page()
        except Exception:
            log.exception("admin page failed", page=path)
            return _plain(HTTPStatus.INTERNAL_SERVER_ERROR)


def _listen(options: AdminOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        if not options.may_move or error.errno != errno.EADDRINUSE:
            raise
    log.warning("admin port is in use, using another one; set process.admin_port", taken=options.port)
    return socket.create_server((options.host, 0), family=family)


def _plain(status: HTTPStatus) -> AdminResponse:
    return AdminResponse(status, "text/plain", f"{status.value} {status.phrase}\n".encode())


def _encode(response: AdminResponse) -> bytes:
    status = HTTPStatus(response.status)
    allow = "Allow: GET\r\n" if status is HTTPStatus.METHOD_NOT_ALLOWED else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {response.content_type}\r\nContent-Length: {len(response.body)}\r\n"
        f"{allow}Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + response.body


_OK, _UNAVAILABLE = 200, 503


def health_endpoints(
    identity: ProcessIdentity,
    status: ProcessStatus,
    heartbeat: Heartbeat,
    max_lag_s: float,
    render_metrics: Callable[[], bytes],
) -> Mapping[str, AdminPage]:
    return {
        "/livez": lambda: livez(heartbeat.age_s(), max_lag_s),
        "/readyz": lambda: readyz(identity, status.report, heartbeat.age_s(), max_lag_s),
        "/metrics": lambda: AdminResponse(_OK, metrics.CONTENT_TYPE, render_metrics()),
    }


def livez(beat_age_s: float, max_lag_s: float) -> AdminResponse:
    """Report whether the event loop runs. An unavailable engine is no reason to restart the process."""
    reason = _blocked(beat_age_s, max_lag_s)
    return _json(not reason, {"alive": not reason, "reason": reason})


def readyz(
    identity: ProcessIdentity, report: ProcessReport, beat_age_s: float, max_lag_s: float
) -> AdminResponse:
    """Report whether the process is ready. A blocked event loop is not ready."""
    blocked = _blocked(beat_age_s, max_lag_s)
    is_ready = report.is_ready and not blocked
    body = {
        "ready": is_ready,
        "phase": report.phase,
        "process": identity.kind,
        "version": identity.version,
        "instance": identity.instance,
        "problems": [*([blocked] if blocked else []), *_problems(report)],
        "components": {part.name: _component(part) for part in report.components},
    }
    return _json(is_ready, body)


def _problems(report: ProcessReport) -> list[str]:
    return [f"{part.name}: {part.reason}" for part in report.components if not part.ok]


def _component(part: ComponentReport) -> dict[str, object]:
    return {
        "ok": part.ok,
        "state": part.state,
        "gates_readiness": part.gates_readiness,
        "reason": part.reason,
        "since": part.since,
    }


def _blocked(beat_age_s: float, max_lag_s: float) -> str:
    return f"the event loop is blocked for {beat_age_s:.1f} s" if beat_age_s > max_lag_s else ""


def _json(is_ok: bool, body: Mapping[str, object]) -> AdminResponse:  # noqa: FBT001 - private to this file
    return AdminResponse(_OK if is_ok else _UNAVAILABLE, "application/json", msgspec.json.encode(body))


CLIENT_TIMEOUT_S = 3.0
_MAX_CLIENT_BYTES = 4 * 1024 * 1024


def fetch_admin_page(
    address: str, path: str, *, timeout_s: float = CLIENT_TIMEOUT_S, drain_token: Secret | None = None
) -> AdminResponse:
    """Read a page of another process at `host:port`; with a token, send POST. Blocks. Raises `UnavailableError`."""
    host, _, port = address.rpartition(":")
    headers = {} if drain_token is None else {"Authorization": f"Bearer {drain_token.reveal()}"}
    try:
        connection = http.client.HTTPConnection(host, int(port), timeout=timeout_s)
        try:
            connection.request("GET" if drain_token is None else "POST", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read(_MAX_CLIENT_BYTES)
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UnavailableError(str(error) or type(error).__name__) from error
    return AdminResponse(answer.status, answer.headers.get("content-type", ""), body)
