"""The actions of a transaction, as callers say them; each becomes its part of the body and a count of units."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw, Struct

from tidings.platform.dynamo import bodies
from tidings.platform.dynamo.bodies import Names
from tidings.platform.dynamo.codec import encode_item
from tidings.platform.dynamo.plans import CheckedPattern
from tidings.platform.dynamo.values import Attributes
from tidings.platform.dynamo.weigh import estimate_write_units, put_units

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
    capacity: bodies.Capacity | None,
) -> Writes:
    parts = []
    units = 0
    is_exact = True
    for action in actions:
        part, cost = _part(plan.table_of(action.table), action)
        parts.append(part)
        units += cost
        is_exact = is_exact and isinstance(action, Put) and needs_absence(action.condition)
    body = bodies.TransactWriteBody(
        TransactItems=parts, ClientRequestToken=token, ReturnConsumedCapacity=capacity
    )
    return Writes(bodies.write(body), units, is_exact)


def needs_absence(condition: str | None) -> bool:
    """True if the condition only holds where there is no item, so that nothing larger can have been replaced."""
    return condition is not None and condition.startswith("attribute_not_exists(") and " " not in condition


def _part(table: str, action: TransactAction) -> tuple[bodies.TransactItem, int]:
    values = None if action.values is None else encode_item(action.values)
    body = bodies.WriteBody(
        TableName=table,
        ConditionExpression=action.condition,
        ExpressionAttributeNames=action.names,
        ExpressionAttributeValues=None if values is None else Raw(values),
        ReturnValuesOnConditionCheckFailure=None if action.condition is None else "ALL_OLD",
    )
    if isinstance(action, Put):
        encoded = encode_item(action.item)
        body.Item = Raw(encoded)
        return bodies.TransactItem(Put=body), put_units(encoded, action.item)
    if not isinstance(action, Update | Delete | Check):
        raise TypeError(f"not an action of a transaction: {action!r}")
    encoded = encode_item(action.key)
    body.Key = Raw(encoded)
    return _with_key(body, action), estimate_write_units(
        encoded, action.key, values or b"", action.values or {}
    )


def _with_key(body: bodies.WriteBody, action: Update | Delete | Check) -> bodies.TransactItem:
    if isinstance(action, Update):
        body.UpdateExpression = action.update
        return bodies.TransactItem(Update=body)
    return (
        bodies.TransactItem(Delete=body)
        if isinstance(action, Delete)
        else bodies.TransactItem(ConditionCheck=body)
    )


def transact_get_body(
    plan: CheckedPattern, gets: Sequence[TransactGet], capacity: bodies.Capacity | None
) -> bytes:
    items = [
        bodies.TransactGetItem(
            bodies.GetBody(
                TableName=plan.table_of(get.table),
                Key=Raw(encode_item(get.key)),
                ProjectionExpression=get.projection,
                ExpressionAttributeNames=get.names,
            )
        )
        for get in gets
    ]
    return bodies.write(bodies.TransactGetBody(TransactItems=items, ReturnConsumedCapacity=capacity))
