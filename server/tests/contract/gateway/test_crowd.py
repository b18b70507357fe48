"""Thousands of connections: they come, they go, and the memory they took comes back."""

import asyncio
import gc
import resource

import psutil
import pytest
from contract.gateway.hosting import Guest, hosted
from contract.gateway.raw_client import RawClient, request
from fixtures.loops import until

from tidings.gateway.socket.choose import LibraryName
from tidings.gateway.socket.options import ListenOptions

COUNT = 2_000


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
async def test_the_memory_of_connections_that_left_is_used_again(name: LibraryName) -> None:
    """The first round shows what they take; two more must not add to it."""
    resident = []
    async with hosted(name, ListenOptions(linger_s=1.0)) as host:
        for _ in range(3):
            await _come_and_go(host.port, COUNT)
            await until(lambda: not host.listener.sockets)
            host.guests.clear()
            gc.collect()
            resident.append(psutil.Process().memory_info().rss / 1_024)
        assert host.listener.tally.opened == host.listener.tally.closed == 3 * COUNT
    growth_kb = (resident[-1] - resident[0]) / (2 * COUNT)
    # A connection that stayed would be 5 KB and more; the allocator's own breathing is under 1.
    assert growth_kb < 1.5, f"{growth_kb:.2f} KB a connection stay behind: {resident}"


@pytest.mark.usefixtures("enough_files")
async def test_no_object_of_a_connection_outlives_it(name: LibraryName) -> None:
    async with hosted(name, ListenOptions(linger_s=1.0)) as host:
        await _come_and_go(host.port, 200)
        await until(lambda: not host.listener.sockets)
        kinds = {type(guest.socket).__name__ for guest in host.guests}
        host.guests.clear()
        gc.collect()
        left = [o for o in gc.get_objects() if type(o).__name__ in {*kinds, "Door", Guest.__name__}]
        assert left == []


async def test_floods_that_fill_every_read_do_not_swell_the_buffers(name: LibraryName) -> None:
    """A peer that always has more to send must not be given ever larger buffers."""
    flood = b"\x8a\x80abcd" * 200_000  # pongs that nobody asked for: nothing is kept of them
    async with hosted(name, ListenOptions(linger_s=1.0)) as host:
        clients = [await RawClient.connect(host.port) for _ in range(20)]
        for client in clients:
            assert (await client.ask(request())).status == 101
        gc.collect()
        before = psutil.Process().memory_info().rss
        for client in clients:
            client.send(flood)
            await client.writer.drain()
        grown_kb = (psutil.Process().memory_info().rss - before) / 1_024 / len(clients)
        for client in clients:
            client.reset()
        assert grown_kb < 150, f"{grown_kb:.0f} KB a connection"
