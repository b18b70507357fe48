"""How a call to DynamoDB is named: the access pattern that a caller must bring.

The name is what the ledger counts by and what the docs list; `tables/patterns.py` holds them all.
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
    """The data-plane calls that exist here. Scan is not one of them."""

    GET_ITEM = "GetItem"
    QUERY = "Query"
    BATCH_GET_ITEM = "BatchGetItem"
    TRANSACT_GET_ITEMS = "TransactGetItems"
    PUT_ITEM = "PutItem"
    UPDATE_ITEM = "UpdateItem"
    DELETE_ITEM = "DeleteItem"
    BATCH_WRITE_ITEM = "BatchWriteItem"
    TRANSACT_WRITE_ITEMS = "TransactWriteItems"


class Consistency(StrEnum):
    """What a read may miss. A write is always consistent with itself, so it has none to choose."""

    STRONG = "strong"
    EVENTUAL = "eventual"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One way in which one use case touches one table, or (in a transaction) several."""

    name: str
    tables: tuple[str, ...]
    operation: Operation
    consistency: Consistency
    purpose: str
    index: str | None = None


TARGET = "DynamoDB_20120810."


@dataclass(frozen=True, slots=True)
class OperationSpec[T]:
    target: str
    read: Callable[[bytes], T]
    is_write: bool = False


GET = OperationSpec(TARGET + Operation.GET_ITEM, responses.read_get)
QUERY = OperationSpec(TARGET + Operation.QUERY, responses.read_query)
BATCH_GET = OperationSpec(TARGET + Operation.BATCH_GET_ITEM, responses.read_batch_get)
TRANSACT_GET = OperationSpec(TARGET + Operation.TRANSACT_GET_ITEMS, responses.read_transact_get)
PUT = OperationSpec(TARGET + Operation.PUT_ITEM, responses.read_write, is_write=True)
UPDATE = OperationSpec(TARGET + Operation.UPDATE_ITEM, responses.read_write, is_write=True)
DELETE = OperationSpec(TARGET + Operation.DELETE_ITEM, responses.read_write, is_write=True)
BATCH_WRITE = OperationSpec(TARGET + Operation.BATCH_WRITE_ITEM, responses.read_batch_write, is_write=True)
TRANSACT_WRITE = OperationSpec(TARGET + Operation.TRANSACT_WRITE_ITEMS, responses.read_write, is_write=True)
DESCRIBE_TABLE = OperationSpec(TARGET + "DescribeTable", msgspec.json.decode)
DESCRIBE_TTL = OperationSpec(TARGET + "DescribeTimeToLive", msgspec.json.decode)


__all__ = ["PLAIN", "BinaryValue", "BoolValue", "IntegerAttribute", "ItemType", "StringValue", "item_type"]


class IntegerAttribute(Struct, gc=False):
    """A whole number. It stands in JSON as a text, and comes as what it is."""

    N: int


@dataclass(frozen=True, slots=True)
class ItemType[T]:
    """`of`: an item that is at hand, for those who have it without its bytes."""

    verb: OperationSpec[QueryReply[T]]
    of: Callable[[Item], T]


PLAIN: Final[ItemType[Item]] = ItemType(QUERY, lambda item: item)


def item_type[T: Struct](kind: type[T]) -> ItemType[T]:
    # not strict: of all that this allows there is one thing in DynamoDB's JSON, a text that is a number
    read_one = msgspec.json.Decoder(kind, strict=False).decode
    return ItemType(
        OperationSpec(QUERY.target, responses.query_reader(kind)),
        lambda item: read_one(encode_item(item)),
    )
