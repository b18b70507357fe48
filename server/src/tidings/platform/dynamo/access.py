"""How a call to DynamoDB is named: the access pattern that a caller must bring.

The name is what the ledger counts by and what the docs list; `tables/patterns.py` holds them all.
"""

from dataclasses import dataclass
from enum import StrEnum


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
