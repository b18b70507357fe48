"""Connections under faults: cancelled, closed by the server, refused, exhausted. None is reused with unread bytes."""

import asyncio
import random
from dataclasses import replace

import pytest

from faults.dynamo_calls import (
    GET,
    ITEM,
    KEY,
    LOOPS,
    PUT,
    QUICK,
    channel_of,
    quick_client,
    run,
)
from faults.hostile_server import (
    Line,
    Request,
    after,
    answer,
    hostile_server,
    say,
    say_and_close,
    silence,
    tell,
    until,
)
from tidings.platform.dynamo import errors
from tidings.platform.dynamo.connection_pool import PoolLimits

each_loop = pytest.mark.parametrize("loop", LOOPS)


async def echo(line: Line, request: Request) -> None:
    """Answer with the requested key as the item, so that a swapped answer is visible."""
    await tell(Item=request.json["Key"])(line, request)


async def ticked_echo(line: Line, request: Request) -> None:
    await asyncio.sleep(random.random() / 200)
    await echo(line, request)


def few(connections: int) -> PoolLimits:
    return replace(QUICK.pool, max_connections=connections)


@each_loop
def test_a_cancelled_call_does_not_poison_its_connection(loop: str) -> None:
    async def check() -> None:
        gate = asyncio.Event()
        async with hostile_server(after(gate, echo)) as server:
            server.otherwise = echo
            async with quick_client(server.url) as client:
                cancelled = asyncio.create_task(client.get(GET, {"pk": "cancelled", "sk": 1}))
                await until(lambda: len(server.requests) == 1)
                cancelled.cancel()
                await asyncio.wait([cancelled])
                gate.set()
                assert await client.get(GET, KEY) == KEY, "the late answer of another call was returned"
                assert [request.connection for request in server.requests] == [1, 2]

    run(loop, check())


@each_loop
def test_calls_cancelled_at_any_moment_never_swap_answers_or_lose_connections(loop: str) -> None:
    async def check() -> None:
        dice = random.Random(11)
        async with hostile_server() as server:
            server.otherwise = ticked_echo
            limits = replace(QUICK, pool=few(3))
            async with quick_client(server.url, limits) as client:
                pool = channel_of(client).pool
                seen_open = []

                async def call(n: int) -> None:
                    key = {"pk": f"key-{n}", "sk": n}
                    task = asyncio.create_task(client.get(GET, key))
                    if n % 3 == 0:
                        await asyncio.sleep(dice.random() / 20)
                        task.cancel()
                    try:
                        assert await task == key
                    except asyncio.CancelledError:
                        assert n % 3 == 0
                    seen_open.append(pool.open_connections)

                await asyncio.gather(*(call(n) for n in range(300)))
                await until(lambda: pool.open_connections == pool.idle_connections)
                assert max(seen_open) <= 3
                again = await asyncio.gather(*(client.get(GET, {"pk": "x", "sk": n}) for n in range(20)))
                assert [item["sk"] for item in again if item] == list(range(20))

    run(loop, check())


@each_loop
def test_a_connection_that_was_closed_while_idle_is_not_an_unanswered_call(loop: str) -> None:
    async def check() -> None:
        async with hostile_server() as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            pool = channel_of(client).pool
            server.lines[0].close()
            await until(lambda: pool.idle_connections == 0)
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 2]

    run(loop, check())


@each_loop
def test_a_connection_that_dies_under_a_request_leaves_a_doubt(loop: str) -> None:
    async def check() -> None:
        async with hostile_server(tell(), say_and_close(b"")) as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            with pytest.raises(errors.OutcomeUnknownError):
                await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 1]

    run(loop, check())


@each_loop
def test_a_connection_with_the_header_close_is_not_reused(loop: str) -> None:
    async def check() -> None:
        last = say(answer(headers=["Connection: close"]))
        async with hostile_server(last, last) as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 2]

    run(loop, check())


@each_loop
def test_unrequested_bytes_end_a_connection(loop: str) -> None:
    async def check() -> None:
        async with hostile_server() as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            await server.lines[0].say(answer(b'{"Attributes":{"pk":{"S":"evil"}}}'))
            pool = channel_of(client).pool
            await until(lambda: pool.idle_connections == 0)
            assert (await client.put(PUT, ITEM)).attributes is None

    run(loop, check())


@each_loop
def test_closing_the_client_ends_calls_in_flight_and_waiting_calls(loop: str) -> None:
    async def check() -> None:
        async with hostile_server(silence) as server:
            async with quick_client(server.url, replace(QUICK, pool=few(1))) as client:
                calls = [asyncio.create_task(client.put(PUT, ITEM)) for _ in range(2)]
                await until(lambda: len(server.requests) == 1)
            first, second = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(first, errors.OutcomeUnknownError)
            assert isinstance(second, errors.NotSentError)
            with pytest.raises(errors.NotSentError, match="closed"):
                await client.put(PUT, ITEM)
            await until(lambda: server.open_now == 0)

    run(loop, check())
