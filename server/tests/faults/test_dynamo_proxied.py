"""The DynamoDB client through the proxy, on both engines: its results are compared with the table."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fixtures.engines import Dynamo, Namespace

from faults.clients import Table
from faults.dynamo_calls import ABSENT, QUICK, REGION, run
from faults.proxy import (
    CloseIdle,
    Conflict,
    DropAnswer,
    DropRequest,
    DynamoProxy,
    Every,
    Garbage,
    HalfAnswer,
    Hold,
    InProgress,
    InternalError,
    Match,
    Part,
    Point,
    SlowBytes,
    Spoilt,
    Throttle,
    Throttled,
    Times,
    Unprocessed,
)
from faults.proxy.fault import Fault
from tidings.platform.dynamo import errors
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.requests import Update
from tidings.platform.dynamo.responses import WriteResult

NAME = "faults"
KEY = {"pk": "a"}
ITEM = {"pk": "a", "value": "mine"}
ADD: dict[str, Any] = {"update": "ADD n :one", "values": {":one": 1}}
IMPATIENT = replace(QUICK, try_timeout_s=0.5)


def pattern(operation: Operation, consistency: Consistency = Consistency.WRITE) -> AccessPattern:
    return AccessPattern(f"proxied {operation}", (NAME,), operation, consistency, "for tests")


GET = pattern(Operation.GET_ITEM, Consistency.STRONG)
BATCH_GET = pattern(Operation.BATCH_GET_ITEM, Consistency.STRONG)
BATCH_WRITE = pattern(Operation.BATCH_WRITE_ITEM)
PUT = pattern(Operation.PUT_ITEM)
UPDATE = pattern(Operation.UPDATE_ITEM)
TRANSACT = pattern(Operation.TRANSACT_WRITE_ITEMS)

UNANSWERED: dict[str, Fault] = {
    "request dropped": DropRequest(),
    "request dropped by a reset": DropRequest(reset=True),
    "answer dropped": DropAnswer(),
    "answer dropped by a reset": DropAnswer(reset=True),
    "headers only": HalfAnswer(Part.HEADERS),
    "half the answer": HalfAnswer(Part.HALF_BODY, reset=True),
    "not HTTP": Garbage(Spoilt.HTTP),
    "not UTF-8": Garbage(Spoilt.UTF8),
    "not JSON": Garbage(Spoilt.JSON),
    "another checksum": Garbage(Spoilt.CRC32),
    "500, applied": InternalError(applied=True),
    "500, not applied": InternalError(applied=False),
    "held before the engine": Hold(Point.REQUEST),
    "held after the engine": Hold(Point.ANSWER),
    "slow bytes": SlowBytes(pause_s=0.1),
}
NOT_NOW: dict[str, Fault] = {
    "throttled": Throttle(),
    "throttled on demand": Throttle(Throttled.ON_DEMAND),
    "conflict": Conflict(),
}


@pytest.fixture
def prefix(space: Namespace) -> str:
    return space.table_prefix


@pytest.fixture
def way(dynamo: Dynamo) -> Iterator[DynamoProxy]:
    with DynamoProxy(dynamo.url) as proxy:
        yield proxy
        # Requests that a fault still held go to the engine now.
        proxy.wait_until(lambda: all(call.is_done for call in proxy.calls))


def count(table: Table) -> int:
    """Count the items directly at the engine."""
    found: Any = table.engine.get_item(TableName=table.name, Key={"pk": {"S": "a"}}, ConsistentRead=True)
    return int(found["Item"]["n"]["N"]) if "Item" in found else 0


@pytest.mark.parametrize("fault", UNANSWERED)
def test_a_write_that_cannot_be_repeated_reaches_the_engine_once_at_most(
    fault: str, way: DynamoProxy, table: Table, prefix: str
) -> None:
    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=QUICK) as client:
            with pytest.raises(errors.OutcomeUnknownError) as caught:
                await client.update(UPDATE, KEY, **ADD, timeout_s=0.7)
            assert caught.value.maybe_applied

    with way.fault(UNANSWERED[fault], dose=Times(1)) as installed:
        run("asyncio", check())
        assert installed.hits == 1
        assert way.counts["UpdateItem"] == 1
    way.wait_until(lambda: way.calls[0].is_done)
    assert count(table) == (way.calls[0].applied is True)


@pytest.mark.parametrize("fault", UNANSWERED)
def test_a_repeatable_put_stores_the_item_and_recognizes_it_as_its_own(
    fault: str, way: DynamoProxy, table: Table, prefix: str
) -> None:
    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=IMPATIENT) as client:
            try:
                written = await client.put(PUT, ITEM, condition=ABSENT, repeatable=True)
            except errors.ConditionFailedError as error:
                outcome: tuple[bool, object] = error.maybe_applied, error.item
            else:
                outcome = written.maybe_repeated, ITEM
            assert outcome == (True, ITEM)

    with way.fault(UNANSWERED[fault], dose=Times(1)):
        run("asyncio", check())
        assert table.value("a") == "mine"
    assert way.counts["PutItem"] == 2


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("fault", UNANSWERED)
def test_a_read_finally_gets_its_answer(fault: str, way: DynamoProxy, prefix: str) -> None:
    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=IMPATIENT) as client:
            await client.put(PUT, ITEM)
            with way.fault(UNANSWERED[fault], dose=Times(1)) as installed:
                assert await client.get(GET, KEY) == ITEM
                assert installed.hits == 1

    run("asyncio", check())


@pytest.mark.parametrize("fault", NOT_NOW)
def test_a_write_that_was_first_rejected_is_applied_once(
    fault: str, way: DynamoProxy, table: Table, prefix: str
) -> None:
    async def check() -> WriteResult:
        async with open_client(way.url, REGION, prefix, limits=QUICK) as client:
            return await client.update(UPDATE, KEY, **ADD)

    with way.fault(NOT_NOW[fault], dose=Times(2)):
        written = asyncio.run(check())
    assert not written.maybe_repeated
    assert count(table) == 1
    assert way.counts["UpdateItem"] == 3


@pytest.mark.parametrize("fault", [*NOT_NOW, "answer dropped", "in progress", "500, applied", "not JSON"])
def test_a_transaction_with_a_token_is_applied_once(
    fault: str, way: DynamoProxy, table: Table, prefix: str
) -> None:
    known = NOT_NOW | UNANSWERED | {"in progress": InProgress(applied=True)}

    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=QUICK) as client:
            add = Update(table=NAME, key=KEY, update="ADD n :one", values={":one": 1})
            await client.transact_write(TRANSACT, [add], token=f"{prefix}token")

    with way.fault(known[fault], dose=Times(1)):
        run("asyncio", check())
    assert count(table) == 1
    assert way.counts["TransactWriteItems"] == 2


def test_connections_that_were_closed_while_idle_cost_no_call(
    way: DynamoProxy, table: Table, prefix: str
) -> None:
    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=QUICK) as client:
            for _ in range(5):
                await client.update(UPDATE, KEY, **ADD)
                pool = client._channel.pool
                assert await asyncio.to_thread(way.close_idle) == 1
                async with asyncio.timeout(10):
                    while pool.idle_connections:  # noqa: ASYNC110 - the kernel reports it
                        await asyncio.sleep(0.001)

    run("asyncio", check())
    assert count(table) == 5


def test_connections_closed_by_the_server_leave_doubts_but_no_double_writes(
    way: DynamoProxy, table: Table, prefix: str
) -> None:
    async def check() -> tuple[int, int]:
        done = doubtful = 0
        async with open_client(way.url, REGION, prefix, limits=QUICK) as client:
            for _ in range(60):
                try:
                    await client.update(UPDATE, KEY, **ADD)
                    done += 1
                except errors.OutcomeUnknownError:
                    doubtful += 1
        return done, doubtful

    with way.fault(CloseIdle(), dose=Every(3)):
        done, doubtful = asyncio.run(check())
    assert done + doubtful == 60
    assert done <= count(table) <= done + doubtful


def test_partially_processed_batches_are_finally_complete(
    way: DynamoProxy, table: Table, prefix: str
) -> None:
    keys = [{"pk": f"k{n}"} for n in range(60)]

    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=QUICK) as client:
            await client.batch_write(BATCH_WRITE, puts=keys)
            found = await client.batch_get(BATCH_GET, keys)
            assert sorted(item["pk"] for item in found) == sorted(key["pk"] for key in keys)

    with way.fault(Unprocessed(left=7), dose=Times(4)) as installed:
        run("asyncio", check())
        assert installed.hits == 4
    assert table.keys() == {key["pk"] for key in keys}


def test_a_late_put_changes_nothing_after_its_client_repeated_it(
    way: DynamoProxy, table: Table, prefix: str
) -> None:
    async def check() -> None:
        async with open_client(way.url, REGION, prefix, limits=IMPATIENT) as client:
            written = await client.put(PUT, ITEM, condition=ABSENT, repeatable=True)
            assert written.maybe_repeated

    with way.fault(Hold(), on=Match(operations={"PutItem"}), dose=Times(1)) as fault:
        run("asyncio", check())
        (late,) = fault.held
        late.settle()
        assert late.call.applied is False, "the condition must have failed"
    assert table.value("a") == "mine"
