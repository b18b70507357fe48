"""Error frames of the WebSocket protocol."""

import logging
from collections.abc import Mapping
from typing import Final

from tidings.kernel.errors import Code, TidingsError
from tidings_wire.frames.structs import ErrorBody

_log = logging.getLogger(__name__)

OPERATORS_ONLY: Final = "The server failed to handle the request. The error is in its log."

ERROR_TEXTS: Final[Mapping[Code, str | None]] = {
    # None: the error's own message. A text: replaces a message that is meant for operators.
    Code.CREDENTIAL_INVALID: None,
    Code.CREDENTIAL_EXPIRED: None,
    Code.RATE_LIMITED: None,
    Code.USER_NOT_FOUND: None,
    Code.USER_EXISTS: None,
    Code.USER_ERASED: None,
    Code.PHONE_TAKEN: None,
    Code.PHONE_LOGIN_OFF: None,
    Code.CHAT_NOT_FOUND: None,
    Code.CHAT_FULL: None,
    Code.REJOIN_LIMIT_REACHED: None,
    Code.REQUEST_INVALID: None,
    Code.UNKNOWN_REQUEST: None,
    Code.CURSOR_INVALID: None,
    Code.NOT_A_MEMBER: None,
    Code.FORBIDDEN: None,
    Code.BLOCKED: None,
    Code.CHAT_FROZEN: None,
    Code.MUTED: None,
    Code.SLOW_MODE: None,
    Code.BANNED: None,
    Code.INVITE_NOT_FOUND: None,
    Code.REVIEW_NOT_FOUND: None,
    Code.REVIEW_DECIDED: None,
    Code.CONTENT_INVALID: None,
    Code.CONTENT_TOO_LARGE: None,
    Code.MESSAGE_REFUSED: None,
    Code.MESSAGE_NOT_FOUND: None,
    Code.INBOX_NOT_FOUND: None,
    Code.NOTIFICATION_NOT_FOUND: None,
    Code.JOB_NOT_FOUND: None,
    Code.SEGMENT_NOT_FOUND: None,
    Code.PUSH_NOT_CONFIGURED: None,
    Code.SEARCH_OFF: None,
    Code.MEDIA_NOT_CONFIGURED: None,
    Code.UPLOAD_NOT_FOUND: None,
    Code.UPLOAD_INCOMPLETE: None,
    Code.UPLOAD_ATTACHED: None,
    Code.UPLOAD_REFUSED: None,
    Code.NO_CHANGE: None,
    Code.IDEMPOTENCY_CONFLICT: None,
    Code.POSITION_AHEAD: None,
    Code.POSITION_TOO_OLD: None,
    Code.WRITE_CONFLICT: None,
    Code.DECRYPTION_FAILED: None,
    Code.OUTCOME_UNKNOWN: None,
    Code.OVERLOADED: None,
    Code.KEYS_UNAVAILABLE: "The keys of this tenant are unavailable at the moment. Try again later.",
    Code.INTERNAL: OPERATORS_ONLY,
}
"""The codes that a device can receive."""

HIDDEN: Final = frozenset(
    {
        Code.SETTINGS_INVALID,
        Code.UPLOAD_PROCESSING,
        Code.UPLOAD_TOO_LARGE,
        Code.STORAGE_FULL,
        Code.ENGINE_NOT_INSTALLED,
        Code.ENGINE_NOT_SUPPORTED,
        Code.ENGINE_FETCH_FAILED,
        Code.ENGINE_PORT_TAKEN,
        Code.ENGINE_OUT_OF_MEMORY,
        Code.ENGINE_DIED,
        Code.ENGINE_NOT_READY,
        Code.ENGINE_UNREACHABLE,
        Code.ENGINES_BUSY,
        Code.TABLES_DRIFT,
        Code.EPOCH_STALE,
        Code.STILL_RUNNING,
        Code.TABLES_DESTRUCTIVE,
        Code.TABLES_FAILED,
        Code.TOPICS_DRIFT,
        Code.TOPICS_DESTRUCTIVE,
        Code.TOPICS_FAILED,
        # Only in HTTP.
        Code.WEBHOOK_NOT_FOUND,
        Code.REQUEST_TOO_SLOW,
        Code.HEADERS_TOO_LARGE,
        Code.REQUEST_TOO_LARGE,
        Code.ENDPOINT_NOT_FOUND,
        Code.METHOD_NOT_ALLOWED,
    }
)
"""Codes of the command line and of HTTP. If a request raises one of them, the device receives `internal`."""


def error_frame(error: Exception) -> ErrorBody:
    """Convert an error. Unforeseen errors, and those for operators, are logged and sent as `internal`."""
    if not isinstance(error, TidingsError) or error.code not in ERROR_TEXTS:
        _log.error("a request failed with an unforeseen error", exc_info=error)
        return error_body(TidingsError(Code.INTERNAL, OPERATORS_ONLY))
    text = ERROR_TEXTS[error.code]
    if text is None:
        return error_body(error)
    _log.error("a request failed: %s", error.message, extra={"error_code": error.code})
    return error_body(TidingsError(error.code, text, details=error.details))


def error_body(error: TidingsError, *, request_id: int | None = None) -> ErrorBody:
    """Convert an error. `request_id` names the request if the frame cannot carry its id."""
    after = error.details.get("retry_after_ms")
    return ErrorBody(
        code=error.code.value,
        message=error.message,
        retryable=error.retryable,
        hint=error.hint,
        docs=error.docs,
        retry_after_ms=after if isinstance(after, int) else None,
        request_id=request_id,
    )


def make_error_body(
    code: Code, message: str, *, hint: str = "", retry_after_ms: int | None = None
) -> ErrorBody:
    details = {} if retry_after_ms is None else {"retry_after_ms": retry_after_ms}
    return error_body(TidingsError(code, message, hint=hint, details=details))
