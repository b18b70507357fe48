"""Errors of DynamoDB calls, by whether the call was applied. Callers decide by type, never by message.

`DynamoError` has three subclasses:

- `ServiceError`: DynamoDB refused this attempt, so it was not applied. Its subclasses say why.
- `OutcomeUnknownError`: sent, and no usable answer arrived. It may have been applied.
- `NotSentError`: nothing was sent, so it was not applied.

`maybe_applied` of any of them: this or an earlier attempt of the call may have been applied.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, NoReturn

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.codec import Item


class DynamoError(Exception):
    """`transient`: a later attempt may succeed. Whether a retry is safe depends on `maybe_applied`."""

    transient = False
    is_conflict = False

    def __init__(self, message: str = "", *, code: str = "", request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.request_id = request_id
        self.maybe_applied = False

    def __str__(self) -> str:
        code = f"{self.code}: " if self.code else ""
        doubt = " (may have been applied)" if self.maybe_applied else ""
        request = f" [request {self.request_id}]" if self.request_id else ""
        return f"{code}{self.message}{doubt}{request}"


class ServiceError(DynamoError):
    pass


class ConditionFailedError(ServiceError):
    """The condition failed; `item` is the stored item. With `maybe_applied` this call may have written it itself."""

    def __init__(
        self, message: str = "", *, code: str = "", request_id: str = "", item: Item | None = None
    ) -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.item = item


@dataclass(frozen=True, slots=True)
class CancellationReason:
    """The result of one action of a cancelled transaction. `code` is "None" for an action that did not fail."""

    code: str = "None"
    message: str = ""
    item: Item | None = field(default=None, hash=False)

    @property
    def is_blameless(self) -> bool:
        return self.code == "None"

    @property
    def is_condition(self) -> bool:
        return self.code == "ConditionalCheckFailed"

    @property
    def is_transient(self) -> bool:
        return self.code in _TRANSIENT_REASONS


_CONFLICT = "TransactionConflict"
_TRANSIENT_REASONS = frozenset(
    {_CONFLICT, "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"}
)


class TransactionCancelledError(ServiceError):
    """A transaction failed. `reasons` has one entry for each action, in order."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        request_id: str = "",
        reasons: tuple[CancellationReason, ...] = (),
    ) -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.reasons = reasons
        blamed = [reason for reason in reasons if not reason.is_blameless]
        self.transient = bool(blamed) and all(reason.is_transient for reason in blamed)
        self.is_conflict = bool(blamed) and all(reason.code == _CONFLICT for reason in blamed)


class ConflictError(ServiceError):
    """Another transaction is changing the item."""

    transient = True
    is_conflict = True


class ThrottledError(ServiceError):
    transient = True


class UnprocessedError(ThrottledError):
    """Part of a batch was not processed before the deadline: keys of reads and deletes, items of puts."""

    def __init__(self, message: str = "", *, unprocessed: tuple[Item, ...] = ()) -> None:
        super().__init__(message)
        self.unprocessed = unprocessed


class TooLargeError(ServiceError):
    """An item is larger than 400 KB, or a request is larger than its limit."""


class TokenReusedError(ServiceError):
    """The token was already used for a transaction with other content."""


class NotFoundError(ServiceError):
    """The table, index or stream does not exist."""


class AccessDeniedError(ServiceError):
    """The credentials are invalid or do not allow the call."""


class CredentialsExpiredError(AccessDeniedError):
    transient = True


class IteratorExpiredError(ServiceError):
    """The iterator of a stream is too old."""


class RecordsTrimmedError(ServiceError):
    """The requested records are no longer in the stream."""


class ValidationError(ServiceError):
    """The request is invalid for another reason."""


class OutcomeUnknownError(DynamoError):
    transient = True

    def __init__(self, message: str = "", *, code: str = "", request_id: str = "") -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.maybe_applied = True


class NotSentError(DynamoError):
    def __init__(self, message: str = "", *, transient: bool = True) -> None:
        super().__init__(message)
        self.transient = transient


def raise_read_error(error: DynamoError) -> NoReturn:
    if error.transient:
        raise TidingsError(Code.OVERLOADED, f"The database cannot be read at the moment: {error}") from error
    raise error


def raise_write_error(error: DynamoError) -> NoReturn:
    """Raise the `TidingsError` of a failed write. An earlier unanswered attempt makes every outcome unknown."""
    if error.maybe_applied:
        raise TidingsError(
            Code.OUTCOME_UNKNOWN,
            "The database did not answer in time. The change may have been applied.",
            hint="Send the request again with the same idempotency key: it is applied at most once.",
        ) from error
    if error.transient:
        raise TidingsError(
            Code.OVERLOADED, f"The database refused the write, and nothing was changed: {error}"
        ) from error
    raise error


def raise_key_read_error(error: DynamoError) -> NoReturn:
    """Raise `keys_unavailable`. Nothing can be decided without the keys and settings of a tenant."""
    raise TidingsError(
        Code.KEYS_UNAVAILABLE, f"The tables of keys and settings are unavailable: {error}"
    ) from error


def raise_key_write_error(error: DynamoError) -> NoReturn:
    if error.maybe_applied:
        raise TidingsError(
            Code.OUTCOME_UNKNOWN, f"The tables of keys and settings did not answer in time: {error}"
        ) from error
    raise_key_read_error(error)


async def condition_held(write: Awaitable[object]) -> bool:
    """Await a conditional write, and return False if its condition failed. Raises every other error."""
    try:
        await write
    except ConditionFailedError:
        return False
    return True


class _ErrorTranslation:
    """A context manager that raises errors of the client as errors of a store. Stateless, so it is shared."""

    __slots__ = ("_raise_error",)

    def __init__(self, raise_error: Callable[[DynamoError], NoReturn]) -> None:
        self._raise_error = raise_error

    def __enter__(self) -> None:
        """Enter without effect."""

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, DynamoError):
            self._raise_error(error)


translate_read_errors: Final = _ErrorTranslation(raise_read_error)
translate_write_errors: Final = _ErrorTranslation(raise_write_error)
translate_key_read_errors: Final = _ErrorTranslation(raise_key_read_error)
translate_key_write_errors: Final = _ErrorTranslation(raise_key_write_error)
