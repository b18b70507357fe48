"""Drain a listener: devices that leave at their time, and devices that must be closed."""

import asyncio
import time

import pytest
from contract.gateway.listener_host import MANY_CLIENTS, hosted
from contract.gateway.raw_client import RawClient, close_frame

from tidings.gateway.server import Drain, DrainOptions, DrainResult
from tidings.gateway.transport.ports import Socket
from tidings.gateway.transport.websockets_transport import BackendName

SPREAD_S = 0.5


async def _obedient(client: RawClient) -> float:
    """Leave at the received time, and return it."""
    after_ms = int((await client.frame()).payload)
    await asyncio.sleep(after_ms / 1_000)
    client.send(close_frame(1001))
    assert await client.close_code() == 1001
    assert await client.ended()
    return after_ms / 1_000


def tell(socket: Socket, after_ms: int) -> None:
    socket.send(str(after_ms).encode())


async def test_draining_closes_only_devices_that_do_not_leave_at_their_time(name: BackendName) -> None:
    options = DrainOptions(spread_s=SPREAD_S, grace_s=0.3, close_code=3_001)
    async with hosted(name, MANY_CLIENTS) as host:
        clients = [await RawClient.open(host.port) for _ in range(20)]
        deaf = await RawClient.open(host.port)
        leaving = [asyncio.ensure_future(_obedient(client)) for client in clients]
        draining = asyncio.ensure_future(Drain(host.listener, tell, options).run())
        moments = await asyncio.gather(*leaving)
        assert max(moments) - min(moments) > SPREAD_S / 2
        assert (await deaf.frame()).payload.isdigit()
        assert await deaf.close_code() == 3_001
        deaf.send(close_frame(3_001))
        assert await draining == DrainResult(notified=21, disconnected=20, closed=1)
        with pytest.raises(ConnectionRefusedError):
            await RawClient.connect(host.port)
        for client in [*clients, deaf]:
            client.reset()


async def test_draining_ends_when_the_last_device_has_left(name: BackendName) -> None:
    options = DrainOptions(spread_s=30.0)
    async with hosted(name, MANY_CLIENTS) as host:
        client = await RawClient.open(host.port)
        began = time.monotonic()
        draining = asyncio.ensure_future(Drain(host.listener, tell, options).run())
        await client.frame()
        with pytest.raises(ConnectionRefusedError):
            await RawClient.connect(host.port)
        client.reset()
        assert await draining == DrainResult(notified=1, disconnected=1, closed=0)
        assert time.monotonic() - began < 10
