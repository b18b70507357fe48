"""Two equal tables on each engine: one for our client, one for boto3."""

from collections.abc import Iterator
from dataclasses import dataclass

import boto3
import pytest
from botocore.config import Config
from contract.dynamo.patterns import INDEX, TABLE
from fixtures.engines import Dynamo, Namespace
from types_boto3_dynamodb import DynamoDBClient

REGION = "us-east-1"


@dataclass(frozen=True)
class ScratchTable:
    """The tables of a test: `ours` and `theirs` are prefixes."""

    engine: Dynamo
    boto3: DynamoDBClient
    ours: str
    theirs: str

    @property
    def our_table(self) -> str:
        return self.ours + TABLE

    @property
    def their_table(self) -> str:
        return self.theirs + TABLE


def boto3_client(url: str) -> DynamoDBClient:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"max_attempts": 0}),
    )


def create_table(client: DynamoDBClient, name: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "colour", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": INDEX,
                "KeySchema": [
                    {"AttributeName": "colour", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )


@pytest.fixture
def place(dynamo: Dynamo, space: Namespace) -> Iterator[ScratchTable]:
    client = boto3_client(dynamo.url)
    place = ScratchTable(dynamo, client, f"{space.table_prefix}ours-", f"{space.table_prefix}boto-")
    for table in (place.our_table, place.their_table):
        create_table(client, table)
    yield place
    for table in (place.our_table, place.their_table):
        client.delete_table(TableName=table)
    client.close()
