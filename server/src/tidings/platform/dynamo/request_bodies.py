"""Request bodies with DynamoDB's field names. Fields that are None are not sent.

Items, keys and values are already JSON (`codec.encode_item`).
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Raw, Struct

write = msgspec.json.Encoder().encode

type Names = Mapping[str, str]
type Returns = Literal["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"]
type Capacity = Literal["INDEXES", "TOTAL"]


class WriteBody(Struct, kw_only=True, omit_defaults=True):
    """A put has `Item`, an update `UpdateExpression`; all writes except a put have `Key`."""

    TableName: str
    Item: Raw | None = None
    Key: Raw | None = None
    UpdateExpression: str | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: Names | None = None
    ExpressionAttributeValues: Raw | None = None
    ReturnValuesOnConditionCheckFailure: Literal["ALL_OLD"] | None = None
    ReturnValues: Returns | None = None
    ReturnConsumedCapacity: Capacity | None = None


class TableBody(Struct, kw_only=True):
    TableName: str


class GetBody(Struct, kw_only=True, omit_defaults=True):
    TableName: str
    Key: Raw
    ConsistentRead: bool = False
    ProjectionExpression: str | None = None
    ExpressionAttributeNames: Names | None = None
    ReturnConsumedCapacity: Capacity | None = None


class QueryBody(Struct, kw_only=True, omit_defaults=True):
    TableName: str
    KeyConditionExpression: str
    IndexName: str | None = None
    ConsistentRead: bool = False
    ExpressionAttributeNames: Names | None = None
    ExpressionAttributeValues: Raw | None = None
    FilterExpression: str | None = None
    ProjectionExpression: str | None = None
    ScanIndexForward: bool = True
    Limit: int | None = None
    ExclusiveStartKey: Raw | None = None
    ReturnConsumedCapacity: Capacity | None = None


class BatchKeys(Struct, kw_only=True, omit_defaults=True):
    Keys: list[Raw]
    ConsistentRead: bool = False
    ProjectionExpression: str | None = None
    ExpressionAttributeNames: Names | None = None


class BatchPut(Struct):
    Item: Raw


class BatchDelete(Struct):
    Key: Raw


class BatchWrite(Struct, omit_defaults=True):
    """Exactly one field is set."""

    PutRequest: BatchPut | None = None
    DeleteRequest: BatchDelete | None = None


class BatchBody(Struct, kw_only=True, omit_defaults=True):
    RequestItems: dict[str, BatchKeys] | dict[str, list[BatchWrite]]
    ReturnConsumedCapacity: Capacity | None = None


class TransactItem(Struct, kw_only=True, omit_defaults=True):
    """Exactly one field is set."""

    Put: WriteBody | None = None
    Update: WriteBody | None = None
    Delete: WriteBody | None = None
    ConditionCheck: WriteBody | None = None


class TransactWriteBody(Struct, kw_only=True, omit_defaults=True):
    TransactItems: list[TransactItem]
    ClientRequestToken: str | None = None
    ReturnConsumedCapacity: Capacity | None = None
