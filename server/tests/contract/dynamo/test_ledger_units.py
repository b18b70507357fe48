"""The units of the ledger equal those that the engines report.

Where DynamoDB Local differs from AWS it is left out by name: it counts nothing for a Query without matches and for
a missing item of a batch, and it takes equal items of a transaction together.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from contract.dynamo.conftest import REGION, ScratchTable
from contract.dynamo.drawn import drawn_item
from contract.dynamo.patterns import (
    BATCH_GET,
    BATCH_GET_EVENTUAL,
    BATCH_WRITE,
    DELETE,
    GET,
    GET_EVENTUAL,
    PUT,
    QUERY,
    QUERY_EVENTUAL,
    QUERY_INDEX,
    TABLE,
    TRANSACT_WRITE,
    UPDATE,
)

from tidings.platform.dynamo.capacity import PatternCounters
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError
from tidings.platform.dynamo.item_size import encoded_item_bytes
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Check, Put, Query

KB = 1024
ABSENT = "attribute_not_exists(pk)"


def sized(sk: int, size_bytes: int, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """An item of exactly that many bytes."""
    item = {"pk": "a", "sk": sk, "fill": "", **(content or {})}
    item["fill"] = "x" * (size_bytes - encoded_item_bytes(item))
    assert encoded_item_bytes(item) == size_bytes
    return item


def run(place: ScratchTable, use: Callable[[DynamoClient], Awaitable[None]]) -> DynamoClient:
    async def measured() -> DynamoClient:
        async with open_client(place.engine.url, REGION, place.ours, measure=True) as client:
            await use(client)
            return client

    return asyncio.run(measured())


def row(client: DynamoClient, pattern: AccessPattern) -> PatternCounters:
    return client.ledger[pattern.name]


def assert_as_measured(row: PatternCounters, *, in_index: bool = False) -> None:
    measured = row.measured_index_units if in_index else row.measured_table_units
    assert row.read_units + row.write_units == measured
    assert measured > 0


def test_puts_around_every_boundary_cost_what_the_engine_reports(place: ScratchTable) -> None:
    sizes = [size for kb in (1, 2, 5) for size in (kb * KB - 1, kb * KB, kb * KB + 1)]

    async def use(client: DynamoClient) -> None:
        for sk, size in enumerate(sizes):
            await client.put(PUT, sized(sk, size), condition=ABSENT)
            assert_as_measured(row(client, PUT))

    client = run(place, use)
    assert row(client, PUT).write_units == 1 + 1 + 2 + 2 + 2 + 3 + 5 + 5 + 6
    assert row(client, PUT).estimated == 0


def test_items_of_every_type_have_the_size_that_the_engine_reports(place: ScratchTable) -> None:
    """One byte more than the boundary must show, and not one less."""
    random = Random(7)
    # it takes digits in pairs from the first one, DynamoDB Local from the decimal point
    has_other_numbers = place.engine.kind == "dynoxide"

    async def use(client: DynamoClient) -> None:
        for sk in range(120):
            content = drawn_item(random, has_numbers=not has_other_numbers)
            size = -(-(encoded_item_bytes(content) + 50) // KB) * KB + sk % 2
            await client.put(PUT, sized(sk, size, content), condition=ABSENT)
            assert_as_measured(row(client, PUT))

    run(place, use)


def test_reads_around_every_boundary_cost_what_the_engine_reports(place: ScratchTable) -> None:
    sizes = [4 * KB - 1, 4 * KB, 4 * KB + 1, 9 * KB, 100]

    async def use(client: DynamoClient) -> None:
        for sk, size in enumerate(sizes):
            await client.put(PUT, sized(sk, size), condition=ABSENT)
        for sk in range(len(sizes) + 1):
            key: dict[str, Any] = {"pk": "a", "sk": sk}
            await client.get(GET, key)
            await client.get(GET_EVENTUAL, key)
            await client.query(QUERY, Query(condition="pk = :p AND sk <= :s", values={":p": "a", ":s": sk}))
            await client.query(QUERY_EVENTUAL, Query(condition="pk = :p", values={":p": "a"}, limit=sk + 1))
        for pattern in (GET, GET_EVENTUAL, QUERY, QUERY_EVENTUAL):
            assert_as_measured(row(client, pattern))

    client = run(place, use)
    assert row(client, GET).read_units == 1 + 1 + 2 + 3 + 1 + 1
    assert row(client, GET_EVENTUAL).read_units == row(client, GET).read_units / 2


def test_a_query_of_an_index_is_paid_by_the_index(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        for sk in range(5):
            await client.put(PUT, sized(sk, 2 * KB, {"colour": "red"}), condition=ABSENT)
        found = await client.query(QUERY_INDEX, Query(condition="colour = :c", values={":c": "red"}))
        assert len(found.items) == 5

    client = run(place, use)
    assert_as_measured(row(client, QUERY_INDEX), in_index=True)
    assert row(client, QUERY_INDEX).read_units == 1.5
    assert row(client, PUT).measured_index_units == 10, "a write to an index is not in the computed units"


def test_filtered_items_of_a_query_are_charged_and_counted(place: ScratchTable) -> None:
    """Without `measure` too: every Query requests its consumed capacity."""
    values: dict[str, Any] = {":p": "a", ":none": "none"}

    async def use() -> DynamoClient:
        async with open_client(place.engine.url, REGION, place.ours) as client:
            for sk in range(5):
                await client.put(PUT, sized(sk, 3 * KB), condition=ABSENT)
            filtered = Query(condition="pk = :p", filter="fill = :none", values=values)
            assert not (await client.query(QUERY, filtered)).items
            await client.query(QUERY, Query(condition="pk = :p", projection="sk", values={":p": "a"}))
            return client

    found = row(asyncio.run(use()), QUERY)
    assert (found.read_units, found.estimated) == (2 * 4, 0)
    assert found.measured_table_units == 0, "nobody asked for it"


def test_batches_are_rounded_item_by_item(place: ScratchTable) -> None:
    items = [sized(sk, size) for sk, size in enumerate([100, 100, 100, KB + 1, 5 * KB])]

    async def use(client: DynamoClient) -> None:
        await client.batch_write(BATCH_WRITE, puts=items)
        keys: list[dict[str, Any]] = [{"pk": "a", "sk": sk} for sk in range(len(items))]
        await client.batch_get(BATCH_GET, keys)
        await client.batch_get(BATCH_GET_EVENTUAL, keys)
        for pattern in (BATCH_WRITE, BATCH_GET, BATCH_GET_EVENTUAL):
            assert_as_measured(row(client, pattern))

    client = run(place, use)
    assert row(client, BATCH_WRITE).write_units == 1 + 1 + 1 + 2 + 5
    assert row(client, BATCH_GET).read_units == 1 + 1 + 1 + 1 + 2
    assert row(client, BATCH_GET_EVENTUAL).read_units == 3


def test_an_empty_read_costs_the_minimum(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        await client.query(QUERY, Query(condition="pk = :p", values={":p": "nobody"}))
        await client.batch_get(BATCH_GET, [{"pk": "nobody", "sk": 1}, {"pk": "nobody", "sk": 2}])
        await client.get(GET, {"pk": "nobody", "sk": 1})

    client = run(place, use)
    assert [row(client, p).read_units for p in (QUERY, BATCH_GET, GET)] == [1, 2, 1]
    assert_as_measured(row(client, GET))
    if place.engine.kind == "dynoxide":
        assert_as_measured(row(client, QUERY))
        assert_as_measured(row(client, BATCH_GET))


def test_a_replaced_item_is_charged_if_it_is_returned(place: ScratchTable) -> None:
    key: dict[str, Any] = {"pk": "a", "sk": 1}

    async def use(client: DynamoClient) -> None:
        await client.put(PUT, sized(1, 3 * KB))
        await client.put(PUT, key, returns="ALL_OLD")
        await client.put(PUT, sized(1, 4 * KB), returns="ALL_OLD")
        await client.update(UPDATE, key, "SET n = :n", values={":n": 1}, returns="ALL_NEW")
        await client.delete(DELETE, key, returns="ALL_OLD")
        for pattern in (PUT, UPDATE, DELETE):
            assert_as_measured(row(client, pattern))

    client = run(place, use)
    assert row(client, PUT).write_units == 3 + 3 + 4
    assert row(client, PUT).estimated == 1, "the first: nothing said that it replaced nothing"
    assert (row(client, UPDATE).write_units, row(client, UPDATE).estimated) == (5, 1)
    assert (row(client, DELETE).write_units, row(client, DELETE).estimated) == (5, 0)


def test_a_failed_condition_is_paid_by_the_larger_item(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        await client.put(PUT, sized(1, 3 * KB), condition=ABSENT)
        with pytest.raises(ConditionFailedError):
            await client.put(PUT, sized(1, 100), condition=ABSENT)
        with pytest.raises(ConditionFailedError):
            await client.put(PUT, sized(1, 4 * KB), condition=ABSENT)

    client = run(place, use)
    assert row(client, PUT).write_units == 3 + 3 + 4
    assert row(client, PUT).errors["ConditionFailedError"] == 2


def test_a_transaction_pays_twice_for_each_action_rounded_one_by_one(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        puts = [
            Put(table=TABLE, item=sized(sk, size), condition=ABSENT)
            for sk, size in enumerate([100, KB, KB + 1, 3 * KB])
        ]
        await client.transact_write(TRANSACT_WRITE, puts)
        check = Check(table=TABLE, key={"pk": "b", "sk": 1}, condition=ABSENT)
        await client.transact_write(
            TRANSACT_WRITE, [check, Put(table=TABLE, item=sized(9, 100), condition=ABSENT)]
        )

    client = run(place, use)
    assert row(client, TRANSACT_WRITE).write_units == 2 * (1 + 1 + 2 + 3) + 2 * (1 + 1)
    assert row(client, TRANSACT_WRITE).estimated == 1
    if place.engine.kind == "dynoxide":
        assert_as_measured(row(client, TRANSACT_WRITE))
