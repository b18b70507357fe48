"""What a client does after a close: come back or not, when, and with which credential. Knows ranges, not the table."""

import re
from typing import Final, NamedTuple

from tidings_wire.close_codes import TERMINAL, CloseCode

NO_CLOSE_FRAME: Final = 1006

_OUR_MISTAKE: Final = frozenset({1002, 1003, 1007, 1008, 1009, 1010})
_RETRY_AFTER: Final = re.compile(r"\bretry_after_ms=(\d{1,9})\b")


class ReconnectDecision(NamedTuple):
    """`retry_after_ms` None: nothing was told, the client's own backoff decides."""

    is_terminal: bool
    retry_after_ms: int | None
    wants_credential: bool


def decide_reconnect(code: int, reason: str) -> ReconnectDecision:
    told = _RETRY_AFTER.search(reason)
    return ReconnectDecision(
        is_terminal=code in TERMINAL or code in _OUR_MISTAKE,
        retry_after_ms=int(told[1]) if told else None,
        wants_credential=code in (CloseCode.CREDENTIAL_EXPIRED, CloseCode.CREDENTIAL_INVALID),
    )


_BY_REFUSAL: Final = {
    "credential_invalid": CloseCode.CREDENTIAL_INVALID,
    "credential_expired": CloseCode.CREDENTIAL_EXPIRED,
    "forbidden": CloseCode.FORBIDDEN,
}


def close_code_for_error(error_code: str) -> int:
    """`connect` was refused and the close that follows was cut off: what it would have said."""
    return _BY_REFUSAL.get(error_code, NO_CLOSE_FRAME)
