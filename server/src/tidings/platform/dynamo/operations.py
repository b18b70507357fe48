"""Access patterns, which name every call to DynamoDB, and the specifications of the calls.

The ledger counts by access pattern, and the docs list them. `schema/tables/patterns` declares them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from tidings.platform.dynamo import responses
from tidings.platform.dynamo.codec import BinaryValue, BoolValue, Item, StringValue, encode_item
from tidings.platform.dynamo.responses import QueryReply


class Operation(StrEnum):
    """The data-plane calls of the client. There is no Scan."""

    GET_ITEM = "GetItem"
    QUERY = "Query"
    BATCH_GET_ITEM = "BatchGetItem"
    PUT_ITEM = "PutItem"
    UPDATE_ITEM = "UpdateItem"
    DELETE_ITEM = "DeleteItem"
    BATCH_WRITE_ITEM = "BatchWriteItem"
    TRANSACT_WRITE_ITEMS = "TransactWriteItems"


class Consistency(StrEnum):
    """The consistency of a read, or `WRITE` for a write."""

    STRONG = "strong"
    EVENTUAL = "eventual"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One way in which a use case reads or writes a table, or several in a transaction or a batch of reads.

    `eventual_tables`: tables that a strong batch reads eventually consistent, for half the price.
    """

    name: str
    tables: tuple[str, ...]
    operation: Operation
    consistency: Consistency
    purpose: str
    index: str | None = None
    eventual_tables: tuple[str, ...] = ()


TARGET = "DynamoDB_20120810."


@dataclass(frozen=True, slots=True)
class OperationSpec[T]:
    target: str
    read: Callable[[bytes], T]
    is_write: bool = False


GET = OperationSpec(TARGET + Operation.GET_ITEM, responses.read_get)
QUERY = OperationSpec(TARGET + Operation.QUERY, responses.read_query)
BATCH_GET = OperationSpec(TARGET + Operation.BATCH_GET_ITEM, responses.read_batch_get)
PUT = OperationSpec(TARGET + Operation.PUT_ITEM, responses.read_write, is_write=True)
UPDATE = OperationSpec(TARGET + Operation.UPDATE_ITEM, responses.read_write, is_write=True)
DELETE = OperationSpec(TARGET + Operation.DELETE_ITEM, responses.read_write, is_write=True)
BATCH_WRITE = OperationSpec(TARGET + Operation.BATCH_WRITE_ITEM, responses.read_batch_write, is_write=True)
TRANSACT_WRITE = OperationSpec(TARGET + Operation.TRANSACT_WRITE_ITEMS, responses.read_write, is_write=True)
DESCRIBE_TABLE = OperationSpec(TARGET + "DescribeTable", msgspec.json.decode)
DESCRIBE_TTL = OperationSpec(TARGET + "DescribeTimeToLive", msgspec.json.decode)


__all__ = ["PLAIN", "BinaryValue", "BoolValue", "IntegerAttribute", "ItemType", "StringValue", "item_type"]


class IntegerAttribute(Struct, gc=False):
    """A whole number, which is a string in DynamoDB's JSON."""

    N: int


@dataclass(frozen=True, slots=True)
class ItemType[T]:
    """The type of decoded items. `of` converts an item that was already decoded to plain Python."""

    verb: OperationSpec[QueryReply[T]]
    of: Callable[[Item], T]


PLAIN: Final[ItemType[Item]] = ItemType(QUERY, lambda item: item)


def item_type[T: Struct](kind: type[T]) -> ItemType[T]:
    # Not strict, so that a number in a string can be decoded. DynamoDB's JSON has no other loose values.
    read_one = msgspec.json.Decoder(kind, strict=False).decode
    return ItemType(
        OperationSpec(QUERY.target, responses.query_reader(kind)),
        lambda item: read_one(encode_item(item)),
    )
