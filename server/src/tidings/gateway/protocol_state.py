"""The life of a connection, and which request is allowed when: one table."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from tidings_wire.close_codes import CloseCode
from tidings_wire.fields import MAX_FRAME_BYTES
from tidings_wire.frames.registry import REQUESTS
from tidings_wire.frames.session import Limits as LimitsTold


class ConnectionState(StrEnum):
    CONNECTING = "connecting"
    """The socket is open, `connect` has not come."""
    AUTHENTICATING = "authenticating"
    """The credential is being verified."""
    RESUMING = "resuming"
    """Let in; what the device has missed is being pushed."""
    LIVE = "live"
    DRAINING = "draining"
    """Asked to connect elsewhere; goes on until it does."""
    CLOSED = "closed"


_ALL: Final = frozenset(kind.name for kind in REQUESTS)
_SERVED_STATES: Final = _ALL - {"connect"}

ALLOWED: Final = {
    ConnectionState.CONNECTING: frozenset({"connect"}),
    # whoever asks for more before he is let in would make the server keep it for a stranger
    ConnectionState.AUTHENTICATING: frozenset({"ping", "pong"}),
    ConnectionState.RESUMING: _SERVED_STATES,
    ConnectionState.LIVE: _SERVED_STATES,
    # what would have to be built up again elsewhere in a moment is not begun here
    ConnectionState.DRAINING: _SERVED_STATES - {"resume", "subscribe"},
    ConnectionState.CLOSED: frozenset[str](),
}

IS_LET_IN: Final = frozenset({ConnectionState.RESUMING, ConnectionState.LIVE, ConnectionState.DRAINING})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """`user_in_flight`: over all connections of a user to this process.

    `faults`: so many frames that are not of the protocol are answered, and one more comes free each `fault_every_s`.

    `pong_within_s`: after a heartbeat, so long until silence means that nobody is there.
    """

    authenticate_within_s: float = 5.0
    resume_within_s: float = 30.0
    drain_grace_s: float = 5.0
    heartbeat_s: float = 25.0
    pong_within_s: float = 10.0
    max_frame_bytes: int = MAX_FRAME_BYTES
    in_flight: int = 32
    user_in_flight: int = 128
    frames_per_s: int = 50
    burst: int = 100
    faults: int = 8
    fault_every_s: float = 10.0
    typing_every_s: float = 3.0
    typing_chats: int = 16
    retry_after_ms: int = 1_000

    def as_frame(self) -> LimitsTold:
        return LimitsTold(
            frame_bytes=self.max_frame_bytes,
            in_flight=self.in_flight,
            frames_per_s=self.frames_per_s,
            burst=self.burst,
        )


class WriteFrame(NamedTuple):
    """One text frame."""

    data: bytes


class HandleRequest(NamedTuple):
    """A use case is to be called; what comes of it is told with `answered` under this number, exactly once."""

    number: int
    request: Struct


class CloseConnection(NamedTuple):
    """The last effect of every connection. `reason` is for the close frame.

    Calls that are still being made go on: a send that was begun is not cut off. Their answers are dropped.
    """

    code: CloseCode
    reason: str


type Effect = WriteFrame | HandleRequest | CloseConnection
