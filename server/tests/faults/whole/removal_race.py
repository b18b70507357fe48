"""Members are removed and come back while everybody talks, as quickly as the API lets them."""

import asyncio

import httpx

from faults.whole.fault import Doing, Fault
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.site import Rest


async def inflict(doing: Doing) -> None:
    rest = Rest(doing.stand.site)
    try:
        for turn in doing.times(20, 600):
            group = doing.load.groups[turn % len(doing.load.groups)]
            victims = group.members[len(group.speakers) :]
            who = victims[turn % len(victims)]
            try:
                await rest.remove(group.chat, group.owner, who)
                await rest.add(group.chat, group.owner, who)
            except httpx.HTTPError:
                await asyncio.sleep(0.1)
    finally:
        await rest.close()


FAULT = Fault(
    name="removal race",
    invariant="Each device gets exactly the entries of its user's intervals, whatever was in flight at their ends.",
    fault="members removed and added again, many times, while all chats are busy",
    inflict=inflict,
    scenario=Scenario(groups=3, members=20, devices=2, rate=15),
)
