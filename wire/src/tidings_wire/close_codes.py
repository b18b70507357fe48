"""The close codes of the WebSocket, in two ranges: a client reconnects after 4000 to 4499, and not after 4500 to 4999.

The range is enough for a client: it treats an unknown code like the others of its range.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

RECONNECT: Final = range(4000, 4500)
TERMINAL: Final = range(4500, 5000)


class CloseCode(IntEnum):
    """A close code. Its meaning never changes."""

    SERVER_SHUTDOWN = 4000
    HEARTBEAT_TIMEOUT = 4001
    SLOW_CONSUMER = 4002
    CONNECT_TIMEOUT = 4003
    RATE_LIMITED = 4004
    TRY_AGAIN_LATER = 4005
    CREDENTIAL_EXPIRED = 4006

    CREDENTIAL_INVALID = 4500
    FRAME_INVALID = 4501
    FRAME_TOO_LARGE = 4502
    CONNECT_EXPECTED = 4503
    PROTOCOL_UNSUPPORTED = 4504
    REPLACED = 4505
    SESSION_REVOKED = 4506
    FORBIDDEN = 4507
    TOO_MANY_DEVICES = 4508

    @property
    def is_reconnect(self) -> bool:
        return self in RECONNECT


TEXTS: Final[Mapping[CloseCode, str]] = {
    CloseCode.SERVER_SHUTDOWN: "This server process is stopping. Reconnect and resume.",
    CloseCode.HEARTBEAT_TIMEOUT: "The device sent nothing for the heartbeat interval and its grace period.",
    CloseCode.SLOW_CONSUMER: "The device reads more slowly than the server sends. Reconnect and resume: nothing is lost.",
    CloseCode.CONNECT_TIMEOUT: "The device did not send `connect` within 5 seconds.",
    CloseCode.RATE_LIMITED: "The device continued to send after a `rate_limited` error.",
    CloseCode.TRY_AGAIN_LATER: "The server could not accept the device now, or failed.",
    CloseCode.CREDENTIAL_EXPIRED: "The credential has expired. Get a new one, then reconnect.",
    CloseCode.CREDENTIAL_INVALID: "The credential is invalid. Another one is needed.",
    CloseCode.FRAME_INVALID: "Too many invalid frames: an error in the client.",
    CloseCode.FRAME_TOO_LARGE: "A frame exceeded the limit in `welcome`: an error in the client.",
    CloseCode.CONNECT_EXPECTED: "The first frame was not `connect`: an error in the client.",
    CloseCode.PROTOCOL_UNSUPPORTED: "The client is too old for this server.",
    CloseCode.REPLACED: "The same device has connected elsewhere.",
    CloseCode.SESSION_REVOKED: "The session was ended. Sign in again.",
    CloseCode.FORBIDDEN: "The user or the tenant may not connect.",
    CloseCode.TOO_MANY_DEVICES: "The user has connected more devices than allowed; the oldest connection is closed.",
}

_CODE_BY_ERROR: Final[Mapping[str, CloseCode]] = {
    "credential_invalid": CloseCode.CREDENTIAL_INVALID,
    "credential_expired": CloseCode.CREDENTIAL_EXPIRED,
    "forbidden": CloseCode.FORBIDDEN,
    "request_invalid": CloseCode.FRAME_INVALID,
}


def close_code_for_error(code: str) -> CloseCode:
    """Return the close code for an error before authentication. Other errors are temporary: the client may retry."""
    return _CODE_BY_ERROR.get(code, CloseCode.TRY_AGAIN_LATER)


def close_reason(code: CloseCode, retry_after_ms: int | None = None) -> str:
    """Return the reason of the close frame, at most 123 bytes: the name, and when to reconnect."""
    name = code.name.lower()
    return name if retry_after_ms is None else f"{name} retry_after_ms={retry_after_ms}"
