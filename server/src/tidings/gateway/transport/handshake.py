"""Connections that are not WebSockets yet: their limits, and the handling of their upgrade request."""

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast, final, override

from tidings.gateway.transport.ports import (
    AdmissionCheck,
    AdmissionResult,
    UpgradeRefusal,
    UpgradeRequest,
)
from tidings.gateway.transport.socket_mixin import OpenSockets
from tidings.gateway.transport.upgrade import (
    BadRequestHeadError,
    RequestHead,
    RequestHeadParser,
    check_upgrade,
    render_refusal,
)
from tidings.kernel.errors import Code


@final
class HandshakeTracker[H]:
    """Bound the handshakes in progress, in total and for each address. A new handshake always finds room.

    If there is none, the tracker drops the oldest handshake that has sent nothing, or else the oldest. A client sends
    its request as soon as it is connected and needs one or two round trips, so older handshakes are idle or an attack.
    An address at its limit loses one of its own handshakes.
    """

    def __init__(self, in_all: int, per_address: int, drop: Callable[[H], None]) -> None:
        self._in_all = in_all
        self._per_address = per_address
        self._drop_handshake = drop
        self._addresses: dict[H, str | None] = {}
        self._silent: dict[H, None] = {}
        self._of_address: dict[str, dict[H, None]] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._addresses)

    def all(self) -> list[H]:
        return list(self._addresses)

    def add(self, handshake: H, address: str | None) -> None:
        """Add a handshake. `address` is None for a trusted proxy, which connects on behalf of many clients."""
        if address is not None:
            own = self._of_address.get(address, {})
            if len(own) >= self._per_address:
                self._drop(next((each for each in own if each in self._silent), None) or next(iter(own)))
        if len(self._addresses) >= self._in_all:
            self._drop(next(iter(self._silent), None) or next(iter(self._addresses)))
        self._addresses[handshake] = address
        self._silent[handshake] = None
        if address is not None:
            self._of_address.setdefault(address, {})[handshake] = None

    def spoke(self, handshake: H) -> None:
        """Record that the client has sent something."""
        self._silent.pop(handshake, None)

    def discard(self, handshake: H) -> None:
        if handshake not in self._addresses:
            return
        address = self._addresses.pop(handshake)
        self._silent.pop(handshake, None)
        if address is not None:
            own = self._of_address[address]
            del own[handshake]
            if not own:
                del self._of_address[address]

    def _drop(self, handshake: H) -> None:
        self.discard(handshake)
        self.dropped += 1
        self._drop_handshake(handshake)


_ADDRESS_FULL = "Too many connections are open from this address"
_TOO_LATE = UpgradeRefusal(408, Code.REQUEST_INVALID, "The request did not arrive in time")
_BROKEN = UpgradeRefusal(500, Code.INTERNAL, "Admission failed")


@dataclass(frozen=True, slots=True)
class HandshakeDeps:
    """What all handshakes of a listener share. `accept` makes the transport of a checked upgrade a WebSocket."""

    sockets: OpenSockets
    tracker: "HandshakeTracker[HandshakeProtocol]"
    admit: AdmissionCheck
    accept: Callable[[asyncio.Transport, UpgradeRequest, bytes], None]


@final
class HandshakeProtocol(asyncio.Protocol):
    """One handshake. Its timer runs until the upgrade is accepted or the connection is closed."""

    def __init__(self, deps: HandshakeDeps, sock: socket.socket) -> None:
        self._deps = deps
        self._sock = sock
        options = self._options = deps.sockets.options
        self._parser = RequestHeadParser(options.rules.max_head_bytes, options.rules.max_headers)
        self._transport: asyncio.Transport | None = None
        self._is_decided = False
        self._admission: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(options.handshake_timeout_s, self._timed_out)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    @override
    def data_received(self, data: bytes) -> None:
        if self._is_decided:
            return
        self._deps.tracker.spoke(self)
        try:
            head = self._parser.feed(data)
        except BadRequestHeadError as error:
            self._refuse(error.refusal)
            return
        if head is not None:
            self._decide(head)

    def refuse(self, refusal: UpgradeRefusal) -> None:
        """Refuse the upgrade, unless it is already decided. During TLS no answer is possible: close the socket."""
        if self._transport is None:
            self.drop()
        elif not self._is_decided:
            self._refuse(refusal)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """Close without an answer, to make room. During TLS there is no transport yet, so the socket is shut down."""
        if self._transport is not None:
            self._transport.abort()
        else:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)

    def _decide(self, head: RequestHead) -> None:
        self._is_decided = True
        options, sockets = self._options, self._deps.sockets
        if options.unnamed_proxy is not None and head.values(options.rules.forwarded_by):
            options.unnamed_proxy.on_forwarded(self._peer())
        upgrade = check_upgrade(head, self._peer(), options.rules)
        if isinstance(upgrade, UpgradeRefusal):
            self._refuse(upgrade)
        elif sockets.is_full:
            self._refuse(self._full("This gateway is full"))
        elif not sockets.has_room_for(upgrade.client):
            self._refuse(self._full(_ADDRESS_FULL))
        else:
            self._admit(upgrade, head.rest)

    def _full(self, title: str) -> UpgradeRefusal:
        retry_after_ms = random.randint(*self._options.full_retry_ms)  # noqa: S311 - spreads retries
        return UpgradeRefusal(503, Code.OVERLOADED, title, retry_after_ms=retry_after_ms)

    def _admit(self, upgrade: UpgradeRequest, rest: bytes) -> None:
        try:
            admission = self._deps.admit(upgrade)
        except Exception as error:  # noqa: BLE001 - every failure is reported and refuses the upgrade
            self._deps.sockets.report("admission failed", error)
            self._refuse(_BROKEN)
            return
        if isinstance(admission, Awaitable):
            self._live().pause_reading()
            self._admission = asyncio.ensure_future(self._wait(admission, upgrade, rest))
        else:
            self._finish(admission, upgrade, rest)

    async def _wait(
        self, awaitable: Awaitable[AdmissionResult], upgrade: UpgradeRequest, rest: bytes
    ) -> None:
        try:
            admission = await awaitable
        except Exception as error:  # noqa: BLE001 - as above
            self._deps.sockets.report("admission failed", error)
            admission = _BROKEN
        self._admission = None
        # Race: the handshake timed out or the client hung up while the admission was decided.
        if not self._live().is_closing():
            self._live().resume_reading()
            self._finish(admission, upgrade, rest)

    def _finish(self, admission: AdmissionResult, upgrade: UpgradeRequest, rest: bytes) -> None:
        if admission is not None:
            self._refuse(admission)
            return
        # Race: other handshakes open sockets while an asynchronous admission is decided, so the limits that `_decide`
        # checked can be exceeded, at most by the number of handshakes in progress.
        transport = self._live()
        self._end()
        self._deps.accept(transport, upgrade, rest)

    def _refuse(self, refusal: UpgradeRefusal) -> None:
        """Answer and half-close. A full close with unread bytes would reset the connection and lose the answer."""
        self._is_decided = True
        self._deps.sockets.tally.refuse(refusal.status)
        transport = self._live()
        transport.write(render_refusal(refusal))
        if transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()

    def _timed_out(self) -> None:
        # Race: the timer fires during the TLS handshake, when there is no transport yet. That handshake has a timeout
        # of the same length, which ends the connection.
        if self._transport is None:
            return
        if self._admission is not None or not self._is_decided:
            self._refuse(_TOO_LATE)
            self._transport.close()
        else:
            self._transport.abort()

    def _end(self) -> None:
        if self._transport is not None:
            self._transport = None
            self._parser.release()
            self._timer.cancel()
            if self._admission is not None:
                self._admission.cancel()
            self._deps.tracker.discard(self)

    def _live(self) -> asyncio.Transport:
        if self._transport is None:
            raise ConnectionError("the handshake has ended")
        return self._transport

    def _peer(self) -> str:
        peer = self._live().get_extra_info("peername")
        return str(peer[0]) if peer else ""
