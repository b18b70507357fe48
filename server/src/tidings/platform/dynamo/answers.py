"""What DynamoDB answers: whole and unaltered, or not; yes, or which error.

One table leads from its error codes to our types.
"""

import zlib
from decimal import InvalidOperation

import msgspec
from msgspec import Struct, field

from tidings.platform.dynamo import errors
from tidings.platform.dynamo.codec import UnsupportedValueError, decode_item
from tidings.platform.dynamo.tagged import EncodedItem

OK = 200
SERVER_FAULT = 500
# What reading an answer's body can raise if it is not what DynamoDB would say.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, UnsupportedValueError, InvalidOperation)

_CHECKSUM = b"x-amz-crc32"
_REQUEST_ID = b"x-amzn-requestid"

_CODES: dict[str, type[errors.ServiceError]] = {
    "ConditionalCheckFailedException": errors.ConditionFailedError,
    "TransactionCanceledException": errors.TransactionCancelledError,
    "TransactionConflictException": errors.ConflictError,
    # an earlier try with the same token is still at work
    "TransactionInProgressException": errors.ConflictError,
    "ReplicatedWriteConflictException": errors.ConflictError,
    "ProvisionedThroughputExceededException": errors.ThrottledError,
    "ProvisionedThroughputExceeded": errors.ThrottledError,
    "RequestLimitExceeded": errors.ThrottledError,
    "ThrottlingException": errors.ThrottledError,
    "Throttling": errors.ThrottledError,
    # of the streams' calls: more than ten describes a second, or two readers of a shard
    "LimitExceededException": errors.ThrottledError,
    "ItemCollectionSizeLimitExceededException": errors.TooLargeError,
    "RequestEntityTooLarge": errors.TooLargeError,
    "IdempotentParameterMismatchException": errors.TokenReusedError,
    "ResourceNotFoundException": errors.NotFoundError,
    "AccessDeniedException": errors.AccessDeniedError,
    "IncompleteSignatureException": errors.AccessDeniedError,
    "InvalidSignatureException": errors.AccessDeniedError,
    "MissingAuthenticationTokenException": errors.AccessDeniedError,
    "MissingAuthenticationToken": errors.AccessDeniedError,
    "UnrecognizedClientException": errors.AccessDeniedError,
    "NotAuthorized": errors.AccessDeniedError,
    "ExpiredTokenException": errors.CredentialsExpiredError,
    "ExpiredToken": errors.CredentialsExpiredError,
    "ExpiredIteratorException": errors.IteratorExpiredError,
    "TrimmedDataAccessException": errors.RecordsTrimmedError,
}
# An item over 400 KB has no code of its own, only these words in a ValidationException.
_TOO_LARGE = ("Item size has exceeded", "Item size to update has exceeded")


class _Reason(Struct):
    code: str = field(name="Code", default="None")
    message: str | None = field(name="Message", default=None)
    item: EncodedItem | None = field(name="Item", default=None)


class _Refusal(Struct):
    """DynamoDB spells the message both ways."""

    type: str = field(name="__type", default="")
    message: str | None = None
    Message: str | None = None
    item: EncodedItem | None = field(name="Item", default=None)
    reasons: list[_Reason] | None = field(name="CancellationReasons", default=None)


_read_refusal = msgspec.json.Decoder(_Refusal).decode


def check_integrity(headers: dict[bytes, bytes], body: bytes) -> None:
    """The checksum costs 0.3 µs for a kilobyte; an altered answer must not pass for an item."""
    expected = headers.get(_CHECKSUM) or find_header(headers, _CHECKSUM)
    if expected and expected != b"%d" % zlib.crc32(body):
        raise errors.OutcomeUnknownError("the answer's checksum does not match")


def check_unicode(body: bytes) -> None:
    """Msgspec does not look into fields that it skips; noise there must not pass for "no such item"."""
    if not body.isascii():
        body.decode()


def find_header(headers: dict[bytes, bytes], name: bytes) -> bytes | None:
    """Whatever the case of its letters."""
    return next((value for spelled, value in headers.items() if spelled.lower() == name), None)


def error_from_response(status: int, headers: dict[bytes, bytes], body: bytes) -> errors.DynamoError:
    """The error that an answer other than 200 stands for."""
    request_id = (find_header(headers, _REQUEST_ID) or b"").decode("latin-1")
    try:
        told = _read_refusal(body)
        code = told.type.rpartition("#")[2].partition(":")[0]
        message = told.message or told.Message or f"HTTP {status}"
        if code in _CODES or (code and status < SERVER_FAULT):
            return _refused(code, message, request_id, told)
    except UNREADABLE:
        code, message = "", f"HTTP {status} without a readable reason"
    return errors.OutcomeUnknownError(message, code=code, request_id=request_id)


def _refused(code: str, message: str, request_id: str, told: _Refusal) -> errors.ServiceError:
    kind = _CODES.get(code, errors.ValidationError)
    if kind is errors.ConditionFailedError:
        item = None if told.item is None else decode_item(told.item)
        return errors.ConditionFailedError(message, code=code, request_id=request_id, item=item)
    if kind is errors.TransactionCancelledError:
        reasons = tuple(_reason(reason) for reason in told.reasons or ())
        return errors.TransactionCancelledError(message, code=code, request_id=request_id, reasons=reasons)
    if kind is errors.ValidationError and message.startswith(_TOO_LARGE):
        kind = errors.TooLargeError
    return kind(message, code=code, request_id=request_id)


def _reason(told: _Reason) -> errors.CancellationReason:
    item = None if told.item is None else decode_item(told.item)
    return errors.CancellationReason(told.code, told.message or "", item)
