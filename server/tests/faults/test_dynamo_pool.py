"""The connection pool: its size, the order of waiters, and what happens if no connection is available."""

import asyncio
import ssl
from dataclasses import replace

import pytest

from faults.dynamo_calls import (
    ITEM,
    KEY,
    LOOPS,
    PUT,
    QUICK,
    REGION,
    UPDATE,
    channel_of,
    quick_client,
    run,
)
from faults.hostile_server import (
    HostileServer,
    after,
    hostile_server,
    silence,
    tell,
    until,
)
from tidings.platform.dynamo import credentials, errors
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.connection_pool import HttpConnection, Pool, PoolLimits
from tidings.platform.dynamo.credentials import LOCAL_KEYS, StaticCredentials
from tidings.platform.dynamo.transport import Transport

RAW_REQUEST = b"POST / HTTP/1.1\r\nx-amz-target: T.GetItem\r\ncontent-length: 2\r\n\r\n{}"

each_loop = pytest.mark.parametrize("loop", LOOPS)


def few(connections: int) -> PoolLimits:
    return replace(QUICK.pool, max_connections=connections)


async def lent(pool: Pool, server: HostileServer) -> HttpConnection:
    """Return the pool's only connection, answered and not yet returned."""
    connection = await pool.wait(asyncio.get_running_loop().time() + 10)
    await pool.send(connection, RAW_REQUEST, asyncio.get_running_loop().time() + 10)
    assert len(server.requests) == 1
    return connection


@each_loop
def test_a_connection_passed_to_a_caller_that_is_cancelled_in_the_same_moment_is_not_lost(loop: str) -> None:
    async def check() -> None:
        async with hostile_server() as server:
            pool = Pool(credentials.parse_endpoint(server.url), few(1))
            connection = await lent(pool, server)
            waiting = asyncio.create_task(pool.wait(asyncio.get_running_loop().time() + 10))
            await asyncio.sleep(0)
            pool.release(connection)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert pool.take() is connection
            pool.close()

    run(loop, check())


def test_a_slot_passed_to_a_caller_that_is_cancelled_in_the_same_moment_is_not_lost() -> None:
    async def check() -> None:
        async with hostile_server() as server:
            pool = Pool(credentials.parse_endpoint(server.url), few(1))
            connection = await lent(pool, server)
            deadline = asyncio.get_running_loop().time() + 10
            waiting = asyncio.create_task(pool.wait(deadline))
            await asyncio.sleep(0)
            connection.abort()
            # directly after the call that reports the loss to the pool
            asyncio.get_running_loop().call_soon(waiting.cancel)
            await asyncio.wait([waiting])
            assert waiting.cancelled()
            assert await pool.wait(deadline) is not connection
            pool.close()

    run("asyncio", check())


@each_loop
def test_the_pool_closes_a_connection_that_was_idle_for_too_long(loop: str) -> None:
    async def check() -> None:
        limits = replace(QUICK, call_timeout_s=0.2, try_timeout_s=0.1, pool=replace(few(4), max_idle_s=0.1))
        async with hostile_server() as server, quick_client(server.url, limits) as client:
            await client.put(PUT, ITEM, timeout_s=0.2)
            await until(lambda: server.open_now == 0)
            assert channel_of(client).pool.open_connections == 0

    run(loop, check())


@each_loop
def test_the_last_used_connection_is_used_first_so_that_others_become_idle(loop: str) -> None:
    async def check() -> None:
        gate = asyncio.Event()
        async with hostile_server(*[after(gate, tell())] * 3) as server, quick_client(server.url) as client:
            first = [asyncio.create_task(client.put(PUT, ITEM)) for _ in range(3)]
            await until(lambda: len(server.requests) == 3)
            gate.set()
            await asyncio.gather(*first)
            for _ in range(5):
                await client.put(PUT, ITEM)
            assert len({request.connection for request in server.requests[3:]}) == 1

    run(loop, check())


@each_loop
def test_requests_in_flight_are_bounded_and_the_longest_waiting_call_is_next(loop: str) -> None:
    async def check() -> None:
        gate = asyncio.Event()
        async with hostile_server(*[after(gate, tell())] * 2) as server:
            async with quick_client(server.url, replace(QUICK, pool=few(2))) as client:
                calls = [
                    asyncio.create_task(
                        client.update(UPDATE, {"pk": "a", "sk": n}, "SET a = :n", values={":n": n})
                    )
                    for n in range(8)
                ]
                await until(lambda: len(server.requests) == 2)
                assert not any(call.done() for call in calls)
                gate.set()
                await asyncio.gather(*calls)
            assert server.most_open == 2
            order = [int(request.json["Key"]["sk"]["N"]) for request in server.requests]
            assert {*order[:2]} == {0, 1}, "two connections are opened concurrently, so either may be first"
            assert order[2:] == list(range(2, 8))

    run(loop, check())


@each_loop
def test_a_call_that_waits_too_long_for_a_connection_has_sent_nothing(loop: str) -> None:
    async def check() -> None:
        async with hostile_server(silence) as server:
            async with quick_client(server.url, replace(QUICK, pool=few(1))) as client:
                hogging = asyncio.create_task(client.put(PUT, ITEM))
                await until(lambda: len(server.requests) == 1)
                with pytest.raises(errors.NotSentError, match="became free") as caught:
                    await client.put(PUT, ITEM, timeout_s=0.05)
                assert not caught.value.maybe_applied
                hogging.cancel()
                await asyncio.wait([hogging])
                await client.put(PUT, ITEM)
            assert len(server.requests) == 2

    run(loop, check())


@each_loop
def test_a_waiting_call_keeps_its_turn_longer_than_a_try_may_take(loop: str) -> None:
    async def check() -> None:
        gate = asyncio.Event()
        limits = replace(QUICK, try_timeout_s=0.05, pool=few(1))
        async with hostile_server(after(gate, tell())) as server, quick_client(server.url, limits) as client:
            hogging = asyncio.create_task(client.put(PUT, ITEM))
            await until(lambda: len(server.requests) == 1)
            waiting = asyncio.create_task(client.put(PUT, ITEM, repeatable=True))
            await asyncio.wait([waiting], timeout=0.2)
            gate.set()
            await asyncio.gather(hogging, waiting)
            assert client.ledger[PUT.name].retries == 0

    run(loop, check())


@each_loop
def test_the_queue_of_waiting_calls_is_bounded(loop: str) -> None:
    async def check() -> None:
        limits = replace(
            QUICK, pool=replace(few(1), max_waiting=2), retries=replace(QUICK.retries, max_tries=1)
        )
        async with hostile_server(silence) as server, quick_client(server.url, limits) as client:
            calls = [asyncio.create_task(client.put(PUT, ITEM)) for _ in range(3)]
            await until(lambda: len(server.requests) == 1)
            with pytest.raises(errors.NotSentError, match="2 calls already wait"):
                await client.put(PUT, ITEM)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)

    run(loop, check())


@each_loop
def test_a_refused_connection_has_sent_nothing_and_is_tried_again_for_any_call(loop: str) -> None:
    async def check() -> None:
        async with hostile_server() as server:
            url = server.url
        async with quick_client(url) as client:
            with pytest.raises(errors.NotSentError, match="no connection") as caught:
                await client.update(UPDATE, KEY, "ADD n :one", values={":one": 1})
            assert not caught.value.maybe_applied
            assert client.ledger[UPDATE.name].retries == QUICK.retries.max_tries - 1
            assert channel_of(client).pool.open_connections == 0

    run(loop, check())


@each_loop
def test_a_connection_that_is_not_established_in_time_has_sent_nothing(loop: str) -> None:
    """A listener with a full queue drops connection attempts, so the handshake never ends."""

    async def check() -> None:
        deaf = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, backlog=1)
        tls = ssl.create_default_context()
        endpoint = credentials.parse_endpoint(f"http://127.0.0.1:{deaf.sockets[0].getsockname()[1]}")
        limits = replace(
            QUICK, pool=replace(few(1), connect_timeout_s=0.05), retries=replace(QUICK.retries, max_tries=2)
        )
        # The server accepts TCP and stays silent, so TLS waits for a server hello that never arrives.
        channel = Transport(replace(endpoint, tls=tls), REGION, StaticCredentials(LOCAL_KEYS), limits)
        client = DynamoClient(channel, "test-")
        with pytest.raises(errors.NotSentError, match="no connection in time"):
            await client.put(PUT, ITEM)
        client.close()
        deaf.close()

    run(loop, check())
