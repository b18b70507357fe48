"""A proxy before each engine, a client that goes through it, and a table of the test's own."""

import secrets
from collections.abc import Iterator

import pytest
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, dynamodb
from faults.interim_engines import Dynamo, dynamo, dynamo_dynoxide, dynamo_local, valkey
from faults.proxy import DynamoProxy
from faults.scripted_engine import ScriptedEngine

__all__ = ["dynamo", "dynamo_dynoxide", "dynamo_local", "valkey"]


@pytest.fixture
def table(dynamo: Dynamo) -> Table:
    table = Table(f"faults-test-{secrets.token_hex(4)}", dynamodb(dynamo.url))
    table.create()
    return table


@pytest.fixture
def proxy(dynamo: Dynamo) -> Iterator[DynamoProxy]:
    with DynamoProxy(dynamo.url) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: DynamoProxy) -> DynamoDBClient:
    """Goes through the proxy and tries once."""
    return dynamodb(proxy.url)


@pytest.fixture
def scripted() -> Iterator[ScriptedEngine]:
    with ScriptedEngine() as engine:
        yield engine
