"""Disconnect all devices at the same time, under load; all of them reconnect together."""

from faults.whole.fault import Fault, FaultRun
from tidings_harness.workload.scenario import SCENARIOS, Scenario

_BACK_WITHIN_S = 300.0


async def inflict(run: FaultRun) -> None:
    devices = list(run.load.light_devices())
    for _ in run.rounds():
        run.load.step(f"{len(devices)} connections cut")
        for device in devices:
            device.cut()
        await run.load.sent_more(20)
        if not run.is_short:
            await run.load.caught_up(_BACK_WITHIN_S)


FAULT = Fault(
    name="reconnect storm",
    invariant="Any number of devices may reconnect together; each gets the entries that it missed, once.",
    fault="all devices are disconnected at the same time: 600 in the short form, 5,000 in the full form",
    inflict=inflict,
    scenario=Scenario(groups=6, members=100, devices=1, rate=0.5, churns=False),
    full_scenario=SCENARIOS["storm"],
    heals_within_s=_BACK_WITHIN_S,
)
