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


async def inflict(doing: FaultRun) -> None:
    await doing.stand.renew("gateway", "gateway", **_SMALL)
    for turn in doing.rounds(2):
        slow = list(islice(doing.load.light_devices(), turn % _EVERY, None, _EVERY))
        doing.load.step(f"{len(slow)} devices stop reading")
        await _pause_until_closed(doing, slow)
        await doing.load.sent_more(20)
    await doing.stand.renew("gateway", "gateway")


async def _pause_until_closed(doing: FaultRun, slow: list[LightDevice]) -> None:
    """Pause the devices until the gateways have closed half of them, for a full send buffer or for silence."""
    wanted = await asyncio.to_thread(_count_closes, doing) + len(slow) // 2
    for device in slow:
        device.pause()
    await within(180, lambda: _count_closes(doing) >= wanted, "half of the paused devices were closed")
    for device in slow:
        device.unpause()


def _count_closes(doing: FaultRun) -> float:
    pages: list[str] = [each.get("/metrics")[1] for each in doing.stand.running["gateway"]]
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
