"""Holds a call against the access pattern it was given, once for each pattern, and keeps what follows from it.

So a caller cannot forget ConsistentRead, write with a pattern that reads, or touch a table it did not declare.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw, Struct

from tidings.platform.dynamo import request_bodies
from tidings.platform.dynamo.capacity import CapacityLedger, PatternCounters
from tidings.platform.dynamo.codec import Attributes, Item, encode_item
from tidings.platform.dynamo.item_size import estimate_write_units, put_units
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.request_bodies import Capacity, Names

_READS = {Operation.GET_ITEM, Operation.QUERY, Operation.BATCH_GET_ITEM, Operation.TRANSACT_GET_ITEMS}
_TRANSACTIONS = {Operation.TRANSACT_GET_ITEMS, Operation.TRANSACT_WRITE_ITEMS}


class PatternError(TypeError):
    """A call that its access pattern does not allow: a mistake in the program."""


@dataclass(frozen=True, slots=True)
class CheckedPattern:
    """`table` is the physical name of the pattern's table; `tables` leads from logical to physical names."""

    pattern: AccessPattern
    table: str
    tables: dict[str, str]
    is_strong: bool
    row: PatternCounters

    def table_of(self, logical: str) -> str:
        physical = self.tables.get(logical)
        if physical is None:
            raise PatternError(
                f"{self.pattern.name} is for {', '.join(self.pattern.tables)}, not for {logical}"
            )
        return physical


class PatternChecker:
    def __init__(self, prefix: str, ledger: CapacityLedger) -> None:
        self._prefix = prefix
        self._ledger = ledger
        self._known: dict[str, CheckedPattern] = {}

    def of(self, pattern: AccessPattern, operation: Operation) -> CheckedPattern:
        plan = self._known.get(pattern.name)
        if plan is None or plan.pattern is not pattern:
            plan = self._learn(pattern)
        if pattern.operation is not operation:
            raise PatternError(f"{pattern.name} is for {pattern.operation}, not for {operation}")
        return plan

    def _learn(self, pattern: AccessPattern) -> CheckedPattern:
        known = self._known.get(pattern.name)
        if known is not None and known.pattern != pattern:
            raise PatternError(f"there are two access patterns named {pattern.name}")
        fault = _fault(pattern)
        if fault:
            raise PatternError(f"{pattern.name}: {fault}")
        tables = {logical: self._prefix + logical for logical in pattern.tables}
        plan = CheckedPattern(
            pattern=pattern,
            table=tables[pattern.tables[0]],
            tables=tables,
            is_strong=pattern.consistency is Consistency.STRONG,
            row=self._ledger.open(pattern.name, pattern.operation),
        )
        self._known[pattern.name] = plan
        return plan


def _fault(pattern: AccessPattern) -> str | None:
    operation = pattern.operation
    if not pattern.tables or (len(pattern.tables) > 1 and operation not in _TRANSACTIONS):
        return f"{operation} is for one table"
    if (operation in _READS) == (pattern.consistency is Consistency.WRITE):
        return f"{operation} is not {pattern.consistency}"
    if operation is Operation.TRANSACT_GET_ITEMS and pattern.consistency is not Consistency.STRONG:
        return f"{operation} is always strong"
    if pattern.index and operation is not Operation.QUERY:
        return "only a Query reads an index"
    if pattern.index and pattern.consistency is Consistency.STRONG:
        return "an index has no strong reads"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`limit` bounds what a page reads, before the filter. `start` is where an earlier page ended."""

    condition: str
    values: Attributes
    names: Names | None = None
    filter: str | None = None
    projection: str | None = None
    limit: int | None = None
    backward: bool = False
    start: Attributes | None = None


@dataclass(frozen=True, slots=True)
class QueryPage[T]:
    """`start` goes into the next Query; None: this was the last page. `scanned` counts what a filter left out, too."""

    items: list[T]
    start: Item | None
    scanned: int


def query_body(plan: CheckedPattern, query: Query, capacity: Capacity | None) -> bytes:
    return request_bodies.write(
        request_bodies.QueryBody(
            TableName=plan.table,
            IndexName=plan.pattern.index,
            KeyConditionExpression=query.condition,
            ConsistentRead=plan.is_strong,
            ExpressionAttributeNames=query.names,
            ExpressionAttributeValues=Raw(encode_item(query.values)),
            FilterExpression=query.filter,
            ProjectionExpression=query.projection,
            ScanIndexForward=not query.backward,
            Limit=query.limit,
            ExclusiveStartKey=None if query.start is None else Raw(encode_item(query.start)),
            ReturnConsumedCapacity=capacity,
        )
    )


# A transaction prepares and then commits: each action is paid twice.
TRANSACTION_FACTOR = 2


class TransactAction(Struct, frozen=True, kw_only=True):
    """One of the four below. If the condition fails, the reason carries the item that is there."""

    table: str
    condition: str | None = None
    names: Names | None = None
    values: Attributes | None = None


class Put(TransactAction, frozen=True, kw_only=True):
    item: Attributes


class Update(TransactAction, frozen=True, kw_only=True):
    key: Attributes
    update: str


class Delete(TransactAction, frozen=True, kw_only=True):
    key: Attributes


class Check(TransactAction, frozen=True, kw_only=True):
    """Changes nothing; the transaction fails if the condition does. Costs as much as a write."""

    key: Attributes


class TransactGet(Struct, frozen=True, kw_only=True):
    table: str
    key: Attributes
    projection: str | None = None
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class Writes:
    """A transaction ready to go, and the write units of its items, each rounded for itself."""

    body: bytes
    units: int
    is_exact: bool


def transact_write_body(
    plan: CheckedPattern,
    actions: Sequence[TransactAction],
    token: str | None,
    capacity: request_bodies.Capacity | None,
) -> Writes:
    parts = []
    units = 0
    is_exact = True
    for action in actions:
        part, cost = _part(plan.table_of(action.table), action)
        parts.append(part)
        units += cost
        is_exact = is_exact and isinstance(action, Put) and needs_absence(action.condition)
    body = request_bodies.TransactWriteBody(
        TransactItems=parts, ClientRequestToken=token, ReturnConsumedCapacity=capacity
    )
    return Writes(request_bodies.write(body), units, is_exact)


def needs_absence(condition: str | None) -> bool:
    """True if the condition only holds where there is no item, so that nothing larger can have been replaced."""
    return condition is not None and condition.startswith("attribute_not_exists(") and " " not in condition


def _part(table: str, action: TransactAction) -> tuple[request_bodies.TransactItem, int]:
    values = None if action.values is None else encode_item(action.values)
    body = request_bodies.WriteBody(
        TableName=table,
        ConditionExpression=action.condition,
        ExpressionAttributeNames=action.names,
        ExpressionAttributeValues=None if values is None else Raw(values),
        ReturnValuesOnConditionCheckFailure=None if action.condition is None else "ALL_OLD",
    )
    if isinstance(action, Put):
        encoded = encode_item(action.item)
        body.Item = Raw(encoded)
        return request_bodies.TransactItem(Put=body), put_units(encoded, action.item)
    if not isinstance(action, Update | Delete | Check):
        raise TypeError(f"not an action of a transaction: {action!r}")
    encoded = encode_item(action.key)
    body.Key = Raw(encoded)
    return _with_key(body, action), estimate_write_units(
        encoded, action.key, values or b"", action.values or {}
    )


def _with_key(body: request_bodies.WriteBody, action: Update | Delete | Check) -> request_bodies.TransactItem:
    if isinstance(action, Update):
        body.UpdateExpression = action.update
        return request_bodies.TransactItem(Update=body)
    return (
        request_bodies.TransactItem(Delete=body)
        if isinstance(action, Delete)
        else request_bodies.TransactItem(ConditionCheck=body)
    )


def transact_get_body(
    plan: CheckedPattern, gets: Sequence[TransactGet], capacity: request_bodies.Capacity | None
) -> bytes:
    items = [
        request_bodies.TransactGetItem(
            request_bodies.GetBody(
                TableName=plan.table_of(get.table),
                Key=Raw(encode_item(get.key)),
                ProjectionExpression=get.projection,
                ExpressionAttributeNames=get.names,
            )
        )
        for get in gets
    ]
    return request_bodies.write(
        request_bodies.TransactGetBody(TransactItems=items, ReturnConsumedCapacity=capacity)
    )


@dataclass(frozen=True, slots=True)
class TransactionPart:
    """`pattern` names the whole transaction, the entry and its idempotency row included."""

    pattern: AccessPattern
    actions: tuple[TransactAction, ...]
