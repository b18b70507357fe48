"""botocore clients that try once, and a table read directly from the engine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from types_boto3_dynamodb import DynamoDBClient
from types_boto3_dynamodb.type_defs import WriteRequestTypeDef
from types_boto3_dynamodbstreams import DynamoDBStreamsClient

from tidings.schema.tables.declaration import TABLES

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

_SESSION = boto3.Session("local", "local", region_name="us-east-1")


ONE_TRY: dict[str, Any] = {
    "retries": {"total_max_attempts": 1},
    "connect_timeout": 5,
    "read_timeout": 5,
}


def dynamodb(url: str, **config: Any) -> DynamoDBClient:
    return _SESSION.client("dynamodb", endpoint_url=url, config=Config(**(ONE_TRY | config)))


def streams(url: str) -> DynamoDBStreamsClient:
    return _SESSION.client("dynamodbstreams", endpoint_url=url, config=Config(**ONE_TRY))


@dataclass(frozen=True)
class Table:
    """A table of a test. `engine` connects directly, without the proxy."""

    name: str
    engine: DynamoDBClient

    def create(self) -> None:
        self.engine.create_table(
            TableName=self.name,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )

    def keys(self) -> set[str]:
        page = self.engine.scan(TableName=self.name, ConsistentRead=True)
        return {item["pk"]["S"] for item in page["Items"]}

    def value(self, pk: str) -> str | None:
        found = self.engine.get_item(TableName=self.name, Key={"pk": {"S": pk}}, ConsistentRead=True)
        return found["Item"]["value"]["S"] if "Item" in found else None


def put(client: DynamoDBClient, table: Table, pk: str, value: str = "") -> None:
    client.put_item(TableName=table.name, Item={"pk": {"S": pk}, "value": {"S": value}})


def put_all(client: DynamoDBClient, table: Table, *pks: str) -> None:
    """Put all items in one transaction."""
    entries: list[TransactWriteItemTypeDef] = [
        {"Put": {"TableName": table.name, "Item": {"pk": {"S": pk}}}} for pk in pks
    ]
    client.transact_write_items(TransactItems=entries)


def writes(*pks: str) -> list[WriteRequestTypeDef]:
    return [{"PutRequest": {"Item": {"pk": {"S": pk}}}} for pk in pks]


def items_with(url: str, prefix: str, text: str) -> dict[str, list[dict[str, Any]]]:
    """Return all items whose keys, attribute names or values contain the text, by table."""
    raw, found = dynamodb(url), dict[str, list[dict[str, Any]]]()
    for table in TABLES:
        pages = raw.get_paginator("scan").paginate(TableName=prefix + table.name)
        items = [dict(item) for page in pages for item in page["Items"] if text in repr(item)]
        if items:
            found[table.name] = items
    return found
