"""A light device reconnects after every kind of failure. Otherwise its missing entries would count as losses."""

import asyncio
from pathlib import Path

from tidings_harness.history.recorder import Recorder
from tidings_harness.workload.light_device import FrameCache, LightDevice
from tidings_harness.workload.run_state import RunState
from tidings_harness.workload.target import TargetInstallation


async def test_a_device_reconnects_when_its_server_dies_during_the_handshake(tmp_path: Path) -> None:
    """Read the request and close the connection, three times."""
    came = asyncio.Semaphore(0)

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        came.release()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    address = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/socket"
    with Recorder(tmp_path, 1) as recorder:
        ledger = RunState(recorder)
        site = TargetInstallation(api="", sockets=[address], steady_socket=address, token=lambda user: user)
        device = LightDevice(site, ledger, FrameCache(ledger), "anna", "light")
        device.start({})
        async with asyncio.timeout(60):
            for _ in range(3):
                await came.acquire()
        await device.stop()
    server.close()
