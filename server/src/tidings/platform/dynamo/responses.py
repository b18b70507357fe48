"""Decode DynamoDB's answers to replies and errors."""

import zlib
from collections.abc import Callable
from decimal import InvalidOperation
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from tidings.platform.dynamo import errors
from tidings.platform.dynamo.codec import EncodedItem, Item, UnsupportedValueError, decode_item
from tidings.platform.dynamo.request_bodies import BatchWrite


class WriteResult(Struct, frozen=True):
    """`maybe_repeated`: an earlier attempt of this call was not answered and may have been applied before this one.

    Returned `attributes` may then be those that this call wrote itself.
    """

    attributes: Item | None = None
    maybe_repeated: bool = False


PLAINLY_WRITTEN = WriteResult()


OK = 200
SERVER_FAULT = 500
# Errors of decoding an invalid answer.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, UnsupportedValueError, InvalidOperation)

_CHECKSUM = b"x-amz-crc32"
_REQUEST_ID = b"x-amzn-requestid"

_CODES: dict[str, type[errors.ServiceError]] = {
    "ConditionalCheckFailedException": errors.ConditionFailedError,
    "TransactionCanceledException": errors.TransactionCancelledError,
    "TransactionConflictException": errors.ConflictError,
    # An earlier attempt with the same token is still in progress.
    "TransactionInProgressException": errors.ConflictError,
    "ReplicatedWriteConflictException": errors.ConflictError,
    "ProvisionedThroughputExceededException": errors.ThrottledError,
    "ProvisionedThroughputExceeded": errors.ThrottledError,
    "RequestLimitExceeded": errors.ThrottledError,
    "ThrottlingException": errors.ThrottledError,
    "Throttling": errors.ThrottledError,
    # Of Streams: more than ten DescribeStream calls a second, or several readers of a shard.
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
# An item over 400 KB has no code of its own, only these texts in a ValidationException.
_TOO_LARGE = ("Item size has exceeded", "Item size to update has exceeded")


class _Reason(Struct):
    code: str = field(name="Code", default="None")
    message: str | None = field(name="Message", default=None)
    item: EncodedItem | None = field(name="Item", default=None)


class _Refusal(Struct):
    """An error answer. DynamoDB uses both names for the message."""

    type: str = field(name="__type", default="")
    message: str | None = None
    Message: str | None = None
    item: EncodedItem | None = field(name="Item", default=None)
    reasons: list[_Reason] | None = field(name="CancellationReasons", default=None)


_read_refusal = msgspec.json.Decoder(_Refusal).decode


def check_integrity(headers: dict[bytes, bytes], body: bytes) -> None:
    """Verify the checksum, so that a corrupt answer is not taken for an item. It costs 0.3 µs per kilobyte."""
    expected = headers.get(_CHECKSUM) or find_header(headers, _CHECKSUM)
    if expected and expected != b"%d" % zlib.crc32(body):
        raise errors.OutcomeUnknownError("checksum of the answer does not match")


def check_unicode(body: bytes) -> None:
    """Raise for invalid UTF-8. msgspec skips unknown fields, so a corrupt answer could look like a missing item."""
    if not body.isascii():
        body.decode()


def find_header(headers: dict[bytes, bytes], name: bytes) -> bytes | None:
    """Return a header, ignoring upper and lower case. `name` is lower case."""
    return next((value for key, value in headers.items() if key.lower() == name), None)


def error_from_response(status: int, headers: dict[bytes, bytes], body: bytes) -> errors.DynamoError:
    """Return the error of an answer whose status is not 200."""
    request_id = (find_header(headers, _REQUEST_ID) or b"").decode("latin-1")
    try:
        answer = _read_refusal(body)
        code = answer.type.rpartition("#")[2].partition(":")[0]
        message = answer.message or answer.Message or f"HTTP {status}"
        if code in _CODES or (code and status < SERVER_FAULT):
            return _refused(code, message, request_id, answer)
    except UNREADABLE:
        code, message = "", f"HTTP {status} without a readable reason"
    return errors.OutcomeUnknownError(message, code=code, request_id=request_id)


def _refused(code: str, message: str, request_id: str, answer: _Refusal) -> errors.ServiceError:
    kind = _CODES.get(code, errors.ValidationError)
    if kind is errors.ConditionFailedError:
        item = None if answer.item is None else decode_item(answer.item)
        return errors.ConditionFailedError(message, code=code, request_id=request_id, item=item)
    if kind is errors.TransactionCancelledError:
        reasons = tuple(_reason(reason) for reason in answer.reasons or ())
        return errors.TransactionCancelledError(message, code=code, request_id=request_id, reasons=reasons)
    if kind is errors.ValidationError and message.startswith(_TOO_LARGE):
        kind = errors.TooLargeError
    return kind(message, code=code, request_id=request_id)


def _reason(answer: _Reason) -> errors.CancellationReason:
    item = None if answer.item is None else decode_item(answer.item)
    return errors.CancellationReason(answer.code, answer.message or "", item)


_EMPTY = b"{}"


class Units(Struct):
    CapacityUnits: float = 0.0


class Consumed(Struct):
    """Consumed capacity as DynamoDB reports it on request. AWS splits the units of a transaction by kind."""

    CapacityUnits: float = 0.0
    ReadCapacityUnits: float | None = None
    Table: Units | None = None


class WriteReply(Struct, frozen=True):
    attributes: Item | None = None
    consumed: tuple[Consumed, ...] = ()


class GetReply(Struct, frozen=True):
    item: Item | None
    size_bytes: int
    consumed: tuple[Consumed, ...]


class QueryReply[T](Struct, frozen=True):
    items: list[T]
    last_key: Item | None
    scanned: int
    size_bytes: int
    consumed: tuple[Consumed, ...]


class BatchGetReply(Struct, frozen=True):
    """`items` and `unprocessed` keys by physical table."""

    items: dict[str, list[Item]]
    unprocessed: dict[str, list[Raw]]
    consumed: tuple[Consumed, ...]


class BatchWriteReply(Struct, frozen=True):
    unprocessed: list[BatchWrite]
    consumed: tuple[Consumed, ...]


class _Write(Struct):
    attributes: EncodedItem | None = field(name="Attributes", default=None)
    # A list for a transaction.
    consumed: Consumed | list[Consumed] | None = field(name="ConsumedCapacity", default=None)


class _Get(Struct):
    item: EncodedItem | None = field(name="Item", default=None)
    consumed: Consumed | None = field(name="ConsumedCapacity", default=None)


class _Query[T](Struct):
    items: list[T] = field(name="Items", default_factory=list)
    last_key: EncodedItem | None = field(name="LastEvaluatedKey", default=None)
    scanned: int = field(name="ScannedCount", default=0)
    consumed: Consumed | None = field(name="ConsumedCapacity", default=None)


class _Keys(Struct):
    keys: list[Raw] = field(name="Keys", default_factory=list)


class _BatchGet(Struct):
    responses: dict[str, list[EncodedItem]] = field(name="Responses", default_factory=dict)
    unprocessed: dict[str, _Keys] = field(name="UnprocessedKeys", default_factory=dict)
    consumed: list[Consumed] = field(name="ConsumedCapacity", default_factory=list)


class _BatchWrite(Struct):
    unprocessed: dict[str, list[BatchWrite]] = field(name="UnprocessedItems", default_factory=dict)
    consumed: list[Consumed] = field(name="ConsumedCapacity", default_factory=list)


_NOTHING = WriteReply()
_decode_write = msgspec.json.Decoder(_Write).decode
_decode_get = msgspec.json.Decoder(_Get).decode
_decode_query = msgspec.json.Decoder(_Query[EncodedItem]).decode
_decode_batch_get = msgspec.json.Decoder(_BatchGet).decode
_decode_batch_write = msgspec.json.Decoder(_BatchWrite).decode


def read_write(body: bytes) -> WriteReply:
    if body == _EMPTY:
        return _NOTHING
    answer = _decode_write(body)
    return WriteReply(_item(answer.attributes), _as_tuple(answer.consumed))


def read_get(body: bytes) -> GetReply:
    answer = _decode_get(body)
    return GetReply(_item(answer.item), len(body), _as_tuple(answer.consumed))


def read_query(body: bytes) -> QueryReply[Item]:
    answer = _decode_query(body)
    return _page(answer, [decode_item(item) for item in answer.items], len(body))


def query_reader[T](kind: type[T]) -> Callable[[bytes], QueryReply[T]]:
    """Return a function that decodes items as `kind`. Numbers, which are strings in JSON, may be `int` fields."""
    decode_query = msgspec.json.Decoder(_Query[kind], strict=False).decode  # type: ignore[valid-type]  # a type at runtime

    def read(body: bytes) -> QueryReply[T]:
        answer: _Query[T] = decode_query(body)
        return _page(answer, answer.items, len(body))

    return read


def _page[T](answer: _Query[Any], items: list[T], size_bytes: int) -> QueryReply[T]:
    return QueryReply(items, _item(answer.last_key), answer.scanned, size_bytes, _as_tuple(answer.consumed))


def read_batch_get(body: bytes) -> BatchGetReply:
    answer = _decode_batch_get(body)
    items = {table: [decode_item(item) for item in found] for table, found in answer.responses.items()}
    unprocessed = {table: keys.keys for table, keys in answer.unprocessed.items() if keys.keys}
    return BatchGetReply(items, unprocessed, tuple(answer.consumed))


def read_batch_write(body: bytes) -> BatchWriteReply:
    answer = _decode_batch_write(body)
    unprocessed = [write for writes in answer.unprocessed.values() for write in writes]
    return BatchWriteReply(unprocessed, tuple(answer.consumed))


def _item(tagged: EncodedItem | None) -> Item | None:
    return None if tagged is None else decode_item(tagged)


def _as_tuple(consumed: Consumed | list[Consumed] | None) -> tuple[Consumed, ...]:
    if consumed is None:
        return ()
    return (consumed,) if isinstance(consumed, Consumed) else tuple(consumed)
