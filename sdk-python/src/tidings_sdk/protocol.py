"""One connection as a state machine without I/O. Inputs are bytes, requests and time; outputs are effects.

It handles frames and the heartbeat. `session` has the socket and the clock, and performs the effects. Each connection
is a new object.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import batched
from math import inf
from typing import Final, NamedTuple, final

from msgspec import DecodeError, ValidationError

from tidings_sdk.codec import Response, decode_frame, encode_request
from tidings_wire.fields import PROTOCOL
from tidings_wire.frames.ephemeral import PingPush, Pong
from tidings_wire.frames.registry import REQUEST_BY_BODY
from tidings_wire.frames.session import Connect, Reconnect, Resume, Resumed, ResumeRequired, Welcome
from tidings_wire.frames.structs import Body, ErrorBody

CONNECT_TIMEOUT_S: Final = 10.0
GRACE_S: Final = 10.0
"""The grace period of the protocol after a heartbeat interval."""

MAX_POSITIONS: Final = 1_000
_PONG: Final = encode_request(Pong())


class State(StrEnum):
    CONNECTING = "connecting"
    AUTHENTICATING = "authenticating"
    RESUMING = "resuming"
    LIVE = "live"
    DRAINING = "draining"
    CLOSED = "closed"


_AUTHENTICATED_STATES: Final = frozenset({State.RESUMING, State.LIVE, State.DRAINING})


class Write(NamedTuple):
    data: bytes


class ResponseReceived(NamedTuple):
    id: int
    body: Body


class PushReceived(NamedTuple):
    body: Body


class Authenticated(NamedTuple):
    welcome: Welcome


class BecameLive(NamedTuple):
    resumed: Resumed


class ConnectRefused(NamedTuple):
    """`connect` was refused; the server closes next."""

    error: ErrorBody


class ReconnectRequested(NamedTuple):
    retry_after_ms: int
    spread_ms: int


class Abandon(NamedTuple):
    """The server is silent, or does not speak the protocol: close the socket and reconnect."""

    why: str


type Effect = (
    Write
    | ResponseReceived
    | PushReceived
    | Authenticated
    | BecameLive
    | ConnectRefused
    | ReconnectRequested
    | Abandon
)


@final
class ConnectionProtocol:
    """One connection. `positions` is called for each `connect` and `resume`, because positions change."""

    def __init__(self, positions: Callable[[], Mapping[str, int]], now: float) -> None:
        self.state = State.CONNECTING
        self._positions = positions
        self._last_id = 0
        self._asked: dict[int, type[Body]] = {}
        self._parts: Iterator[Resume] = iter(())
        self._deadline = now + CONNECT_TIMEOUT_S
        self._last_frame_at = now
        self._silence_s = inf
        self._epoch: int | None = None

    @property
    def is_let_in(self) -> bool:
        return self.state in _AUTHENTICATED_STATES

    @property
    def in_flight(self) -> int:
        return len(self._asked)

    @property
    def due_at(self) -> float:
        """When to call `on_timer` if no frame arrives before."""
        return min(self._deadline, self._last_frame_at + self._silence_s)

    def opened(self, credential: str, device: str | None, sdk: str, epoch: int | None) -> list[Effect]:
        """Send `connect` with the credential and the first part of the positions."""
        self.state, self._epoch = State.AUTHENTICATING, epoch
        first, self._parts = self._position_parts()
        request = Connect(
            credential=credential,
            protocol=PROTOCOL,
            device=device,
            sdk=sdk,
            epoch=epoch if first.positions else None,
            positions=first.positions,
            has_more=first.has_more,
        )
        return [self.ask(request)[1]]

    def ask(self, body: Body) -> tuple[int, Write]:
        """Encode a request. Ids are never reused, so a late answer cannot match another request."""
        self._last_id += 1
        self._asked[self._last_id] = type(body)
        return self._last_id, Write(encode_request(body, self._last_id))

    def drop_request(self, request_id: int) -> None:
        """Ignore the answer of a request whose caller has stopped waiting."""
        self._asked.pop(request_id, None)

    def received(self, data: bytes | str, now: float) -> list[Effect]:
        if self.state is State.CLOSED:
            return []
        self._last_frame_at = now
        try:
            frame = decode_frame(data)
            return self._answered(frame) if isinstance(frame, Response) else self._pushed(frame)
        except (DecodeError, ValidationError, KeyError) as error:
            return self._abandon(f"The server sent an invalid frame: {error}")

    def on_timer(self, now: float) -> list[Effect]:
        """Check the deadlines. May be called early and repeatedly."""
        if self.state is State.CLOSED or now < self.due_at:
            return []
        if now >= self._deadline:
            return self._abandon("The server did not answer `connect` in time.")
        return self._abandon("The server sent nothing for the heartbeat interval and its grace period.")

    def lost(self) -> None:
        self.state = State.CLOSED
        self._asked.clear()
        self._deadline = self._silence_s = inf

    def _answered(self, answer: Response) -> list[Effect]:
        asked = self._asked.pop(answer.id, None)
        if asked is None:
            return []
        body = answer.as_form(REQUEST_BY_BODY[asked].answer)
        if asked is Connect:
            return self._welcomed(body)
        return self._resumed(body) if asked is Resume else [ResponseReceived(answer.id, body)]

    def _welcomed(self, body: Body) -> list[Effect]:
        if isinstance(body, ErrorBody):
            return [ConnectRefused(body)]
        assert isinstance(body, Welcome)  # noqa: S101 - the answer to `connect`
        self.state, self._deadline, self._epoch = State.RESUMING, inf, body.epoch
        self._silence_s = body.heartbeat_s + GRACE_S
        return [Authenticated(body)]

    def _resumed(self, body: Body) -> list[Effect]:
        """Send the next part, or become live. If a resume fails, abandon the connection: entries would be missing."""
        if not isinstance(body, Resumed):
            return self._abandon("The server could not resume the connection.")
        next_part = next(self._parts, None)
        if next_part is not None:
            return [self.ask(next_part)[1]]
        if self.state is State.RESUMING:
            self.state = State.LIVE
        return [BecameLive(body)]

    def _pushed(self, body: Body | None) -> list[Effect]:
        match body:
            case None:
                return []
            case PingPush():
                return [Write(_PONG)]
            case Resumed():
                return self._resumed(body)
            case ResumeRequired():
                return self._resume_again()
            case Reconnect():
                self.state = State.DRAINING if self.is_let_in else self.state
                return [ReconnectRequested(body.retry_after_ms, body.spread_ms)]
        return [PushReceived(body)]

    def _resume_again(self) -> list[Effect]:
        first, self._parts = self._position_parts()
        return [self.ask(first)[1]]

    def _position_parts(self) -> tuple[Resume, Iterator[Resume]]:
        """Return the positions in parts of 1,000. There is always a first part."""
        parts = [dict(part) for part in batched(self._positions().items(), MAX_POSITIONS)] or [{}]
        requests = [
            Resume(positions=part, epoch=self._epoch, has_more=number < len(parts))
            for number, part in enumerate(parts, start=1)
        ]
        return requests[0], iter(requests[1:])

    def _abandon(self, why: str) -> list[Effect]:
        self.lost()
        return [Abandon(why)]
