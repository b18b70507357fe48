"""One connection as a state machine without I/O: bytes, requests and time come in, effects go out.

Knows frames and the heartbeat; knows no socket, no outbox and no clock. `session` has the socket and does what this
wants done. A connection is used once; the next one is another object.
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
"""What the protocol gives a heartbeat beyond its time."""

MAX_POSITIONS: Final = 1_000
_PONG: Final = encode_request(Pong())


class State(StrEnum):
    CONNECTING = "connecting"
    AUTHENTICATING = "authenticating"
    RESUMING = "resuming"
    LIVE = "live"
    DRAINING = "draining"
    CLOSED = "closed"


_LET_IN: Final = frozenset({State.RESUMING, State.LIVE, State.DRAINING})


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
    """Nobody is there, or it does not speak the protocol: close the socket and come anew."""

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
    """`positions` is asked each time they are told: they move while the connection lives."""

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
        return self.state in _LET_IN

    @property
    def in_flight(self) -> int:
        return len(self._asked)

    @property
    def due_at(self) -> float:
        """When `on_timer` has something to say, if nothing is heard before."""
        return min(self._deadline, self._last_frame_at + self._silence_s)

    def opened(self, credential: str, device: str | None, sdk: str, epoch: int | None) -> list[Effect]:
        """The socket is open: say who we are and what we hold."""
        self.state, self._epoch = State.AUTHENTICATING, epoch
        first, self._parts = self._on_response()
        hello = Connect(
            credential=credential,
            protocol=PROTOCOL,
            device=device,
            sdk=sdk,
            epoch=epoch if first.positions else None,
            positions=first.positions,
            has_more=first.has_more,
        )
        return [self.ask(hello)[1]]

    def ask(self, body: Body) -> tuple[int, Write]:
        """Ids are never used twice, so a late answer can't be taken for another's."""
        self._last_id += 1
        self._asked[self._last_id] = type(body)
        return self._last_id, Write(encode_request(body, self._last_id))

    def drop_request(self, request_id: int) -> None:
        """Nobody waits for this answer any more."""
        self._asked.pop(request_id, None)

    def received(self, data: bytes | str, now: float) -> list[Effect]:
        if self.state is State.CLOSED:
            return []
        self._last_frame_at = now
        try:
            got = decode_frame(data)
            return self._answered(got) if isinstance(got, Response) else self._pushed(got)
        except (DecodeError, ValidationError, KeyError) as error:
            return self._abandon(f"A frame that can't be read: {error}")

    def on_timer(self, now: float) -> list[Effect]:
        """Time has passed. Also right when called too early or too often."""
        if self.state is State.CLOSED or now < self.due_at:
            return []
        if now >= self._deadline:
            return self._abandon("The server did not let us in in time.")
        return self._abandon("Nothing was heard for longer than a heartbeat and its grace.")

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
        assert isinstance(body, Welcome)  # noqa: S101 - the form that `connect` is answered in
        self.state, self._deadline, self._epoch = State.RESUMING, inf, body.epoch
        self._silence_s = body.heartbeat_s + GRACE_S
        return [Authenticated(body)]

    def _resumed(self, body: Body) -> list[Effect]:
        """A part is done. Who can't be given what he missed does not go on as if he had it."""
        if not isinstance(body, Resumed):
            return self._abandon("What was missed could not be had.")
        following = next(self._parts, None)
        if following is not None:
            return [self.ask(following)[1]]
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
        first, self._parts = self._on_response()
        return [self.ask(first)[1]]

    def _on_response(self) -> tuple[Resume, Iterator[Resume]]:
        """In parts of a thousand; there is always a first one."""
        parts = [dict(part) for part in batched(self._positions().items(), MAX_POSITIONS)] or [{}]
        told = [
            Resume(positions=part, epoch=self._epoch, has_more=number < len(parts))
            for number, part in enumerate(parts, start=1)
        ]
        return told[0], iter(told[1:])

    def _abandon(self, why: str) -> list[Effect]:
        self.lost()
        return [Abandon(why)]
