"""What a call to DynamoDB can end with, as types. Callers decide by them; nobody reads messages.

    DynamoError
      RefusedError                  answered with no: this try was not applied
        ConditionFailedError        carries the item that is there
        TransactionCancelledError   carries a reason per action
        ConflictError               another transaction holds the item; trying again can help
        ThrottledError              too fast; trying again later can help
          UnprocessedError          part of a batch was still not done at the deadline
        TooLargeError               an item over 400 KB, or a request over its limit
        TokenReusedError            the transaction's token came before, with other content
        NotFoundError               no such table, index or stream
        AccessDeniedError           the credentials are not accepted, or do not allow this
          CredentialsExpiredError   fresh ones can help
        IteratorExpiredError        a stream's iterator is too old
        RecordsTrimmedError         what was asked for has left the stream
        ValidationError             anything else that DynamoDB found wrong with the request
      OutcomeUnknownError           sent, and no usable answer came: it may have been applied
      NotSentError                  not one byte was sent: it was not applied

`maybe_applied` on any of them: this call, in an earlier try or in this one, may have been applied.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NoReturn

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.codec import Item


class DynamoError(Exception):
    """`transient` says that the same call may do better later; whether it may be repeated is another question."""

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
    """After an unanswered try of the same call (`maybe_applied`) the item that is there may be our own."""

    def __init__(
        self, message: str = "", *, code: str = "", request_id: str = "", item: Item | None = None
    ) -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.item = item


@dataclass(frozen=True, slots=True)
class CancellationReason:
    """Why one action of a cancelled transaction could not be done; `code` is "None" for one that could."""

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
    """`reasons` has one for each action, in the order they were given."""

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
    transient = True
    is_conflict = True


class ThrottledError(ServiceError):
    transient = True


class UnprocessedError(ThrottledError):
    """`unprocessed`: the keys, or the puts' items and the deletes' keys, that were still not done."""

    def __init__(self, message: str = "", *, unprocessed: tuple[Item, ...] = ()) -> None:
        super().__init__(message)
        self.unprocessed = unprocessed


class TooLargeError(ServiceError):
    pass


class TokenReusedError(ServiceError):
    pass


class NotFoundError(ServiceError):
    pass


class AccessDeniedError(ServiceError):
    pass


class CredentialsExpiredError(AccessDeniedError):
    transient = True


class IteratorExpiredError(ServiceError):
    pass


class RecordsTrimmedError(ServiceError):
    pass


class ValidationError(ServiceError):
    pass


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
        raise TidingsError(Code.OVERLOADED, f"The store can't be read right now: {error}") from error
    raise error


def raise_write_error(error: DynamoError) -> NoReturn:
    """A throttle or a conflict does not settle an earlier try that was not answered."""
    if error.maybe_applied:
        raise TidingsError(
            Code.OUTCOME_UNKNOWN,
            "The store did not answer in time: it may have been written.",
            hint="Ask again with the same key; it will not be doubled.",
        ) from error
    if error.transient:
        raise TidingsError(
            Code.OVERLOADED, f"The store refused for now, nothing was written: {error}"
        ) from error
    raise error


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
