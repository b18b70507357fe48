"""Use cases being called: a task for each, none for who is idle. What comes of them goes back to who asked.

Bounded for each user over all his connections here; for each connection the connection itself does it.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import random
from typing import Protocol, final

from msgspec import Struct

from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.error_frames import make_error_body
from tidings.gateway.handlers import RequestContext
from tidings.gateway.hub import Hub
from tidings.gateway.node import GatewayNode
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import IS_LET_IN, CloseConnection, Effect, HandleRequest, WriteFrame
from tidings.gateway.request_handler import HandlerDeps, RequestHandler
from tidings.gateway.stats import RequestMetrics, TrafficStats
from tidings.gateway.timer_wheel import TimerWheel
from tidings.gateway.transport.ports import Socket, UpgradeRequest
from tidings.kernel.errors import Code
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.registry import REQUEST_BY_BODY
from tidings_wire.frames.session import Connect
from tidings_wire.frames.structs import ErrorBody

_RETRY_MS = 100


class RequestOwner(Protocol):
    @property
    def visit(self) -> RequestHandler: ...

    def answered(self, call: HandleRequest, body: Struct) -> None:
        """Also after its end, where it does nothing."""
        ...


@final
class RequestTasks:
    def __init__(
        self, measure: RequestMetrics, report: Callable[[str, BaseException], None], per_user: int
    ) -> None:
        self._measure = measure
        self._report = report
        self._per_user = per_user
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: dict[RequestContext, int] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def make(self, asker: RequestOwner, call: HandleRequest) -> None:
        caller = asker.visit.caller
        if caller is not None and self._busy.get(caller, 0) >= self._per_user:
            said = f"{self._per_user} requests of this user are in flight; wait for an answer."
            asker.answered(call, make_error_body(Code.RATE_LIMITED, said, retry_after_ms=_RETRY_MS))
            return
        self._count(caller, 1)
        task = asyncio.get_running_loop().create_task(self._run(asker, call, caller))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def wait_idle(self, within_s: float) -> int:
        """Waits for those that are on their way; what is not answered by then is cut off. How many were."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return len(late)

    async def _run(self, asker: RequestOwner, call: HandleRequest, caller: RequestContext | None) -> None:
        began = time.perf_counter()
        try:
            body = await asker.visit.answer(call.request)
        finally:
            self._count(caller, -1)
        kind = REQUEST_BY_BODY[type(call.request)].name
        self._measure.called(kind, time.perf_counter() - began, is_ok=not isinstance(body, ErrorBody))
        asker.answered(call, body)

    def _count(self, caller: RequestContext | None, more: int) -> None:
        if caller is not None:
            self._busy[caller] = self._busy.get(caller, 0) + more
            if not self._busy[caller]:
                del self._busy[caller]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("an answer could not be given", error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionDeps:
    """What all peers of a process have in common."""

    dispatch: HandlerDeps
    hub: Hub[ConnectedDevice]
    timers: "TimerWheel[Connection]"
    calls: RequestTasks
    traffic: TrafficStats
    now: Callable[[], float]
    peers: "dict[Socket, Connection]" = field(default_factory=dict)
    node: GatewayNode | None = None


@final
class Connection:
    """The socket's `Receiver`, and who asks for its calls."""

    __slots__ = ("_connection", "_device", "_due_at", "_shared", "slot", "socket", "visit")

    def __init__(self, shared: ConnectionDeps, socket: Socket, upgrade: UpgradeRequest) -> None:
        self._shared = shared
        self.socket = socket
        self.visit = RequestHandler(shared.dispatch, upgrade.client, shared.node)
        self._connection = ConnectionProtocol(shared.dispatch.limits, shared.now(), random)
        self._device: ConnectedDevice | None = None
        self.slot = 0
        self._due_at = inf
        shared.peers[socket] = self
        self._wait()

    def on_message(self, data: bytes) -> None:
        traffic = self._shared.traffic
        traffic.frames_in += 1
        traffic.bytes_in += len(data)
        self._do(self._connection.received(data, self._shared.now()))

    def on_part(self) -> None:
        self._do(self._connection.received_part(self._shared.now()))

    def on_close(self, code: int) -> None:
        self._connection.lost()
        self._shared.peers.pop(self.socket, None)
        self._shared.timers.cancel(self)
        self._leave()
        self._shared.traffic.closed(code)

    def answered(self, call: HandleRequest, body: Struct) -> None:
        if type(call.request) is Connect and self._is_one_too_many():
            body = make_error_body(Code.OVERLOADED, "Too many devices of this tenant are connected here.")
        effects = self._connection.answered(call.number, body, self._shared.now())
        if type(call.request) is Connect and self._connection.state in IS_LET_IN:
            self._enter()
        self._do(effects)

    def on_timer(self) -> None:
        """The timers have given it out: it is set again."""
        self._due_at = inf
        self._do(self._connection.on_timer(self._shared.now()))

    def drain(self, after_ms: int) -> None:
        self._do(self._connection.drain(after_ms, 0, self._shared.now()))

    def push(self, frame: bytes) -> None:
        self._do(self._connection.pushed(frame))

    def close(self, code: CloseCode) -> None:
        self._do(self._connection.close(code))

    def _do(self, effects: list[Effect]) -> None:
        """In this order. A call is always the last of them, so that its answer can't overtake what came before."""
        for effect in effects:
            if isinstance(effect, WriteFrame):
                self._write(effect.data)
            elif isinstance(effect, HandleRequest):
                self._shared.calls.make(self, effect)
            else:
                self._close(effect)
        self._wait()

    def _write(self, data: bytes) -> None:
        traffic = self._shared.traffic
        traffic.frames_out += 1
        traffic.bytes_out += len(data)
        self.socket.send(data)

    def _close(self, close: CloseConnection) -> None:
        self._leave()
        self.socket.close(close.code, close.reason)

    def _wait(self) -> None:
        """Only an earlier time is set at once. A later one, as after every frame, is found when the earlier comes."""
        due_at = self._connection.due_at
        if due_at < self._due_at:
            self._due_at = due_at
            self._shared.timers.set(self, due_at)

    def _enter(self) -> None:
        """From here on what is pushed to the device is noted; it is sent when it has resumed."""
        if self.visit.key is None or self.visit.principal is None:
            return
        device = self._device = self.visit.device = ConnectedDevice(
            self.visit.key, self, self.visit.principal
        )
        if self._shared.node is not None:
            self._shared.node.entered(device)
        before = self._shared.hub.enter(device.key, device)
        if before is not None:
            before.connected.close(CloseCode.REPLACED)
        surplus = self._shared.hub.surplus(device.key)
        if surplus is not None:
            surplus.connected.close(CloseCode.TOO_MANY_DEVICES)

    def _is_one_too_many(self) -> bool:
        return self.visit.key is not None and not self._shared.hub.has_room_for(self.visit.key)

    def _leave(self) -> None:
        device, self._device = self._device, None
        if device is not None:
            self._shared.hub.leave(device.key, device)
            if self._shared.node is not None:
                self._shared.node.on_left(device)
