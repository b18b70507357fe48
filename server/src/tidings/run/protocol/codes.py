"""Error codes and close codes as data, for clients that want to name them."""

from typing import Any

from tidings.gateway.error_frames import ERROR_TEXTS
from tidings.kernel.errors import TidingsError
from tidings.wire.close_codes import RECONNECT, TERMINAL, TEXTS, CloseCode


def error_codes_document() -> list[dict[str, Any]]:
    """Those that a device can meet."""
    errors = (TidingsError(code, "") for code in ERROR_TEXTS)
    return [{"code": e.code.value, "retryable": e.retryable, "docs": e.docs} for e in errors]


def close_codes_document() -> dict[str, Any]:
    return {
        "ranges": {"reconnect": _ends(RECONNECT), "terminal": _ends(TERMINAL)},
        "codes": [
            {
                "code": code.value,
                "name": code.name.lower(),
                "range": "reconnect" if code.is_reconnect else "terminal",
                "means": TEXTS[code],
            }
            for code in CloseCode
        ],
    }


def _ends(codes: range) -> dict[str, int]:
    return {"first": codes.start, "last": codes.stop - 1}
