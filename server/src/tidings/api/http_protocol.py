"""Limits around uvicorn's HTTP protocol, which has none: receive time, size of headers, number of connections.

A request that is incomplete after `request_timeout_s` is answered with 408, and headers that are too large with 431. Both close
the connection. A connection beyond the limits (`shares`) is answered with 503.
"""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, ClassVar, cast, override

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tidings.api import problems
from tidings.api.connection_shares import ConnectionQuota, ConnectionShares
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import new_ulid
from tidings.kernel.security import UntrustedProxyDetector
from tidings.limits.rules import address_key

_REFUSED_RECEIVE_S = 2.0
"""How long a refused connection may send its request. Most clients ignore an answer before the request."""
_ANONYMOUS_S = 5
"""Keep-alive of a connection without a valid credential, or of a tenant with too many connections."""
_LINGER_S = 1.0
"""How long to read on after a refusal. Closing while the client sends would reset the connection and lose the answer."""
_LINGER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpBounds:
    """`max_head_bytes` counts the URL and the names and values of all headers, including trailers of a chunked body."""

    request_timeout_s: float
    keep_alive_s: int
    docs_root: str
    quota: ConnectionQuota
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    max_url_bytes: int = 8 * 1024
    max_head_bytes: int = 32 * 1024
    max_headers: int = 100
    unnamed_proxy: UntrustedProxyDetector | None = None


class _HeadTooLargeError(Exception):
    """Stops the parser. httptools wraps it in its own error."""


class _ResponseWriter:
    """Joins the head of a response with the first piece of its body. Each write to a socket costs a system call."""

    __slots__ = ("_cycle", "_head", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        self._transport = transport
        self._cycle = cycle
        self._head = b""
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Hold back the first write of the response, which is its head. `100 Continue` comes before it."""
        if self._head:
            self._transport.write(self._head + data)
            self._cycle.transport = self._transport
        elif self._cycle.response_started:
            self._head = data
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection of a response that failed after its head."""
        if self._head:
            self._transport.write(self._head)
        self._transport.close()


class _BoundedProtocol(HttpToolsProtocol):
    bounds: ClassVar[HttpBounds]
    shares: "ClassVar[ConnectionShares[_BoundedProtocol]]"
    _timer: asyncio.TimerHandle | None = None
    _is_begun = _has_headers = _is_over_quota = _is_head_too_large = _is_refused = False
    _headers_seen = _head_bytes = 0
    _unparsed_bytes = 0
    """Bytes received since the parser last completed an element. The parser buffers partial headers without a callback."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        entry = self.shares.enter(self, self._address())
        self._is_over_quota = entry.is_refused
        self._arm()
        if entry.is_closed:
            transport.abort()
        if entry.evicted is not None:
            entry.evicted.transport.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.shares.leave(self)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        """Parse data. A request that arrives in one piece, as most do, needs no timer."""
        self._unparsed_bytes += len(data)
        if self._is_refused:
            if self._unparsed_bytes > _LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if self._unparsed_bytes + self._head_bytes > self.bounds.max_head_bytes:
            self._refuse_head()
        # A blank line between requests starts no request, but has stopped uvicorn's keep-alive timer.
        if (
            self._timer is None
            and (self._is_begun or self._current_response() is None)
            and not self.transport.is_closing()
        ):
            self._arm()

    @override
    def on_message_begin(self) -> None:
        self._is_begun, self._has_headers = True, False
        self._headers_seen = self._head_bytes = self._unparsed_bytes = 0
        super().on_message_begin()

    @override
    def on_url(self, url: bytes) -> None:
        self._count_head(len(url), self.bounds.max_url_bytes)
        super().on_url(url)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        """Count trailers, which the parser reports as headers after the body, but do not add them to the headers."""
        self._headers_seen += 1
        self._count_head(len(name) + len(value), self.bounds.max_head_bytes)
        if not self._has_headers:
            super().on_header(name, value)

    @override
    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    @override
    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser rejected: headers beyond the limits, or invalid HTTP."""
        if self._is_head_too_large:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    @override
    def on_headers_complete(self) -> None:
        self._has_headers = True
        self._detect_proxy()
        self.shares.on_request(self)
        if self._is_over_quota:
            self.app = self._refuse_connection
        super().on_headers_complete()
        if self.scope["method"] != "HEAD":  # its response has no body
            self.cycle.transport = cast("asyncio.Transport", _ResponseWriter(self.transport, self.cycle))

    @override
    def on_message_complete(self) -> None:
        self._is_begun = False
        self._unparsed_bytes = 0
        self._disarm()
        super().on_message_complete()

    @override
    def on_response_complete(self) -> None:
        """Set the keep-alive time: short for a connection without a valid credential."""
        call = self.cycle.scope.get("state", {}).get("call")
        may_wait = self.shares.on_idle(self, None if call is None else call.tenant)
        keep_alive_s = self.bounds.keep_alive_s
        self.timeout_keep_alive = keep_alive_s if may_wait else min(keep_alive_s, _ANONYMOUS_S)
        super().on_response_complete()

    def _address(self) -> str | None:
        """Return the address that the connection counts for, or `None` for a trusted proxy, which serves many clients."""
        host = self.client[0] if self.client else ""
        try:
            address = ip_address(host)
        except ValueError:
            return host
        if any(address in proxies for proxies in self.bounds.proxies):
            return None
        return address_key(host)

    def _detect_proxy(self) -> None:
        unnamed = self.bounds.unnamed_proxy
        if unnamed is None or unnamed.has_warned or not self.client:
            return
        if any(name == b"x-forwarded-for" for name, _ in self.headers):
            unnamed.on_forwarded(self.client[0])

    def _arm(self) -> None:
        timeout_s = self.bounds.request_timeout_s
        wait_s = min(timeout_s, _REFUSED_RECEIVE_S) if self._is_over_quota else timeout_s
        self._timer = self.loop.call_later(wait_s, self._expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self._arm()  # we paused reading, so the client is not slow
            return
        if self._may_answer():
            message = f"The request was not complete after {self.bounds.request_timeout_s:g} seconds."
            self.transport.write(self._problem(TidingsError(Code.REQUEST_TOO_SLOW, message)))
        self._abandon()
        self.transport.close()

    def _count_head(self, size: int, max_bytes: int) -> None:
        self._unparsed_bytes = 0
        self._head_bytes += size
        if self._head_bytes > max_bytes or self._headers_seen > self.bounds.max_headers:
            self._is_head_too_large = True
            raise _HeadTooLargeError

    def _refuse_head(self) -> None:
        """Answer 431, then read and discard data for `_LINGER_S`."""
        self._is_refused, self._unparsed_bytes, self._head_bytes = True, 0, 0
        self._disarm()
        if not self._may_answer():
            self._abandon()
            self.transport.close()
            return
        bounds = self.bounds
        message = (
            f"The URL or the headers are too large. At most {bounds.max_url_bytes} bytes of URL, "
            f"{bounds.max_headers} headers and {bounds.max_head_bytes} bytes in total are allowed."
        )
        self.transport.write(self._problem(TidingsError(Code.HEADERS_TOO_LARGE, message)))
        self._abandon()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(_LINGER_S, self.transport.abort)

    def _abandon(self) -> None:
        """Signal a disconnect to the application if it is handling a request."""
        if (cycle := self._current_response()) is not None:
            cycle.disconnected = True
            cycle.message_event.set()

    def _current_response(self) -> RequestResponseCycle | None:
        # `None` before the first request, although its type excludes that.
        cycle: RequestResponseCycle | None = self.cycle
        return None if cycle is None or cycle.response_complete else cycle

    def _may_answer(self) -> bool:
        """Return whether the next bytes may be an answer to the request that is being received.

        Not before the request has begun, not after its answer has begun, and not while an earlier, pipelined request
        is being answered.
        """
        if not self._is_begun or self.pipeline:
            return False
        return not self.cycle.response_started if self._has_headers else self._current_response() is None

    def _problem(self, error: TidingsError) -> bytes:
        response = problems.problem_response(error, new_ulid(), self.bounds.docs_root)
        status = HTTPStatus(response.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), b"connection: close"]
        lines += [name + b": " + value for name, value in response.raw_headers]
        return b"\r\n".join([*lines, b"", bytes(response.body)])

    async def _refuse_connection(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI is dicts
        error = TidingsError(Code.OVERLOADED, "Too many open connections. Try again later.")
        response = problems.problem_response(error, new_ulid(), self.bounds.docs_root)
        response.headers["connection"] = "close"
        await response(scope, receive, send)


def bounded_protocol(given: HttpBounds) -> type[_BoundedProtocol]:
    class Bounded(_BoundedProtocol):
        bounds = given
        shares = ConnectionShares(given.quota)

    return Bounded
