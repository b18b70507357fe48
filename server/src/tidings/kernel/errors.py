"""The one error type and its closed set of codes.

The same codes appear on the command line, in REST problems and in socket frames;
`docs/reference/errors.md` has a section for each, which a test checks. The REST API serves a page for each.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum


class Code(StrEnum):
    """The error code, for programs. A code is never reused with another meaning."""

    SETTINGS_INVALID = "settings_invalid"
    ENGINE_NOT_INSTALLED = "engine_not_installed"
    ENGINE_NOT_SUPPORTED = "engine_not_supported"
    ENGINE_FETCH_FAILED = "engine_fetch_failed"
    ENGINE_PORT_TAKEN = "engine_port_taken"
    ENGINE_OUT_OF_MEMORY = "engine_out_of_memory"
    ENGINE_DIED = "engine_died"
    ENGINE_NOT_READY = "engine_not_ready"
    ENGINE_UNREACHABLE = "engine_unreachable"
    ENGINES_BUSY = "engines_busy"
    TABLES_DRIFT = "tables_drift"
    TABLES_DESTRUCTIVE = "tables_destructive"
    TABLES_FAILED = "tables_failed"
    EPOCH_STALE = "epoch_stale"
    STILL_RUNNING = "still_running"
    CREDENTIAL_INVALID = "credential_invalid"
    CREDENTIAL_EXPIRED = "credential_expired"
    RATE_LIMITED = "rate_limited"
    USER_NOT_FOUND = "user_not_found"
    USER_EXISTS = "user_exists"
    USER_ERASED = "user_erased"
    PHONE_TAKEN = "phone_taken"
    PHONE_LOGIN_OFF = "phone_login_off"
    CHAT_NOT_FOUND = "chat_not_found"
    CHAT_FULL = "chat_full"
    REJOIN_LIMIT_REACHED = "rejoin_limit_reached"
    REQUEST_INVALID = "request_invalid"
    REQUEST_TOO_LARGE = "request_too_large"
    REQUEST_TOO_SLOW = "request_too_slow"
    HEADERS_TOO_LARGE = "headers_too_large"
    ENDPOINT_NOT_FOUND = "endpoint_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CURSOR_INVALID = "cursor_invalid"
    UNKNOWN_REQUEST = "unknown_request"
    NOT_A_MEMBER = "not_a_member"
    FORBIDDEN = "forbidden"
    BLOCKED = "blocked"
    CHAT_FROZEN = "chat_frozen"
    MUTED = "muted"
    SLOW_MODE = "slow_mode"
    BANNED = "banned"
    INVITE_NOT_FOUND = "invite_not_found"
    REVIEW_NOT_FOUND = "review_not_found"
    REVIEW_DECIDED = "review_decided"
    CONTENT_INVALID = "content_invalid"
    CONTENT_TOO_LARGE = "content_too_large"
    MESSAGE_REFUSED = "message_refused"
    MESSAGE_NOT_FOUND = "message_not_found"
    INBOX_NOT_FOUND = "inbox_not_found"
    NOTIFICATION_NOT_FOUND = "notification_not_found"
    JOB_NOT_FOUND = "job_not_found"
    SEGMENT_NOT_FOUND = "segment_not_found"
    WEBHOOK_NOT_FOUND = "webhook_not_found"
    PUSH_NOT_CONFIGURED = "push_not_configured"
    SEARCH_OFF = "search_off"
    MEDIA_NOT_CONFIGURED = "media_not_configured"
    UPLOAD_NOT_FOUND = "upload_not_found"
    UPLOAD_INCOMPLETE = "upload_incomplete"
    UPLOAD_ATTACHED = "upload_attached"
    UPLOAD_PROCESSING = "upload_processing"
    UPLOAD_REFUSED = "upload_refused"
    UPLOAD_TOO_LARGE = "upload_too_large"
    STORAGE_FULL = "storage_full"
    NO_CHANGE = "no_change"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    POSITION_AHEAD = "position_ahead"
    POSITION_TOO_OLD = "position_too_old"
    WRITE_CONFLICT = "write_conflict"
    DECRYPTION_FAILED = "decryption_failed"
    KEYS_UNAVAILABLE = "keys_unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"
    OVERLOADED = "overloaded"
    INTERNAL = "internal"
    TOPICS_DRIFT = "topics_drift"
    TOPICS_DESTRUCTIVE = "topics_destructive"
    TOPICS_FAILED = "topics_failed"


_RETRYABLE = frozenset(
    {
        Code.ENGINE_FETCH_FAILED,
        Code.ENGINE_NOT_READY,
        Code.ENGINE_UNREACHABLE,
        Code.ENGINES_BUSY,
        Code.WRITE_CONFLICT,
        Code.KEYS_UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        Code.OVERLOADED,
        Code.RATE_LIMITED,
        Code.SLOW_MODE,
        Code.UPLOAD_INCOMPLETE,
        Code.UPLOAD_PROCESSING,
        Code.REQUEST_TOO_SLOW,
    }
)


class TidingsError(Exception):
    """An error with a code. `message` says what failed, `hint` what to do, `retryable` whether a retry can help."""

    def __init__(
        self, code: Code, message: str, *, hint: str = "", details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = dict(details or {})

    @property
    def retryable(self) -> bool:
        return self.code in _RETRYABLE

    @property
    def docs(self) -> str:
        """Return the path of the code's page at the REST API."""
        return f"/errors/{self.code}"


class UnavailableError(Exception):
    """An engine or service did not answer, or it is unknown whether the effect was applied. A retry can help.

    Adapters raise it in place of the errors of their client library. The message starts with the name of the engine.
    """


def wrap_decoder[T](decode: Callable[[bytes], T], error_type: type[Exception]) -> Callable[[bytes], T]:
    """Return a decoder that also raises `error_type` for invalid UTF-8."""

    def read(payload: bytes) -> T:
        try:
            return decode(payload)
        except UnicodeDecodeError as error:
            raise error_type(str(error)) from error

    return read
