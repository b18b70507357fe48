"""Pause devices: the gateway closes them, they resume, and no other device is slowed down."""

import asyncio
from itertools import islice

from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import within
from tidings_harness.workload.light_device import LightDevice
from tidings_harness.workload.scenario import Scenario

_EVERY = 4
_CLOSES = "tidings_socket_closes_total{"
_SMALL = {"GATEWAY_MAX_SEND_BUFFER_BYTES": "32768", "GATEWAY_KERNEL_SEND_BYTES": "8192"}
"""Small buffers, so that a few hundred kilobytes exceed what a gateway buffers for a device."""


async def inflict(run: FaultRun) -> None:
    await run.installation.renew("gateway", "gateway", **_SMALL)
    for turn in run.rounds(2):
        slow = list(islice(run.load.light_devices(), turn % _EVERY, None, _EVERY))
        run.load.step(f"{len(slow)} devices stop reading")
        await _pause_until_closed(run, slow)
        await run.load.sent_more(20)
    await run.installation.renew("gateway", "gateway")


async def _pause_until_closed(run: FaultRun, slow: list[LightDevice]) -> None:
    """Pause the devices until the gateways have closed half of them, for a full send buffer or for silence."""
    wanted = await asyncio.to_thread(_count_closes, run) + len(slow) // 2
    for device in slow:
        device.pause()
    await within(180, lambda: _count_closes(run) >= wanted, "half of the paused devices were closed")
    for device in slow:
        device.unpause()


def _count_closes(run: FaultRun) -> float:
    pages: list[str] = [each.get("/metrics")[1] for each in run.installation.running["gateway"]]
    lines = [line for page in pages for line in page.splitlines() if line.startswith(_CLOSES)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


FAULT = Fault(
    name="slow consumers",
    invariant="No entry is silently dropped for a device that does not read: its connection is closed, and it resumes.",
    fault="a quarter of the devices stop reading until the gateways have closed most of them; other devices in each round",
    inflict=inflict,
    scenario=Scenario(groups=2, members=20, devices=2, rate=20, text_bytes=3_500),
    full_scenario=Scenario(groups=2, members=60, devices=2, rate=12, text_bytes=3_500),
)
