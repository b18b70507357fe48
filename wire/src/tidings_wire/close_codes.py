"""Why a connection was closed: one table, two ranges. Below 4500 a client reconnects, from there on it does not.

A client needs no more than the range: codes that it does not know are treated alike.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

RECONNECT: Final = range(4000, 4500)
TERMINAL: Final = range(4500, 5000)


class CloseCode(IntEnum):
    """A code is never reused for something else."""

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
    CloseCode.SERVER_SHUTDOWN: "This server process is going away. Connect anew and resume.",
    CloseCode.HEARTBEAT_TIMEOUT: "Nothing was heard of the device for longer than a heartbeat and its grace.",
    CloseCode.SLOW_CONSUMER: "The device reads more slowly than it is written to. Reconnect and resume: nothing is lost.",
    CloseCode.CONNECT_TIMEOUT: "No `connect` came in the first 5 seconds.",
    CloseCode.RATE_LIMITED: "The device went on sending after it was told that it sends too fast.",
    CloseCode.TRY_AGAIN_LATER: "The server could not let the device in now, or failed.",
    CloseCode.CREDENTIAL_EXPIRED: "The credential's time is over. Get a new one, then reconnect.",
    CloseCode.CREDENTIAL_INVALID: "The credential was refused. Another one is needed.",
    CloseCode.FRAME_INVALID: "Too many frames that are not of this protocol: a mistake in the client.",
    CloseCode.FRAME_TOO_LARGE: "A frame was over the bound that `welcome` tells: a mistake in the client.",
    CloseCode.CONNECT_EXPECTED: "The first frame was not `connect`: a mistake in the client.",
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
    """What is neither the credential's fault nor the user's is ours: later it may go."""
    return _CODE_BY_ERROR.get(code, CloseCode.TRY_AGAIN_LATER)


def close_reason(code: CloseCode, retry_after_ms: int | None = None) -> str:
    """The text in the close frame, at most 123 bytes: the name, and when to come back."""
    name = code.name.lower()
    return name if retry_after_ms is None else f"{name} retry_after_ms={retry_after_ms}"
