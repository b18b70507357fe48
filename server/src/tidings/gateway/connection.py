"""A connection: joins its socket, its protocol state machine and the tasks that handle its requests."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import random
from typing import final

from msgspec import Struct

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.error_frames import error_frame, make_error_body
from tidings.gateway.handlers import HANDLERS, HandlerDeps, RequestContext
from tidings.gateway.hub import Hub
from tidings.gateway.node import GatewayNode
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import (
    AUTHENTICATED_STATES,
    CloseConnection,
    Effect,
    HandleRequest,
    WriteFrame,
)
from tidings.gateway.stats import TrafficStats
from tidings.gateway.timer_wheel import TimerEntry, TimerWheel
from tidings.gateway.transport.ports import Socket, UpgradeRequest
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceKey, TenantId, UserId
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.registry import REQUEST_BY_BODY
from tidings_wire.frames.session import Connect, Resume, Resumed
from tidings_wire.frames.structs import ErrorBody

_RETRY_MS = 100

type OnAnswered = Callable[[str, str, float], None]
"""Called with the name of an answered request, its outcome (`ok` or `refused`) and its duration in seconds."""
type _Caller = tuple[TenantId, UserId]


@final
class RequestHandler:
    """Answers the requests of one connection: checks the caller and the rate limit, and converts errors to frames.

    The caller is known after `connect` was answered.
    """

    __slots__ = ("_context", "_has_resumed")

    def __init__(self, deps: HandlerDeps, address: str, node: GatewayNode) -> None:
        self._context = RequestContext(deps, address, node)
        self._has_resumed = False

    @property
    def key(self) -> DeviceKey | None:
        return self._context.key

    @property
    def principal(self) -> Principal | None:
        return self._context.principal

    @property
    def caller(self) -> _Caller | None:
        key = self._context.key
        return None if key is None else (key.tenant, key.user)

    def enter(self, device: ConnectedDevice) -> None:
        """Serve requests of this device from now on."""
        self._context.enter(device)

    async def answer(self, request: Struct) -> Struct:
        """Return the answer or an `ErrorBody`. Raises only for cancellation."""
        try:
            return await self._answer(request)
        except Exception as error:  # noqa: BLE001 - the device receives an error for every failure, and the log the rest
            return error_frame(error)

    async def _answer(self, request: Struct) -> Struct:
        handler = HANDLERS.get(type(request))
        if handler is None:
            name = REQUEST_BY_BODY[type(request)].name
            raise TidingsError(Code.UNKNOWN_REQUEST, f"This server does not serve `{name}`.")
        if self._context.principal is None and type(request) is not Connect:
            raise TidingsError(Code.CREDENTIAL_INVALID, "Send `connect` first.")
        if self._has_resumed or type(request) is not Resume:
            # The first resume is part of `connect`, which was counted. Each later one is a request of its own.
            await self._count()
        answer = await handler(self._context, request)
        if isinstance(answer, Resumed) and not answer.has_more:
            self._has_resumed = True
        return answer

    async def _count(self) -> None:
        """Count the request. Before `connect` only the address counts, so that guessing credentials is slowed down."""
        limiter = self._context.cases.limiter
        wait_ms = await limiter.take(self._context.address, self._context.principal)
        if wait_ms is not None:
            raise TidingsError(
                Code.RATE_LIMITED,
                "Too many requests.",
                hint="Wait for `retry_after_ms`, then send the same request again.",
                details={"retry_after_ms": wait_ms},
            )


@final
class RequestTasks:
    """A task for each request that is being handled; idle connections have none.

    `per_user` bounds the requests of a user over all of their connections to this process. The protocol bounds those
    of one connection.
    """

    def __init__(
        self, on_answered: OnAnswered, report: Callable[[str, BaseException], None], per_user: int
    ) -> None:
        self._on_answered = on_answered
        self._report = report
        self._per_user = per_user
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight: dict[_Caller, int] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, connection: "Connection", call: HandleRequest) -> None:
        """Handle a request in a task, or refuse it if the user has too many in flight."""
        caller = connection.handler.caller
        if caller is not None and self._in_flight.get(caller, 0) >= self._per_user:
            text = f"{self._per_user} requests of this user are in flight. Wait for an answer."
            connection.answered(call, make_error_body(Code.RATE_LIMITED, text, retry_after_ms=_RETRY_MS))
            return
        self._count(caller, 1)
        task = asyncio.get_running_loop().create_task(self._run(connection, call, caller))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def wait_idle(self, within_s: float) -> int:
        """Wait for the requests in flight, then cancel the rest. Return the number of cancelled ones."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return len(late)

    async def _run(self, connection: "Connection", call: HandleRequest, caller: _Caller | None) -> None:
        began = time.perf_counter()
        try:
            body = await connection.handler.answer(call.request)
        finally:
            # Race: `connect` sets the caller of the connection while this request runs. Count down for the caller that
            # was counted up.
            self._count(caller, -1)
        outcome = "refused" if isinstance(body, ErrorBody) else "ok"
        self._on_answered(REQUEST_BY_BODY[type(call.request)].name, outcome, time.perf_counter() - began)
        connection.answered(call, body)

    def _count(self, caller: _Caller | None, more: int) -> None:
        if caller is not None:
            self._in_flight[caller] = self._in_flight.get(caller, 0) + more
            if not self._in_flight[caller]:
                del self._in_flight[caller]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("a request could not be answered", error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionDeps:
    """Dependencies that all connections of a process share."""

    handlers: HandlerDeps
    hub: Hub[ConnectedDevice]
    timers: "TimerWheel[Connection]"
    requests: RequestTasks
    traffic: TrafficStats
    now: Callable[[], float]
    node: GatewayNode
    connections: "dict[Socket, Connection]" = field(default_factory=dict)


@final
class Connection(TimerEntry):
    """One connection: the `MessageHandler` of its socket and the `DeviceConnection` of its device."""

    __slots__ = ("_device", "_due_at", "_protocol", "_shared", "handler", "socket")

    def __init__(self, shared: ConnectionDeps, socket: Socket, upgrade: UpgradeRequest) -> None:
        super().__init__()
        self._shared = shared
        self.socket = socket
        self.handler = RequestHandler(shared.handlers, upgrade.client, shared.node)
        self._protocol = ConnectionProtocol(shared.handlers.limits, shared.now(), random)
        self._device: ConnectedDevice | None = None
        self._due_at = inf
        shared.connections[socket] = self
        self._set_timer()

    def on_message(self, data: bytes) -> None:
        traffic = self._shared.traffic
        traffic.frames_in += 1
        traffic.bytes_in += len(data)
        self._apply(self._protocol.received(data, self._shared.now()))

    def on_part(self) -> None:
        self._apply(self._protocol.received_part(self._shared.now()))

    def on_close(self, code: int) -> None:
        self._protocol.lost()
        self._shared.connections.pop(self.socket, None)
        self._shared.timers.cancel(self)
        self._leave()
        self._shared.traffic.closed(code)

    def answered(self, call: HandleRequest, body: Struct) -> None:
        """Send the answer of a request. After the connection has ended, drop it."""
        # Race: other devices of the tenant connect while the credential is verified. Check the limit only now, in the
        # same step of the event loop as the entry into the hub.
        if type(call.request) is Connect and self._tenant_is_full():
            text = "The tenant has too many devices connected to this gateway."
            body = make_error_body(Code.OVERLOADED, text)
        effects = self._protocol.answered(call.number, body, self._shared.now())
        # Race: the socket closes while the credential is verified. The protocol is then closed, and the device must not
        # enter the hub, because no further event would remove it.
        if type(call.request) is Connect and self._protocol.state in AUTHENTICATED_STATES:
            self._enter()
        self._apply(effects)

    def on_timer(self) -> None:
        """Handle the timer, which the timer wheel has removed. `_apply` sets the next one."""
        self._due_at = inf
        self._apply(self._protocol.on_timer(self._shared.now()))

    def drain(self, after_ms: int) -> None:
        self._apply(self._protocol.drain(after_ms, 0, self._shared.now()))

    def push(self, frame: bytes) -> None:
        self._apply(self._protocol.pushed(frame))

    def close(self, code: CloseCode) -> None:
        self._apply(self._protocol.close(code))

    def _apply(self, effects: list[Effect]) -> None:
        """Apply effects in their order. A request is always the last one, so its answer cannot overtake a frame."""
        for effect in effects:
            if isinstance(effect, WriteFrame):
                self._write(effect.data)
            elif isinstance(effect, HandleRequest):
                self._shared.requests.start(self, effect)
            else:
                self._close(effect)
        self._set_timer()

    def _write(self, data: bytes) -> None:
        traffic = self._shared.traffic
        traffic.frames_out += 1
        traffic.bytes_out += len(data)
        self.socket.send(data)

    def _close(self, close: CloseConnection) -> None:
        self._leave()
        self.socket.close(close.code, close.reason)

    def _set_timer(self) -> None:
        """Set the timer only if it becomes earlier. A later time, as after every frame, is set when the timer fires."""
        due_at = self._protocol.due_at
        if due_at < self._due_at:
            self._due_at = due_at
            self._shared.timers.set(self, due_at)

    def _enter(self) -> None:
        """Add the device to the hub. From now on pushes to it are recorded, and sent after its resume."""
        key, principal = self.handler.key, self.handler.principal
        if key is None or principal is None:
            return
        device = self._device = ConnectedDevice(key, self, principal)
        self.handler.enter(device)
        # A client reconnects before its old connection has timed out. The new connection replaces the old one.
        before = self._shared.hub.enter(device.key, device)
        if before is not None:
            before.connected.close(CloseCode.REPLACED)
        surplus = self._shared.hub.surplus(device.key)
        if surplus is not None:
            surplus.connected.close(CloseCode.TOO_MANY_DEVICES)

    def _tenant_is_full(self) -> bool:
        return self.handler.key is not None and not self._shared.hub.has_room_for(self.handler.key)

    def _leave(self) -> None:
        # Called when this side closes, and again when the socket has closed. Only the first call has an effect.
        device, self._device = self._device, None
        if device is not None:
            self._shared.hub.leave(device.key, device)
            self._shared.node.on_left(device)
