"""Remove members and add them again under load, as fast as the API allows."""

import asyncio

import httpx

from faults.whole.fault import Fault, FaultRun
from tidings_harness.workload.actions import Group
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.target import RestClient

_SHORT, _FULL = 40, 20


async def inflict(run: FaultRun) -> None:
    """Remove and add members in all chats concurrently, each member as often as the scenario allows."""
    rest = RestClient(run.installation.site)
    removed = 0
    try:
        for _ in run.rounds():
            run.load.step("members are removed and added again")
            count = _SHORT if run.is_short else _FULL
            removed += sum(await asyncio.gather(*(_race(rest, g, count) for g in run.load.groups)))
            await run.load.sent_more(20)
    finally:
        await rest.close()
    assert removed >= _SHORT, f"only {removed} members were removed"


async def _race(rest: RestClient, group: Group, count: int) -> int:
    """Return how many members were removed and added again."""
    done = 0
    for _ in range(count):
        who = next(group.to_remove, None)
        if who is None:
            break
        try:
            await rest.remove(group.chat, group.owner, who)
            await rest.add(group.chat, group.owner, who)
            done += 1
        except httpx.HTTPError:
            await asyncio.sleep(0.1)
    return done


FAULT = Fault(
    name="removal race",
    invariant="Each device gets exactly the entries of its user's intervals, whatever was in flight when they began or ended.",
    fault="members removed and added again immediately, in all chats concurrently, under load",
    inflict=inflict,
    scenario=Scenario(groups=2, members=25, devices=2, large_chat_members=104, rate=15, churns=False),
    full_scenario=Scenario(groups=4, members=90, devices=2, large_chat_members=180, rate=4, churns=False),
)
