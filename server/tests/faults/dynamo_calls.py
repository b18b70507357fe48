"""Access patterns, short limits and event loops for the tests of DynamoDB faults."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.transport import CallLimits, RetryLimits, Transport

REGION = "us-east-1"
TABLE = "things"
ABSENT = "attribute_not_exists(pk)"
ITEM: dict[str, Any] = {"pk": "a", "sk": 1, "owner": "me"}
KEY: dict[str, Any] = {"pk": "a", "sk": 1}
TAGGED = {"pk": {"S": "a"}, "sk": {"N": "1"}, "owner": {"S": "me"}}

LOOPS: dict[str, Callable[[Coroutine[Any, Any, None]], None]] = {
    "asyncio": asyncio.run,
    "uvloop": uvloop.run,
}

# Short waits between tries keep the tests fast; the timeouts are long enough for a busy machine.
QUICK = CallLimits(
    call_timeout_s=20.0,
    try_timeout_s=10.0,
    retries=RetryLimits(max_tries=4, first_wait_s=0.001, max_wait_s=0.002),
)


def pattern(operation: Operation, consistency: Consistency = Consistency.WRITE) -> AccessPattern:
    return AccessPattern(f"{operation}.{consistency}", (TABLE,), operation, consistency, "for tests")


GET = pattern(Operation.GET_ITEM, Consistency.STRONG)
GET_EVENTUAL = pattern(Operation.GET_ITEM, Consistency.EVENTUAL)
QUERY = pattern(Operation.QUERY, Consistency.STRONG)
QUERY_EVENTUAL = pattern(Operation.QUERY, Consistency.EVENTUAL)
BATCH_GET = pattern(Operation.BATCH_GET_ITEM, Consistency.STRONG)
BATCH_GET_EVENTUAL = pattern(Operation.BATCH_GET_ITEM, Consistency.EVENTUAL)
PUT = pattern(Operation.PUT_ITEM)
UPDATE = pattern(Operation.UPDATE_ITEM)
DELETE = pattern(Operation.DELETE_ITEM)
BATCH_WRITE = pattern(Operation.BATCH_WRITE_ITEM)
TRANSACT_WRITE = pattern(Operation.TRANSACT_WRITE_ITEMS)


@asynccontextmanager
async def quick_client(url: str, limits: CallLimits = QUICK) -> AsyncIterator[DynamoClient]:
    async with open_client(url, REGION, "test-", limits=limits) as client:
        yield client


def channel_of(client: DynamoClient) -> Transport:
    return client._channel


def run(loop: str, test: Coroutine[Any, Any, None]) -> None:
    LOOPS[loop](test)
