"""Connections that are not WebSockets yet: how many there are in all, and of each address."""

import asyncio
import random
import socket
from collections.abc import Awaitable
from contextlib import suppress
from typing import Protocol, cast, final, override

from tidings.gateway.transport.ports import (
    AdmissionCheck,
    AdmissionResult,
    ErrorReporter,
    ListenerStats,
    ListenOptions,
    UpgradeRefusal,
    UpgradeRequest,
)
from tidings.gateway.transport.upgrade import (
    BadRequestHeadError,
    RequestHead,
    RequestHeadParser,
    check_upgrade,
    render_refusal,
)
from tidings.kernel.errors import Code


class OpenHandshake(Protocol):
    def drop(self) -> None:
        """End it now, with nothing said."""
        ...


@final
class HandshakeTracker[H: OpenHandshake]:
    """Room for the newest. When there is none, the oldest ends that has sent nothing, or else the oldest.

    A client sends its request as soon as it is connected, and needs a round trip or two. Connections that stay here
    longer are idle or made to be: they must not keep others from connecting. An address that has its share makes
    room at the cost of its own connections alone.
    """

    def __init__(self, in_all: int, per_address: int) -> None:
        self._in_all = in_all
        self._per_address = per_address
        self._addresses: dict[H, str | None] = {}
        self._silent: dict[H, None] = {}
        self._of_address: dict[str, dict[H, None]] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._addresses)

    def all(self) -> list[H]:
        return list(self._addresses)

    def add(self, handshake: H, address: str | None) -> None:
        """Take it in. `address` is None for a trusted proxy, which connects for many."""
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
        """Note that it has sent something."""
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
        handshake.drop()


_ADDRESS_FULL = "Too many connections are open from this address"
_TOO_LATE = UpgradeRefusal(408, Code.REQUEST_INVALID, "The request did not come in time")
_BROKEN = UpgradeRefusal(500, Code.INTERNAL, "Admission failed")


class HandshakeContext(Protocol):
    """What the door leads to."""

    @property
    def options(self) -> ListenOptions: ...
    @property
    def tally(self) -> ListenerStats: ...
    @property
    def admit(self) -> AdmissionCheck: ...
    @property
    def report(self) -> ErrorReporter: ...
    @property
    def is_full(self) -> bool: ...

    def has_room_for(self, address: str) -> bool: ...
    def spoke(self, door: "HandshakeProtocol") -> None: ...
    def accept(self, transport: asyncio.Transport, upgrade: UpgradeRequest, rest: bytes) -> None: ...
    def handshake_done(self, door: "HandshakeProtocol") -> None:
        """Called once, whether it went in, was refused or went away."""
        ...


@final
class HandshakeProtocol(asyncio.Protocol):
    """One of them. The timer runs until it has left."""

    def __init__(self, house: HandshakeContext, sock: socket.socket) -> None:
        self._context = house
        self._sock = sock
        options = house.options
        self._reader = RequestHeadParser(options.rules.max_head_bytes, options.rules.max_headers)
        self._transport: asyncio.Transport | None = None
        self._is_decided = False
        self._deciding: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(options.handshake_timeout_s, self._timed_out)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    @override
    def data_received(self, data: bytes) -> None:
        if self._is_decided:
            return
        self._context.spoke(self)
        try:
            head = self._reader.feed(data)
        except BadRequestHeadError as error:
            self._refuse(error.refusal)
            return
        if head is not None:
            self._decide(head)

    def refuse(self, refusal: UpgradeRefusal) -> None:
        if not self._is_decided:
            self._refuse(refusal)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """End it to make room for others. A TLS handshake has no transport yet, and ends by its socket's end."""
        if self._transport is not None:
            self._transport.abort()
        else:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)

    def _decide(self, head: RequestHead) -> None:
        self._is_decided = True
        options = self._context.options
        if options.unnamed_proxy is not None and head.values(options.rules.forwarded_by):
            options.unnamed_proxy.on_forwarded(self._peer())
        upgrade = check_upgrade(head, self._peer(), options.rules)
        if isinstance(upgrade, UpgradeRefusal):
            self._refuse(upgrade)
        elif self._context.is_full:
            self._refuse(self._full("This gateway is full"))
        elif not self._context.has_room_for(upgrade.client):
            self._refuse(self._full(_ADDRESS_FULL))
        else:
            self._ask(upgrade, head.rest)

    def _full(self, title: str) -> UpgradeRefusal:
        retry_after_ms = random.randint(*self._context.options.full_retry_ms)  # noqa: S311 - spreads, guards nothing
        return UpgradeRefusal(503, Code.OVERLOADED, title, retry_after_ms=retry_after_ms)

    def _ask(self, upgrade: UpgradeRequest, rest: bytes) -> None:
        try:
            admission = self._context.admit(upgrade)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and nobody gets in by it
            self._context.report("admission failed", error)
            self._refuse(_BROKEN)
            return
        if isinstance(admission, Awaitable):
            self._live().pause_reading()
            self._deciding = asyncio.ensure_future(self._wait(admission, upgrade, rest))
        else:
            self._finish(admission, upgrade, rest)

    async def _wait(self, asked: Awaitable[AdmissionResult], upgrade: UpgradeRequest, rest: bytes) -> None:
        try:
            admission = await asked
        except Exception as error:  # noqa: BLE001 - as above
            self._context.report("admission failed", error)
            admission = _BROKEN
        self._deciding = None
        if not self._live().is_closing():
            self._live().resume_reading()
            self._finish(admission, upgrade, rest)

    def _finish(self, admission: AdmissionResult, upgrade: UpgradeRequest, rest: bytes) -> None:
        if admission is not None:
            self._refuse(admission)
            return
        transport = self._live()
        self._leave()
        self._context.accept(transport, upgrade, rest)

    def _refuse(self, refusal: UpgradeRefusal) -> None:
        """Says why and half-closes: a full close with bytes unread would be a reset that eats the answer."""
        self._is_decided = True
        self._context.tally.refuse(refusal.status)
        transport = self._live()
        transport.write(render_refusal(refusal))
        if transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()

    def _timed_out(self) -> None:
        if self._transport is None:
            return
        if self._deciding is not None or not self._is_decided:
            self._refuse(_TOO_LATE)
            self._transport.close()
        else:
            self._transport.abort()

    def _leave(self) -> None:
        if self._transport is not None:
            self._transport = None
            self._reader.let_go()
            self._timer.cancel()
            if self._deciding is not None:
                self._deciding.cancel()
            self._context.handshake_done(self)

    def _live(self) -> asyncio.Transport:
        if self._transport is None:
            raise ConnectionError("gone from the door")
        return self._transport

    def _peer(self) -> str:
        peer = self._live().get_extra_info("peername")
        return str(peer[0]) if peer else ""
