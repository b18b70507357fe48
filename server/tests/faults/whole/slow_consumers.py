"""Devices that stop reading: they are closed and come back, and nobody else is slowed down."""

from faults.whole.fault import Doing, Fault
from faults.whole.stand import passed
from tidings_harness.workload.scenario import Scenario


async def inflict(doing: Doing) -> None:
    for turn in doing.times(2, 20):
        slow = [device for number, device in enumerate(doing.load.light_devices()) if number % 4 == turn % 4]
        doing.load.step(f"{len(slow)} devices stop reading")
        for device in slow:
            device.pause()
        await passed(6 if doing.is_short else 40)
        for device in slow:
            device.unpause()
        await doing.load.sent_more(20, 30)


FAULT = Fault(
    name="slow consumers",
    invariant="A device that does not read is never silently left out: it is closed, and resumes.",
    fault="a quarter of the devices stops reading their sockets for a while, others in each round",
    inflict=inflict,
    scenario=Scenario(groups=2, members=20, devices=2, rate=30, text_bytes=2_000),
)
