"""Thousands of connections open and close, and their memory is freed."""

import asyncio
import contextlib
import gc
import json
import os
import resource
import socket
import time
from itertools import pairwise
from typing import cast

import psutil
import pytest
from contract.gateway.listener_host import MANY_CLIENTS, HostedConnection, hosted
from contract.gateway.raw_client import RawClient, request
from fixtures.loops import until

from tidings.gateway.admission import AdmissionOptions, UpgradeLimiter, max_admission_delay_s
from tidings.gateway.transport.websockets_transport import BackendName

COUNT = 1_000


@pytest.fixture(params=["picows", pytest.param("websockets", marks=pytest.mark.long)])
def name(request: pytest.FixtureRequest) -> BackendName:
    return cast("BackendName", request.param)


@pytest.fixture
def enough_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * COUNT + 200
    if hard < wanted:
        pytest.skip(f"{wanted} open files are needed, {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


async def _come_and_go(port: int, count: int) -> None:
    clients = []
    for _ in range(count // 100):
        clients += await asyncio.gather(*(RawClient.open(port) for _ in range(100)))
    for client in clients:
        client.reset()


@pytest.mark.usefixtures("enough_files")
async def test_the_memory_of_closed_connections_is_reused(name: BackendName) -> None:
    """The first round measures the memory of the connections. Leaked memory would grow with each later round; the
    variation of the allocator, which is larger on a busy machine, would not.
    """
    resident = []
    async with hosted(name, MANY_CLIENTS) as host:
        for _ in range(4):
            await _come_and_go(host.port, COUNT)
            await until(lambda: not host.listener.sockets)
            host.connections.clear()
            gc.collect()
            resident.append(psutil.Process().memory_info().rss / 1_024)
        assert host.listener.tally.opened == host.listener.tally.closed == 4 * COUNT
    growth_kb = min(later - before for before, later in pairwise(resident)) / COUNT
    # a leaked connection would be at least 5 KB
    assert growth_kb < 1.5, f"{growth_kb:.2f} KB a connection stay behind: {resident}"


@pytest.mark.usefixtures("enough_files")
async def test_no_object_of_a_connection_outlives_it(name: BackendName) -> None:
    async with hosted(name, MANY_CLIENTS) as host:
        await _come_and_go(host.port, 200)
        await until(lambda: not host.listener.sockets)
        kinds = {type(connection.socket).__name__ for connection in host.connections}
        host.connections.clear()
        gc.collect()
        left = [
            o for o in gc.get_objects() if type(o).__name__ in {*kinds, "Door", HostedConnection.__name__}
        ]
        assert left == []


async def _persistent(port: int) -> tuple[RawClient, int]:
    """Retry at the time of each refusal. Return the number of refusals."""
    refusals = 0
    while True:
        client = await RawClient.connect(port)
        answer = await client.ask(request())
        if answer.status == 101:
            return client, refusals
        assert answer.status == 503, answer
        client.reset()
        refusals += 1
        await asyncio.sleep(json.loads(answer.body)["retry_after_ms"] / 1_000)


@pytest.mark.usefixtures("enough_files")
async def test_a_storm_of_real_clients_is_connected_within_the_documented_time(name: BackendName) -> None:
    count, options = 600, AdmissionOptions(max_connects_per_s=200, burst=100)
    began = time.monotonic()
    async with hosted(name, admit=UpgradeLimiter(options, time.monotonic).admit) as host:
        arrived = await asyncio.gather(*(_persistent(host.port) for _ in range(count)))
        took_s = time.monotonic() - began
        assert len(host.listener.sockets) == count
        for client, _ in arrived:
            client.reset()
    assert sum(refusals for _, refusals in arrived) > 0, "nobody was ever sent away"
    assert (
        (count - options.burst) / options.max_connects_per_s
        <= took_s
        <= max_admission_delay_s(count, options) + 2
    )


def _fill(client: RawClient, flood: bytes, left: bytes) -> bytes:
    """Send as much as the kernel accepts while the server, which runs in the same thread, does not read.

    The rest of the last frame is sent first in the next call.
    """
    with contextlib.suppress(BlockingIOError):
        while True:
            left = left or flood
            left = left[os.write(client.writer.get_extra_info("socket").fileno(), left) :]
    return left


async def test_floods_do_not_grow_the_read_buffers(name: BackendName) -> None:
    """The buffers must not grow for a peer that always has more to send."""
    flood = b"\x8a\xfdabcd" + b"x" * 125  # an unsolicited pong, of which the server stores nothing
    async with hosted(name, MANY_CLIENTS) as host:
        clients = [await RawClient.open(host.port) for _ in range(5)]
        for client in clients:
            client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8_192)
        left = [b""] * len(clients)
        gc.collect()
        before = psutil.Process().memory_info().rss
        for _ in range(8):
            left = [_fill(client, flood, rest) for client, rest in zip(clients, left, strict=True)]
            for _ in range(10):
                await asyncio.sleep(0)
        grown_kb = (psutil.Process().memory_info().rss - before) / 1_024 / len(clients)
        assert [connection.closes for connection in host.connections] == [[]] * len(clients)
        for client in clients:
            client.reset()
        assert grown_kb < 150, f"{grown_kb:.0f} KB a connection"
