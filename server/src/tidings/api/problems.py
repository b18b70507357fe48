"""Problem responses (RFC 9457): HTTP status of each error code, texts, and validation errors."""

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tidings.api.schemas.api_model import E164, PART, USER_PART
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import USER_ID_DESCRIPTION

MAX_FAULTS = 20
_PLACES = {"body", "query", "path", "header", "cookie"}
_FIELD_TEXTS = {
    "extra_forbidden": "Unknown field.",
    "missing": "This field is required.",
    "union_tag_invalid": "The `type` is unknown.",
    "union_tag_not_found": "The `type` is required.",
}
_UNION_TAGS = {"direct", "group"}
_FORMS = {
    PART: "Use printable ASCII characters without spaces, `#`, `*` and `/`.",
    USER_PART: f"It must have {USER_ID_DESCRIPTION}.",
    E164: "Use a phone number in E.164 format, such as +4915123456789.",
}
"""Replace messages of pydantic that show a regular expression."""


def to_validation_error(faults: Sequence[Mapping[str, Any]]) -> TidingsError:
    """Return an error that points to each invalid field. Values are not included: they may be secret or long."""
    errors = [_fault(fault) for fault in faults[:MAX_FAULTS]]
    first = errors[0]
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    return TidingsError(
        Code.REQUEST_INVALID,
        f"{first['location']} {first['pointer'] or '/'}: {first['detail']}{more}",
        details={"errors": errors},
    )


def _fault(fault: Mapping[str, Any]) -> dict[str, str]:
    place, *rest = fault["loc"] or ("body",)
    is_known = place in _PLACES
    steps = rest if is_known else list(fault["loc"])
    # Pydantic puts the tag of a union, here the type of a chat, before the field. The body has no such level.
    pointer = _pointer(steps[1:] if len(steps) > 1 and steps[0] in _UNION_TAGS else steps)
    return {"location": place if is_known else "body", "pointer": pointer, "detail": _detail(fault)}


def _detail(fault: Mapping[str, Any]) -> str:
    form = fault.get("ctx", {}).get("pattern")
    found: str = _FIELD_TEXTS.get(fault.get("type", "")) or _FORMS.get(form) or fault["msg"]
    return found


def _pointer(steps: Iterable[object]) -> str:
    escaped = (str(step).replace("~", "~0").replace("/", "~1") for step in steps)
    return "".join(f"/{step}" for step in escaped)


STATUS: Final[Mapping[Code, int]] = {
    Code.CREDENTIAL_INVALID: 401,
    Code.CREDENTIAL_EXPIRED: 401,
    Code.RATE_LIMITED: 429,
    Code.USER_NOT_FOUND: 404,
    Code.USER_EXISTS: 409,
    Code.USER_ERASED: 410,
    Code.PHONE_TAKEN: 409,
    Code.PHONE_LOGIN_OFF: 403,
    Code.CHAT_NOT_FOUND: 404,
    Code.CHAT_FULL: 409,
    Code.REJOIN_LIMIT_REACHED: 409,
    Code.REQUEST_INVALID: 400,
    Code.REQUEST_TOO_LARGE: 413,
    Code.REQUEST_TOO_SLOW: 408,
    Code.HEADERS_TOO_LARGE: 431,
    Code.ENDPOINT_NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.CURSOR_INVALID: 400,
    Code.UNKNOWN_REQUEST: 400,
    Code.NOT_A_MEMBER: 403,
    Code.FORBIDDEN: 403,
    Code.BLOCKED: 403,
    Code.CHAT_FROZEN: 403,
    Code.MUTED: 403,
    Code.SLOW_MODE: 429,
    Code.BANNED: 403,
    Code.INVITE_NOT_FOUND: 404,
    Code.REVIEW_NOT_FOUND: 404,
    Code.REVIEW_DECIDED: 409,
    Code.CONTENT_INVALID: 422,
    Code.CONTENT_TOO_LARGE: 413,
    Code.MESSAGE_REFUSED: 422,
    Code.MESSAGE_NOT_FOUND: 404,
    Code.INBOX_NOT_FOUND: 404,
    Code.NOTIFICATION_NOT_FOUND: 404,
    Code.JOB_NOT_FOUND: 404,
    Code.SEGMENT_NOT_FOUND: 404,
    Code.WEBHOOK_NOT_FOUND: 404,
    Code.PUSH_NOT_CONFIGURED: 404,
    Code.SEARCH_OFF: 403,
    Code.MEDIA_NOT_CONFIGURED: 404,
    Code.UPLOAD_NOT_FOUND: 404,
    Code.UPLOAD_INCOMPLETE: 409,
    Code.UPLOAD_ATTACHED: 409,
    Code.UPLOAD_PROCESSING: 409,
    Code.UPLOAD_REFUSED: 422,
    Code.UPLOAD_TOO_LARGE: 413,
    Code.STORAGE_FULL: 409,
    Code.NO_CHANGE: 409,
    Code.IDEMPOTENCY_CONFLICT: 409,
    Code.POSITION_AHEAD: 409,
    Code.POSITION_TOO_OLD: 409,
    Code.WRITE_CONFLICT: 409,
    Code.DECRYPTION_FAILED: 500,
    Code.KEYS_UNAVAILABLE: 503,
    Code.OUTCOME_UNKNOWN: 503,
    Code.OVERLOADED: 503,
    Code.INTERNAL: 500,
    # Codes of the command line. The API does not return them, unless a process is misconfigured.
    Code.SETTINGS_INVALID: 500,
    Code.ENGINE_NOT_INSTALLED: 500,
    Code.ENGINE_NOT_SUPPORTED: 500,
    Code.ENGINE_FETCH_FAILED: 500,
    Code.ENGINE_PORT_TAKEN: 500,
    Code.ENGINE_OUT_OF_MEMORY: 500,
    Code.ENGINE_DIED: 500,
    Code.ENGINE_NOT_READY: 503,
    Code.ENGINE_UNREACHABLE: 503,
    Code.ENGINES_BUSY: 503,
    Code.TABLES_DRIFT: 500,
    Code.EPOCH_STALE: 500,
    Code.STILL_RUNNING: 500,
    Code.TABLES_DESTRUCTIVE: 500,
    Code.TABLES_FAILED: 500,
    Code.TOPICS_DRIFT: 500,
    Code.TOPICS_DESTRUCTIVE: 500,
    Code.TOPICS_FAILED: 500,
}

MEDIA_TYPE = "application/problem+json"
FROM_HTTP = {404: Code.ENDPOINT_NOT_FOUND, 405: Code.METHOD_NOT_ALLOWED, 413: Code.REQUEST_TOO_LARGE}
_SERVER_FAULT, _UNAVAILABLE, _UNAUTHORIZED = 500, 503, 401
_RETRY_AFTER_MS, _SPREAD_MS = 500, 1_500
_PROBLEM_TEXTS = {
    Code.OUTCOME_UNKNOWN: "It is unknown whether the request was applied. Repeat it with the same idempotency key.",
    _SERVER_FAULT: "Internal error. The server's log has details under this request id.",
    _UNAVAILABLE: "The service is temporarily unavailable. Repeat the request later.",
}
"""Replace messages of server errors, which may reveal internals."""

log = structlog.get_logger(source=__name__)


def problem_response(error: TidingsError, request_id: str, docs_root: str) -> Response:
    """Build the response of an error."""
    status, wait_ms = STATUS[error.code], retry_after_ms(error)
    body: dict[str, Any] = {
        "type": f"{docs_root}errors/{error.code}",
        "title": problem_title(error.code),
        "status": status,
        "detail": retry_or_message(error),
        "code": error.code,
        "retryable": error.retryable,
        "request_id": request_id,
    }
    if error.hint and not is_server_fault(error):
        body["hint"] = error.hint
    if wait_ms is not None:
        body["retry_after_ms"] = wait_ms
    if "errors" in error.details:
        body["errors"] = error.details["errors"]
    return Response(msgspec.json.encode(body), status, _headers(status, wait_ms), MEDIA_TYPE)


def problem_title(code: Code) -> str:
    return code.replace("_", " ").capitalize()


def is_retryable(code: Code) -> bool:
    return TidingsError(code, "").retryable


def retry_after_ms(error: TidingsError) -> int | None:
    """Return the wait in the error's details. For other 503 errors, a random one, so that retries are spread."""
    for name, factor in (("retry_after_ms", 1), ("retry_after_s", 1000)):
        if isinstance(wait := error.details.get(name), int | float):
            return math.ceil(wait * factor)
    if STATUS[error.code] != _UNAVAILABLE:
        return None
    return _RETRY_AFTER_MS + secrets.randbelow(_SPREAD_MS)


def _headers(status: int, wait_ms: int | None) -> dict[str, str]:
    headers = {"cache-control": "no-store"}
    if wait_ms is not None:
        headers["retry-after"] = str(math.ceil(wait_ms / 1000))
    if status == _UNAUTHORIZED:
        headers["www-authenticate"] = 'Bearer realm="tidings"'
    return headers


def retry_or_message(error: TidingsError) -> str:
    if not is_server_fault(error):
        return error.message
    return _PROBLEM_TEXTS.get(error.code) or _PROBLEM_TEXTS[STATUS[error.code]]


def is_server_fault(error: TidingsError) -> bool:
    """Return whether the error is the server's (5xx): its message goes to the log only."""
    return STATUS[error.code] >= _SERVER_FAULT


def error_response(error: Exception, request: Request, docs_root: str) -> Response:
    """Build the response of any exception of a route. Log it if it is the server's fault."""
    if isinstance(error, RequestValidationError):
        error = to_validation_error(error.errors())
    if not isinstance(error, TidingsError):
        error = to_internal_error(error, request)
    elif is_server_fault(error):
        log_error(error, request)
    return problem_response(error, request.state.request_id, docs_root)


def log_error(error: TidingsError, request: Request) -> None:
    """Log an internal error with its trace, and a temporary one in one line."""
    where = {"method": request.method, "path": request.url.path, "error_code": error.code.value}
    if STATUS[error.code] == _SERVER_FAULT:
        log.error("request failed", **where, exc_info=error)
    else:
        log.warning("request failed temporarily", **where, reason=error.message)


def to_internal_error(error: Exception, request: Request) -> TidingsError:
    """Log an unexpected exception and return the error for the client."""
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    return TidingsError(Code.INTERNAL, "unexpected error")


def from_http_exception(error: HTTPException) -> TidingsError:
    """Convert an error of the framework."""
    code = FROM_HTTP.get(error.status_code, Code.REQUEST_INVALID)
    messages = {
        Code.ENDPOINT_NOT_FOUND: "No route has this path.",
        Code.METHOD_NOT_ALLOWED: "The route does not support this method.",
    }
    hint = "See `/docs` or `/openapi.json` for all routes. Paths do not end with a slash."
    return TidingsError(
        code, messages.get(code, "The request cannot be read."), hint=hint if code in messages else ""
    )
