"""Decide by a close code whether to reconnect, when, and with which credential. Uses the ranges of codes."""

import re
from typing import Final, NamedTuple

from tidings_wire.close_codes import TERMINAL, CloseCode

NO_CLOSE_FRAME: Final = 1006

_CLIENT_ERRORS: Final = frozenset({1002, 1003, 1007, 1008, 1009, 1010})
_RETRY_AFTER: Final = re.compile(r"\bretry_after_ms=(\d{1,9})\b")


class ReconnectDecision(NamedTuple):
    """Whether and when to reconnect. `retry_after_ms` is None if the server gave no delay: use the backoff."""

    is_terminal: bool
    retry_after_ms: int | None
    wants_credential: bool


def decide_reconnect(code: int, reason: str) -> ReconnectDecision:
    delay = _RETRY_AFTER.search(reason)
    return ReconnectDecision(
        is_terminal=code in TERMINAL or code in _CLIENT_ERRORS,
        retry_after_ms=int(delay[1]) if delay else None,
        wants_credential=code in (CloseCode.CREDENTIAL_EXPIRED, CloseCode.CREDENTIAL_INVALID),
    )


_CODE_BY_ERROR: Final = {
    "credential_invalid": CloseCode.CREDENTIAL_INVALID,
    "credential_expired": CloseCode.CREDENTIAL_EXPIRED,
    "forbidden": CloseCode.FORBIDDEN,
}


def close_code_for_error(error_code: str) -> int:
    """Return the close code that follows a refused `connect`, if the close frame itself was lost."""
    return _CODE_BY_ERROR.get(error_code, NO_CLOSE_FRAME)
