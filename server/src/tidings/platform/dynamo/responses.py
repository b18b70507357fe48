"""What a caller gets back from a write."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import InvalidOperation
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from tidings.platform.dynamo import errors
from tidings.platform.dynamo.codec import EncodedItem, Item, UnsupportedValueError, decode_item
from tidings.platform.dynamo.request_bodies import BatchWrite


@dataclass(frozen=True, slots=True)
class WriteResult:
    """`maybe_repeated`: an earlier try of this call went unanswered and may have been applied before this one.

    The `attributes` that the write returned may then be those that it had itself written.
    """

    attributes: Item | None = None
    maybe_repeated: bool = False


PLAINLY_WRITTEN = WriteResult()


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


_EMPTY = b"{}"


class Units(Struct):
    CapacityUnits: float = 0.0


class Consumed(Struct):
    """What DynamoDB says a call took, if it was asked. A transaction's units are split by kind on AWS."""

    CapacityUnits: float = 0.0
    ReadCapacityUnits: float | None = None
    Table: Units | None = None


@dataclass(frozen=True, slots=True)
class WriteReply:
    attributes: Item | None = None
    consumed: tuple[Consumed, ...] = ()


@dataclass(frozen=True, slots=True)
class GetReply:
    item: Item | None
    size_bytes: int
    consumed: tuple[Consumed, ...]


@dataclass(frozen=True, slots=True)
class QueryReply[T]:
    items: list[T]
    last_key: Item | None
    scanned: int
    size_bytes: int
    consumed: tuple[Consumed, ...]


@dataclass(frozen=True, slots=True)
class BatchGetReply:
    items: list[Item]
    unprocessed: list[Raw]
    consumed: tuple[Consumed, ...]


@dataclass(frozen=True, slots=True)
class BatchWriteReply:
    unprocessed: list[BatchWrite]
    consumed: tuple[Consumed, ...]


@dataclass(frozen=True, slots=True)
class TransactGetReply:
    items: list[Item | None]
    consumed: tuple[Consumed, ...]


class _Write(Struct):
    attributes: EncodedItem | None = field(name="Attributes", default=None)
    # one for a single write, a list for a transaction
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


class _TransactGet(Struct):
    responses: list[_Get] = field(name="Responses", default_factory=list)
    consumed: list[Consumed] = field(name="ConsumedCapacity", default_factory=list)


_NOTHING = WriteReply()
_decode_write = msgspec.json.Decoder(_Write).decode
_decode_get = msgspec.json.Decoder(_Get).decode
_decode_query = msgspec.json.Decoder(_Query[EncodedItem]).decode
_decode_batch_get = msgspec.json.Decoder(_BatchGet).decode
_decode_batch_write = msgspec.json.Decoder(_BatchWrite).decode
_decode_transact_get = msgspec.json.Decoder(_TransactGet).decode


def read_write(body: bytes) -> WriteReply:
    if body == _EMPTY:
        return _NOTHING
    told = _decode_write(body)
    return WriteReply(_item(told.attributes), _together(told.consumed))


def read_get(body: bytes) -> GetReply:
    told = _decode_get(body)
    return GetReply(_item(told.item), len(body), _together(told.consumed))


def read_query(body: bytes) -> QueryReply[Item]:
    told = _decode_query(body)
    return _page(told, [decode_item(item) for item in told.items], len(body))


def query_reader[T](kind: type[T]) -> Callable[[bytes], QueryReply[T]]:
    """The same, with items of this kind. Whole numbers, which stand in JSON as texts, may be read as `int`."""
    decode_query = msgspec.json.Decoder(_Query[kind], strict=False).decode  # type: ignore[valid-type]  # known when it runs

    def read(body: bytes) -> QueryReply[T]:
        told: _Query[T] = decode_query(body)
        return _page(told, told.items, len(body))

    return read


def _page[T](told: _Query[Any], items: list[T], size_bytes: int) -> QueryReply[T]:
    return QueryReply(items, _item(told.last_key), told.scanned, size_bytes, _together(told.consumed))


def read_batch_get(body: bytes) -> BatchGetReply:
    told = _decode_batch_get(body)
    items = [decode_item(item) for found in told.responses.values() for item in found]
    unprocessed = [key for keys in told.unprocessed.values() for key in keys.keys]
    return BatchGetReply(items, unprocessed, tuple(told.consumed))


def read_batch_write(body: bytes) -> BatchWriteReply:
    told = _decode_batch_write(body)
    unprocessed = [write for writes in told.unprocessed.values() for write in writes]
    return BatchWriteReply(unprocessed, tuple(told.consumed))


def read_transact_get(body: bytes) -> TransactGetReply:
    told = _decode_transact_get(body)
    return TransactGetReply([_item(one.item) for one in told.responses], tuple(told.consumed))


def _item(tagged: EncodedItem | None) -> Item | None:
    return None if tagged is None else decode_item(tagged)


def _together(consumed: Consumed | list[Consumed] | None) -> tuple[Consumed, ...]:
    if consumed is None:
        return ()
    return (consumed,) if isinstance(consumed, Consumed) else tuple(consumed)
