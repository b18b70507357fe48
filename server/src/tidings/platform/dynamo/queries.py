"""A Query as a caller says it, and the page that comes back."""

from dataclasses import dataclass

from msgspec import Raw

from tidings.platform.dynamo import bodies
from tidings.platform.dynamo.bodies import Capacity, Names
from tidings.platform.dynamo.codec import encode_item
from tidings.platform.dynamo.plans import CheckedPattern
from tidings.platform.dynamo.values import Attributes, Item


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
    return bodies.write(
        bodies.QueryBody(
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
