"""Connections under faults: cancelled, closed under us, refused, too few. None is ever used half-read."""

import asyncio
import random
import ssl
from dataclasses import replace

import pytest
import trustme
from faults.dynamo_calls import (
    GET,
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

from tidings.platform.dynamo import endpoints, errors
from tidings.platform.dynamo.channel import Channel
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.credentials import LOCAL_KEYS, FixedKeys
from tidings.platform.dynamo.pool import PoolLimits

each_loop = pytest.mark.parametrize("loop", LOOPS)


async def echo(line: Line, request: Request) -> None:
    """The item is the key that was asked for, so that a swapped answer shows."""
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
                assert await client.get(GET, KEY) == KEY, "the late answer must not be taken for this one's"
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
            with pytest.raises(errors.UnansweredError):
                await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 1]

    run(loop, check())


@each_loop
def test_a_server_that_says_close_is_taken_at_its_word(loop: str) -> None:
    async def check() -> None:
        last = say(answer(headers=["Connection: close"]))
        async with hostile_server(last, last) as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 2]

    run(loop, check())


@each_loop
def test_bytes_that_nobody_asked_for_end_a_connection(loop: str) -> None:
    async def check() -> None:
        async with hostile_server() as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            await server.lines[0].say(answer(b'{"Attributes":{"pk":{"S":"evil"}}}'))
            pool = channel_of(client).pool
            await until(lambda: pool.idle_connections == 0)
            assert (await client.put(PUT, ITEM)).attributes is None

    run(loop, check())


@each_loop
def test_a_connection_that_was_idle_for_too_long_is_closed_by_us(loop: str) -> None:
    async def check() -> None:
        limits = replace(QUICK, call_timeout_s=0.2, try_timeout_s=0.1, pool=replace(few(4), max_idle_s=0.1))
        async with hostile_server() as server, quick_client(server.url, limits) as client:
            await client.put(PUT, ITEM, timeout_s=0.2)
            await until(lambda: server.open_now == 0)
            assert channel_of(client).pool.open_connections == 0

    run(loop, check())


@each_loop
def test_the_last_used_connection_is_used_first_so_that_the_rest_can_go(loop: str) -> None:
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
def test_what_is_in_flight_is_bounded_and_who_waits_longest_is_next(loop: str) -> None:
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
            assert {*order[:2]} == {0, 1}, "two connections are made at once, so either may be first"
            assert order[2:] == list(range(2, 8))

    run(loop, check())


@each_loop
def test_who_waits_too_long_for_a_connection_has_sent_nothing(loop: str) -> None:
    async def check() -> None:
        async with hostile_server(silence) as server:
            async with quick_client(server.url, replace(QUICK, pool=few(1))) as client:
                hogging = asyncio.create_task(client.put(PUT, ITEM))
                await until(lambda: len(server.requests) == 1)
                with pytest.raises(errors.UnsentError, match="became free") as caught:
                    await client.put(PUT, ITEM, timeout_s=0.05)
                assert not caught.value.maybe_applied
                hogging.cancel()
                await asyncio.wait([hogging])
                await client.put(PUT, ITEM)
            assert len(server.requests) == 2

    run(loop, check())


@each_loop
def test_the_queue_is_bounded_too(loop: str) -> None:
    async def check() -> None:
        limits = replace(
            QUICK, pool=replace(few(1), max_waiting=2), retries=replace(QUICK.retries, max_tries=1)
        )
        async with hostile_server(silence) as server, quick_client(server.url, limits) as client:
            calls = [asyncio.create_task(client.put(PUT, ITEM)) for _ in range(3)]
            await until(lambda: len(server.requests) == 1)
            with pytest.raises(errors.UnsentError, match="2 calls wait"):
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
            with pytest.raises(errors.UnsentError, match="no connection") as caught:
                await client.update(UPDATE, KEY, "ADD n :one", values={":one": 1})
            assert not caught.value.maybe_applied
            assert client.ledger[UPDATE.name].retries == QUICK.retries.max_tries - 1
            assert channel_of(client).pool.open_connections == 0

    run(loop, check())


@each_loop
def test_a_connection_that_does_not_come_about_in_time_has_sent_nothing(loop: str) -> None:
    """A listener whose queue is full drops what comes: the handshake never ends."""

    async def check() -> None:
        deaf = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, backlog=1)
        tls = ssl.create_default_context()
        endpoint = endpoints.parse(f"http://127.0.0.1:{deaf.sockets[0].getsockname()[1]}")
        limits = replace(
            QUICK, pool=replace(few(1), connect_timeout_s=0.05), retries=replace(QUICK.retries, max_tries=2)
        )
        # plain TCP is accepted and then silent, so TLS waits for a hello that never comes
        channel = Channel(replace(endpoint, tls=tls), REGION, FixedKeys(LOCAL_KEYS), limits)
        client = Client(channel, "test-")
        with pytest.raises(errors.UnsentError, match="no connection in time"):
            await client.put(PUT, ITEM)
        client.close()
        deaf.close()

    run(loop, check())


@each_loop
def test_closing_the_client_ends_what_is_in_flight_and_what_waits(loop: str) -> None:
    async def check() -> None:
        async with hostile_server(silence) as server:
            async with quick_client(server.url, replace(QUICK, pool=few(1))) as client:
                calls = [asyncio.create_task(client.put(PUT, ITEM)) for _ in range(2)]
                await until(lambda: len(server.requests) == 1)
            first, second = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(first, errors.UnansweredError)
            assert isinstance(second, errors.UnsentError)
            with pytest.raises(errors.UnsentError, match="closed"):
                await client.put(PUT, ITEM)
            await until(lambda: server.open_now == 0)

    run(loop, check())


async def over_tls(server: HostileServer, authority: trustme.CA) -> Client:
    endpoint = endpoints.parse(server.url)
    assert endpoint.tls is not None
    authority.configure_trust(endpoint.tls)
    channel = Channel(endpoint, REGION, FixedKeys(LOCAL_KEYS), QUICK)
    return Client(channel, "test-")


def server_side(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@each_loop
def test_tls_works_and_a_large_answer_comes_through_it(loop: str) -> None:
    async def check() -> None:
        authority = trustme.CA()
        large = "x" * 300_000
        async with hostile_server(
            tell(Item={"pk": {"S": large}}), tls=server_side(authority, "127.0.0.1")
        ) as server:
            client = await over_tls(server, authority)
            assert await client.get(GET, KEY) == {"pk": large}
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 1]
            client.close()

    run(loop, check())


@each_loop
@pytest.mark.parametrize("fault", ["another name", "another authority"])
def test_a_certificate_that_does_not_fit_is_refused_before_anything_is_sent(loop: str, fault: str) -> None:
    async def check() -> None:
        authority = trustme.CA()
        name = "elsewhere.example" if fault == "another name" else "127.0.0.1"
        trusted = trustme.CA() if fault == "another authority" else authority
        async with hostile_server(tls=server_side(authority, name)) as server:
            client = await over_tls(server, trusted)
            with pytest.raises(errors.UnsentError, match="certificate") as caught:
                await client.put(PUT, ITEM)
            assert not caught.value.transient
            assert not server.requests
            client.close()

    run(loop, check())
