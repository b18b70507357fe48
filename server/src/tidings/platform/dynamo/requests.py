"""Check calls against their access pattern, and build the bodies of queries and transactions.

A pattern is checked once. It prevents a missing ConsistentRead, a write with a pattern for reads, and the use of a table
that is not declared.
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

_OF_SEVERAL_TABLES = {Operation.TRANSACT_WRITE_ITEMS, Operation.BATCH_GET_ITEM}
_READS = {Operation.GET_ITEM, Operation.QUERY, Operation.BATCH_GET_ITEM}


class PatternError(TypeError):
    """A call that its access pattern does not allow. A bug in the caller."""


@dataclass(frozen=True, slots=True)
class CheckedPattern:
    """An access pattern after its check. `table`: its physical table; `tables`: logical to physical names."""

    pattern: AccessPattern
    table: str
    tables: dict[str, str]
    is_strong: bool
    row: PatternCounters
    eventual: frozenset[str] = frozenset()
    """The physical tables that a strong batch reads eventually consistent."""

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
            raise PatternError(f"Two access patterns have the name {pattern.name}.")
        fault = _fault(pattern)
        if fault:
            raise PatternError(f"{pattern.name}: {fault}")
        tables = {logical: self._prefix + logical for logical in pattern.tables}
        plan = CheckedPattern(
            pattern=pattern,
            table=tables[pattern.tables[0]],
            tables=tables,
            is_strong=pattern.consistency is Consistency.STRONG,
            row=self._ledger.open(pattern.name, pattern.operation, "+".join(pattern.tables)),
            eventual=frozenset(tables[logical] for logical in pattern.eventual_tables),
        )
        self._known[pattern.name] = plan
        return plan


def _fault(pattern: AccessPattern) -> str | None:
    operation = pattern.operation
    if not pattern.tables or (len(pattern.tables) > 1 and operation not in _OF_SEVERAL_TABLES):
        return f"{operation} is for one table"
    if (operation in _READS) == (pattern.consistency is Consistency.WRITE):
        return f"{operation} is not {pattern.consistency}"
    if pattern.index and operation is not Operation.QUERY:
        return "only a Query reads an index"
    if pattern.index and pattern.consistency is Consistency.STRONG:
        return "an index has no strong reads"
    return None


class Query(Struct, frozen=True, kw_only=True):
    """`limit`: maximum number of items that a page reads, before the filter. `start`: where an earlier page ended."""

    condition: str
    values: Attributes
    names: Names | None = None
    filter: str | None = None
    projection: str | None = None
    limit: int | None = None
    backward: bool = False
    start: Attributes | None = None


class QueryPage[T](Struct, frozen=True):
    """`start`: where the next page starts; None for the last page. `scanned` includes items that the filter removed."""

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


# A transaction prepares and commits, so each action is charged twice.
TRANSACTION_FACTOR = 2


class TransactAction(Struct, frozen=True, kw_only=True):
    """An action of a transaction. If its condition fails, the cancellation reason contains the stored item."""

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
    """Change nothing, but fail the transaction if the condition fails. Costs as much as a write."""

    key: Attributes


@dataclass(frozen=True, slots=True)
class Writes:
    """The body of a transaction and the write units of its items, each rounded separately."""

    body: bytes
    units_each: tuple[int, ...]
    is_exact: bool

    @property
    def units(self) -> int:
        return sum(self.units_each)


def transact_write_body(
    plan: CheckedPattern,
    actions: Sequence[TransactAction],
    token: str | None,
    capacity: request_bodies.Capacity | None,
) -> Writes:
    parts = []
    units_each = []
    is_exact = True
    for action in actions:
        part, cost = _part(plan.table_of(action.table), action)
        parts.append(part)
        units_each.append(cost)
        is_exact = is_exact and isinstance(action, Put) and needs_absence(action.condition)
    body = request_bodies.TransactWriteBody(
        TransactItems=parts, ClientRequestToken=token, ReturnConsumedCapacity=capacity
    )
    return Writes(request_bodies.write(body), tuple(units_each), is_exact)


def key_of(action: TransactAction) -> Attributes:
    """Return attributes that begin with the key of the item."""
    if isinstance(action, Put):
        return action.item
    if not isinstance(action, Update | Delete | Check):
        raise TypeError(f"{action!r} is not an action of a transaction.")
    return action.key


def needs_absence(condition: str | None) -> bool:
    """Return whether the condition requires that no item exists, so that no larger item was replaced."""
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
    key = key_of(action)
    encoded = encode_item(key)
    body.Key = Raw(encoded)
    return _with_key(body, action), estimate_write_units(encoded, key, values or b"", action.values or {})


def _with_key(body: request_bodies.WriteBody, action: TransactAction) -> request_bodies.TransactItem:
    if isinstance(action, Update):
        body.UpdateExpression = action.update
        return request_bodies.TransactItem(Update=body)
    return (
        request_bodies.TransactItem(Delete=body)
        if isinstance(action, Delete)
        else request_bodies.TransactItem(ConditionCheck=body)
    )


@dataclass(frozen=True, slots=True)
class TransactionPart:
    """`pattern` names the whole transaction, the entry and its idempotency row included."""

    pattern: AccessPattern
    actions: tuple[TransactAction, ...]
