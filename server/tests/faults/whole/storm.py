"""All devices lose their connections at once and come back together, while people go on talking."""

import asyncio

from faults.whole.fault import Doing, Fault
from tidings_harness.workload.scenario import SCENARIOS, Scenario


async def inflict(doing: Doing) -> None:
    devices = list(doing.load.light_devices())
    for _ in doing.times(1, 5):
        doing.load.step(f"{len(devices)} connections cut")
        for device in devices:
            device.cut()
        await asyncio.sleep(0)
        await doing.load.sent_more(20, 120)


FAULT = Fault(
    name="reconnect storm",
    invariant="However many come back at once, each gets what it missed, once.",
    fault="all devices are cut off in the same moment: 600 in the short form, 5,000 in the full one",
    inflict=inflict,
    scenario=Scenario(groups=6, members=100, devices=1, rate=0.5, churns=False),
    full_scenario=SCENARIOS["storm"],
    heals_within_s=180.0,
)
