"""The protocol of one connection as a state machine without I/O.

Its input is frames, answers, pushes and time; its output is effects. It knows frames and limits, but no socket, use case
or clock. `Connection` calls it, applies the effects, and calls `on_timer` at `due_at`.
"""

from collections.abc import Callable
from math import inf
from typing import NamedTuple, final

from msgspec import Struct
from msgspec.structs import replace

from tidings.gateway.error_frames import make_error_body
from tidings.gateway.protocol_state import (
    ALLOWED,
    AUTHENTICATED_STATES,
    CloseConnection,
    ConnectionLimits,
    ConnectionState,
    Effect,
    HandleRequest,
    TypingThrottle,
    WriteFrame,
)
from tidings.kernel.errors import Code
from tidings.kernel.token_bucket import TokenBucket
from tidings_wire.close_codes import CloseCode, close_code_for_error, close_reason
from tidings_wire.codec import DecodedRequest, InvalidFrame, decode, encode_push, encode_response
from tidings_wire.fields import OLDEST_PROTOCOL
from tidings_wire.frames.ephemeral import Ping, PingPush, Pong, Typing
from tidings_wire.frames.registry import REQUEST_BY_BODY
from tidings_wire.frames.session import Connect, Reconnect, Resume, Resumed, Welcome
from tidings_wire.frames.structs import ErrorBody, Ok

_DONE = Ok()
_PING = WriteFrame(encode_push(PingPush()))
_OUT_OF_TIME = {
    ConnectionState.CONNECTING: CloseCode.CONNECT_TIMEOUT,
    ConnectionState.AUTHENTICATING: CloseCode.TRY_AGAIN_LATER,
    ConnectionState.RESUMING: CloseCode.TRY_AGAIN_LATER,
    ConnectionState.DRAINING: CloseCode.SERVER_SHUTDOWN,
}


class _PendingRequest(NamedTuple):
    id: int | None
    request: Struct


@final
class ConnectionProtocol:
    """`chance` returns random numbers from 0 to 1. They spread the timers of thousands of connections."""

    __slots__ = (
        "_calls",
        "_chance",
        "_deadline",
        "_expires_at",
        "_faults",
        "_frames",
        "_ids",
        "_limits",
        "_number",
        "_ping_at",
        "_pinged_at",
        "_typing",
        "state",
    )

    def __init__(self, limits: ConnectionLimits, now: float, chance: Callable[[], float]) -> None:
        self.state = ConnectionState.CONNECTING
        self._limits = limits
        self._chance = chance
        self._frames = TokenBucket(limits.frames_per_s, limits.burst, now)
        self._faults = TokenBucket(1 / limits.fault_every_s, limits.faults, now)
        self._calls: dict[int, _PendingRequest] = {}
        self._ids: set[int] = set()
        self._number = 0
        self._deadline = now + limits.authenticate_within_s
        self._expires_at = self._ping_at = self._pinged_at = inf
        self._typing: TypingThrottle | None = None

    @property
    def due_at(self) -> float:
        """When `on_timer` must be called, unless another input arrives before."""
        return min(
            self._deadline, self._expires_at, self._ping_at, self._pinged_at + self._limits.pong_within_s
        )

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    def received(self, data: bytes, now: float) -> list[Effect]:
        """Handle a complete text frame. Any frame shows that the client is alive."""
        if self.state is ConnectionState.CLOSED:
            return []
        self._pinged_at = inf
        if len(data) > self._limits.max_frame_bytes:
            return self._close(CloseCode.FRAME_TOO_LARGE)
        is_in_time = self._frames.take(now)
        if self._frames.is_exhausted:
            return self._close(CloseCode.RATE_LIMITED)
        frame = decode(data)
        if not is_in_time:
            return [self._too_fast(frame.id)]
        return self._refused(frame, now) if isinstance(frame, InvalidFrame) else self._request(frame, now)

    def received_part(self, now: float) -> list[Effect]:
        """Count a ping, a pong or a fragment as a frame: it costs as much."""
        if self.state is ConnectionState.CLOSED:
            return []
        self._frames.take(now)
        return self._close(CloseCode.RATE_LIMITED) if self._frames.is_exhausted else []

    def answered(self, number: int, body: Struct, now: float) -> list[Effect]:
        """Send the answer of a request, or its `ErrorBody`. After the end of the connection it is dropped."""
        # Race: the connection closed while the handler ran. `_end` cleared the pending requests.
        pending = self._calls.pop(number, None)
        if pending is None:
            return []
        if pending.id is not None:
            self._ids.discard(pending.id)
        if isinstance(pending.request, Connect):
            return self._connected(pending.id, pending.request, body, now)
        if isinstance(pending.request, Resume):
            return self._resumed(pending.id, body)
        return self._answer(pending.id, body)

    def pushed(self, frame: bytes) -> list[Effect]:
        """Send an encoded push. All receivers share its bytes."""
        return [WriteFrame(frame)] if self.state in AUTHENTICATED_STATES else []

    def on_timer(self, now: float) -> list[Effect]:
        """Handle timeouts and heartbeats. An early or repeated call is harmless."""
        if self.state is ConnectionState.CLOSED:
            return []
        if now >= self._deadline:
            return self._close(_OUT_OF_TIME[self.state])
        if now >= self._expires_at:
            return self._close(CloseCode.CREDENTIAL_EXPIRED)
        if now >= self._pinged_at + self._limits.pong_within_s:
            return self._close(CloseCode.HEARTBEAT_TIMEOUT)
        return self._ping(now) if now >= self._ping_at else []

    def drain(self, retry_after_ms: int, spread_ms: int, now: float) -> list[Effect]:
        """Ask an authenticated device to reconnect within the given time, and close all others."""
        if self.state in (ConnectionState.CONNECTING, ConnectionState.AUTHENTICATING):
            return self._close(CloseCode.SERVER_SHUTDOWN)
        if self.state not in (ConnectionState.RESUMING, ConnectionState.LIVE):
            return []
        self.state = ConnectionState.DRAINING
        self._deadline = now + (retry_after_ms + spread_ms) / 1000 + self._limits.drain_grace_s
        hint = Reconnect(retry_after_ms=retry_after_ms, spread_ms=spread_ms, reason="draining")
        return [WriteFrame(encode_push(hint))]

    def close(self, code: CloseCode) -> list[Effect]:
        """Close for a reason outside the protocol: slow consumer, replaced, signed out."""
        return [] if self.state is ConnectionState.CLOSED else self._close(code)

    def lost(self) -> None:
        """End the protocol after the socket was closed."""
        self._end()

    def _request(self, frame: DecodedRequest, now: float) -> list[Effect]:
        kind = REQUEST_BY_BODY[type(frame.body)].name
        if kind not in ALLOWED[self.state]:
            return self._not_now(kind, frame.id, now)
        if frame.id in self._ids:
            text = f"A request with the id {frame.id} is in flight."
            return self._fault(frame.id, make_error_body(Code.REQUEST_INVALID, text), now)
        if isinstance(frame.body, Resume) and self._is_resuming():
            text = "The previous resume is in flight."
            return self._fault(frame.id, make_error_body(Code.REQUEST_INVALID, text), now)
        if isinstance(frame.body, Connect):
            return self._connect(frame.id, frame.body)
        return (
            self._answer(frame.id, _DONE)
            if self._is_answered_here(frame.body, now)
            else self._call(frame.id, frame.body)
        )

    def _is_answered_here(self, body: Struct, now: float) -> bool:
        """Return whether the request needs no handler: a ping, a pong or a throttled typing event."""
        if isinstance(body, Typing):
            return not self._is_passed_on(body, now)
        return isinstance(body, Ping | Pong)

    def _connect(self, request_id: int | None, body: Connect) -> list[Effect]:
        """Start the verification. The deadline for `connect` includes it."""
        if body.protocol < OLDEST_PROTOCOL:
            text = f"This server requires protocol {OLDEST_PROTOCOL} or newer."
            error = self._push_error(request_id, make_error_body(Code.REQUEST_INVALID, text))
            return [error, *self._close(CloseCode.PROTOCOL_UNSUPPORTED)]
        self.state = ConnectionState.AUTHENTICATING
        return self._call(request_id, body)

    def _connected(self, request_id: int | None, connect: Connect, body: Struct, now: float) -> list[Effect]:
        if not isinstance(body, Welcome):
            return self._refuse(request_id, body)
        self.state = ConnectionState.RESUMING
        self._deadline = now + self._limits.resume_within_s
        if body.expires_at is not None:
            self._expires_at = now + (body.expires_at - body.at) / 1000
        self._ping_at = now + self._heartbeat_s()
        resume = Resume(positions=connect.positions, epoch=connect.epoch, has_more=connect.has_more)
        return [*self._answer(request_id, body), *self._call(None, resume)]

    def _refuse(self, request_id: int | None, body: Struct) -> list[Effect]:
        error = (
            body if isinstance(body, ErrorBody) else make_error_body(Code.INTERNAL, "The connection failed.")
        )
        close = self._close(close_code_for_error(error.code), error.retry_after_ms)
        return [*self._answer(request_id, error), *close]

    def _resumed(self, request_id: int | None, body: Struct) -> list[Effect]:
        """Make the connection live. A first resume that fails closes it: the device would miss entries."""
        effects = self._answer(request_id, body)
        if not isinstance(body, Resumed):
            return (
                [*effects, *self._close(CloseCode.TRY_AGAIN_LATER)]
                if self.state is ConnectionState.RESUMING
                else effects
            )
        if request_id is None:
            effects.append(WriteFrame(encode_push(body)))
        # Race: the gateway starts to drain during the first resume. The connection stays in DRAINING with its deadline;
        # LIVE would cancel the deadline.
        if self.state is ConnectionState.RESUMING and not body.has_more:
            self.state, self._deadline = ConnectionState.LIVE, inf
        return effects

    def _call(self, request_id: int | None, body: Struct) -> list[Effect]:
        if len(self._calls) >= self._limits.in_flight:
            text = f"{self._limits.in_flight} requests are in flight. Wait for an answer."
            return [
                self._push_error(request_id, make_error_body(Code.RATE_LIMITED, text, retry_after_ms=100))
            ]
        self._number += 1
        self._calls[self._number] = _PendingRequest(request_id, body)
        if request_id is not None:
            self._ids.add(request_id)
        return [HandleRequest(self._number, body)]

    def _answer(self, request_id: int | None, body: Struct) -> list[Effect]:
        return [] if request_id is None else [WriteFrame(encode_response(request_id, body))]

    def _not_now(self, kind: str, request_id: int | None, now: float) -> list[Effect]:
        if self.state is ConnectionState.CONNECTING:
            error = self._push_error(
                request_id, make_error_body(Code.REQUEST_INVALID, "The first frame must be `connect`.")
            )
            return [error, *self._close(CloseCode.CONNECT_EXPECTED)]
        if kind == "connect":
            return self._fault(
                request_id, make_error_body(Code.REQUEST_INVALID, "The device is already connected."), now
            )
        if self.state is ConnectionState.DRAINING:
            return [self._push_error(request_id, self._is_draining())]
        return self._fault(
            request_id, make_error_body(Code.REQUEST_INVALID, "Wait for the answer to `connect`."), now
        )

    def _is_draining(self) -> ErrorBody:
        text = "This server is going away. Reconnect and send the request again."
        return make_error_body(Code.OVERLOADED, text, retry_after_ms=self._retry_after_ms())

    def _refused(self, frame: InvalidFrame, now: float) -> list[Effect]:
        error = make_error_body(Code(frame.code), frame.message)
        if self.state is ConnectionState.CONNECTING:
            code = CloseCode.FRAME_INVALID if frame.is_fault else CloseCode.CONNECT_EXPECTED
            return [self._push_error(frame.id, error), *self._close(code)]
        return self._fault(frame.id, error, now) if frame.is_fault else [self._push_error(frame.id, error)]

    def _fault(self, request_id: int | None, error: ErrorBody, now: float) -> list[Effect]:
        """Answer and count an invalid frame. A client that sends too many of them is closed."""
        effects: list[Effect] = [self._push_error(request_id, error)]
        return effects if self._faults.take(now) else [*effects, *self._close(CloseCode.FRAME_INVALID)]

    def _too_fast(self, request_id: int | None) -> WriteFrame:
        after = self._frames.retry_after_ms
        return self._push_error(
            request_id, make_error_body(Code.RATE_LIMITED, "Too many frames.", retry_after_ms=after)
        )

    def _push_error(self, request_id: int | None, error: ErrorBody) -> WriteFrame:
        """Encode an error. If the id is in flight, its answer follows, so the error is a push that names the id."""
        if request_id is None or request_id in self._ids:
            return WriteFrame(encode_push(replace(error, request_id=request_id)))
        return WriteFrame(encode_response(request_id, error))

    def _is_passed_on(self, body: Typing, now: float) -> bool:
        if self._typing is None:
            self._typing = TypingThrottle(self._limits.typing_every_s, self._limits.typing_chats)
        return self._typing.passes(body.chat, now, is_typing=body.is_typing)

    def _is_resuming(self) -> bool:
        return any(isinstance(pending.request, Resume) for pending in self._calls.values())

    def _ping(self, now: float) -> list[Effect]:
        self._ping_at = now + self._heartbeat_s()
        self._pinged_at = min(self._pinged_at, now)
        return [_PING]

    def _heartbeat_s(self) -> float:
        """Return the announced interval or up to 20 % less, never more: the client relies on it."""
        return self._limits.heartbeat_s * (0.8 + 0.2 * self._chance())

    def _retry_after_ms(self) -> int:
        return round(self._limits.retry_after_ms * (1 + self._chance()))

    def _close(self, code: CloseCode, retry_after_ms: int | None = None) -> list[Effect]:
        self._end()
        if not code.is_reconnect:
            return [CloseConnection(code, close_reason(code))]
        return [CloseConnection(code, close_reason(code, retry_after_ms or self._retry_after_ms()))]

    def _end(self) -> None:
        self.state = ConnectionState.CLOSED
        self._calls.clear()
        self._ids.clear()
        self._typing = None
        self._deadline = self._expires_at = self._ping_at = self._pinged_at = inf
