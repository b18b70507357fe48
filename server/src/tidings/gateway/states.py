"""The life of a connection, and which request is allowed when: one table."""

from enum import StrEnum
from typing import Final

from tidings.wire.frames.table import REQUESTS


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
