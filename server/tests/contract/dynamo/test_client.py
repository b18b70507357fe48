"""Features of our client beyond single calls, on both engines: all pages, batches of any size, concurrent calls."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from contract.dynamo.conftest import REGION, ScratchTable
from contract.dynamo.patterns import BATCH_GET, BATCH_WRITE, GET, PUT, QUERY, TRANSACT_WRITE, UPDATE

from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.connection_pool import PoolLimits
from tidings.platform.dynamo.errors import ConditionFailedError, TooLargeError
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.requests import PatternError, Put, Query
from tidings.platform.dynamo.transport import CallLimits

ABSENT = "attribute_not_exists(pk)"


def run(
    place: ScratchTable, use: Callable[[DynamoClient], Awaitable[None]], limits: CallLimits | None = None
) -> None:
    async def opened() -> None:
        async with open_client(place.engine.url, REGION, place.ours, limits=limits or CallLimits()) as client:
            await use(client)

    asyncio.run(opened())


def row(sk: int, **more: Any) -> dict[str, Any]:
    return {"pk": "a", "sk": sk, **more}


def test_pages_go_to_the_end(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        await client.batch_write(BATCH_WRITE, puts=[row(sk) for sk in range(23)])
        everything = Query(condition="pk = :p", values={":p": "a"}, limit=5)
        pages = [page async for page in client.pages(QUERY, everything)]
        assert [len(page.items) for page in pages] == [5, 5, 5, 5, 3]
        assert [item["sk"] for page in pages for item in page.items] == list(range(23))

    run(place, use)


def test_a_page_ends_at_a_megabyte_and_the_next_page_continues(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        await client.batch_write(BATCH_WRITE, puts=[row(sk, fill="x" * 300_000) for sk in range(8)])
        everything = Query(condition="pk = :p", values={":p": "a"})
        sizes = [len(page.items) async for page in client.pages(QUERY, everything)]
        assert sum(sizes) == 8
        assert len(sizes) >= 2
        assert client.ledger[QUERY.name].read_units >= 8 * 73

    run(place, use)


def test_batches_are_cut_to_dynamodbs_sizes(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        await client.batch_write(BATCH_WRITE, puts=[row(sk) for sk in range(60)])
        keys = [{"pk": "a", "sk": sk} for sk in range(250)]
        found = await client.batch_get(BATCH_GET, keys)
        assert sorted(item["sk"] for item in found) == list(range(60))
        assert client.ledger[BATCH_WRITE.name].calls == 3
        assert client.ledger[BATCH_GET.name].calls == 3
        await client.batch_write(BATCH_WRITE, deletes=keys[:60])
        assert await client.batch_get(BATCH_GET, keys) == []

    run(place, use)


def test_an_empty_batch_makes_no_call(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        assert await client.batch_get(BATCH_GET, []) == []
        await client.batch_write(BATCH_WRITE)
        assert client.ledger[BATCH_GET.name].calls == 0

    run(place, use)


def test_of_concurrent_puts_to_one_key_one_succeeds_and_the_others_get_its_item(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        async def claim(me: int) -> int:
            try:
                await client.put(PUT, row(1, owner=me), condition=ABSENT, repeatable=True)
            except ConditionFailedError as error:
                return -1 if error.item is None or error.maybe_applied else int(error.item["owner"])
            return me

        owners = await asyncio.gather(*(claim(me) for me in range(50)))
        assert len(set(owners)) == 1
        assert owners[0] >= 0

    run(place, use)


def test_many_calls_share_few_connections(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        add = [
            client.update(UPDATE, row(1), "ADD n :one", values={":one": 1}, timeout_s=60) for _ in range(200)
        ]
        await asyncio.gather(*add)
        assert (await client.get(GET, row(1)) or {})["n"] == 200
        assert client._channel.pool.open_connections <= 4

    run(place, use, CallLimits(pool=PoolLimits(max_connections=4)))


def test_items_that_are_too_large_are_distinguished_from_other_errors(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        with pytest.raises(TooLargeError):
            await client.put(PUT, row(1, fill="x" * 410_000))

    run(place, use)


def test_a_pattern_for_another_call_is_refused_before_anything_is_sent(place: ScratchTable) -> None:
    async def use(client: DynamoClient) -> None:
        with pytest.raises(PatternError):
            await client.put(GET, row(1))
        with pytest.raises(PatternError):
            await client.transact_write(TRANSACT_WRITE, [Put(table="elsewhere", item=row(1))])
        assert client._channel.pool.open_connections == 0

    run(place, use)
