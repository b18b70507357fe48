"""Fixtures: a proxy in front of DynamoDB, a client that connects through it, and a table for each test."""

from collections.abc import Iterator

import pytest
from fixtures.engines import Dynamo, Namespace
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, dynamodb
from faults.proxy import DynamoProxy
from faults.scripted_engine import ScriptedEngine


@pytest.fixture
def table(dynamo: Dynamo, space: Namespace) -> Table:
    table = Table(f"{space.table_prefix}faults", dynamodb(dynamo.url))
    table.create()
    return table


@pytest.fixture
def proxy(dynamo: Dynamo) -> Iterator[DynamoProxy]:
    with DynamoProxy(dynamo.url) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: DynamoProxy) -> DynamoDBClient:
    """Return a client that connects through the proxy and tries once."""
    return dynamodb(proxy.url)


@pytest.fixture
def scripted() -> Iterator[ScriptedEngine]:
    with ScriptedEngine() as engine:
        yield engine
