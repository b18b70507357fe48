"""Let many users write to one chat at the same time, through two gateways."""

from faults.whole.fault import Fault, FaultRun
from tidings_harness.workload.scenario import SCENARIOS, Scenario


async def inflict(run: FaultRun) -> None:
    for _ in run.rounds():
        run.load.step("hot")
        await run.load.sent_more(600)


FAULT = Fault(
    name="hot chat",
    invariant="One dense order for all writers: writers on two gateways race for every sequence.",
    fault="100 sends a second into one chat, by six users on two gateways",
    inflict=inflict,
    scenario=Scenario(groups=1, members=20, devices=2, speakers=6, rate=100),
    full_scenario=SCENARIOS["hot-chat"],
)
