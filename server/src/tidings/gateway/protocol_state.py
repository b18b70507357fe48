"""States, limits and effects of a connection, and the table of requests that each state allows."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, final

from msgspec import Struct

from tidings.wire.close_codes import CloseCode
from tidings.wire.fields import MAX_FRAME_BYTES
from tidings.wire.frames.registry import REQUESTS
from tidings.wire.frames.session import Limits as LimitsFrame


class ConnectionState(StrEnum):
    CONNECTING = "connecting"
    """The socket is open and waits for `connect`."""
    AUTHENTICATING = "authenticating"
    """The credential is being verified."""
    RESUMING = "resuming"
    """Authenticated. The gateway sends what the device missed."""
    LIVE = "live"
    DRAINING = "draining"
    """The device was asked to reconnect. It is served until it leaves."""
    CLOSED = "closed"


_ALL: Final = frozenset(kind.name for kind in REQUESTS)
_AUTHENTICATED: Final = _ALL - {"connect"}

ALLOWED: Final = {
    ConnectionState.CONNECTING: frozenset({"connect"}),
    # Further requests would have to be buffered for a client that is not authenticated yet.
    ConnectionState.AUTHENTICATING: frozenset({"ping", "pong"}),
    ConnectionState.RESUMING: _AUTHENTICATED,
    ConnectionState.LIVE: _AUTHENTICATED,
    # The next gateway would have to repeat these soon.
    ConnectionState.DRAINING: _AUTHENTICATED - {"resume", "subscribe"},
    ConnectionState.CLOSED: frozenset[str](),
}

IS_LET_IN: Final = frozenset({ConnectionState.RESUMING, ConnectionState.LIVE, ConnectionState.DRAINING})
"""States after authentication."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits of one connection.

    user_in_flight: requests in flight of one user, over all of their connections to this process.
    faults: number of invalid frames that are answered. Every `fault_every_s` seconds allow one more.
    pong_within_s: time after a heartbeat without any frame until the connection is closed as silent.
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

    def as_frame(self) -> LimitsFrame:
        return LimitsFrame(
            frame_bytes=self.max_frame_bytes,
            in_flight=self.in_flight,
            frames_per_s=self.frames_per_s,
            burst=self.burst,
        )


class WriteFrame(NamedTuple):
    """Write one text frame."""

    data: bytes


class HandleRequest(NamedTuple):
    """Handle a request, and report its answer exactly once with `ConnectionProtocol.answered` under this number."""

    number: int
    request: Struct


class CloseConnection(NamedTuple):
    """Close the socket; the last effect of every connection. `reason` is for the close frame.

    Requests in flight continue, so that a send is not interrupted. Their answers are dropped.
    """

    code: CloseCode
    reason: str


type Effect = WriteFrame | HandleRequest | CloseConnection


@final
class TypingThrottle:
    """Throttle the typing events of one connection for each chat. It remembers the last `chats` chats."""

    __slots__ = ("_chats", "_every_s", "_passed")

    def __init__(self, every_s: float, chats: int) -> None:
        self._every_s = every_s
        self._chats = chats
        self._passed: dict[str, tuple[bool, float]] = {}

    def passes(self, chat: str, now: float, *, is_typing: bool) -> bool:
        """Return whether to publish the event: a change at once, a repetition only every `every_s` seconds."""
        before = self._passed.pop(chat, None)
        if before is not None and before[0] is is_typing and now - before[1] < self._every_s:
            self._passed[chat] = before
            return False
        self._passed[chat] = (is_typing, now)
        if len(self._passed) > self._chats:
            del self._passed[next(iter(self._passed))]
        return True
