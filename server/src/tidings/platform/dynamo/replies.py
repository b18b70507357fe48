"""The bodies of answers that say yes, read into plain Python. Each `read_…` raises one of `answers.UNREADABLE`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from tidings.platform.dynamo.bodies import BatchWrite
from tidings.platform.dynamo.codec import decode_item
from tidings.platform.dynamo.tagged import EncodedItem
from tidings.platform.dynamo.values import Item

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
