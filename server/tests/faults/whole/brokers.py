"""Kill one of three Kafka brokers at a time: two in-sync replicas suffice, and a restarted broker catches up."""

import asyncio

from faults.whole.fault import Fault, FaultRun
from tidings.engines.model import Engine


async def inflict(run: FaultRun) -> None:
    fleet = run.installation.processes.fleet
    brokers = [each.node.name for each in fleet.status() if each.node.engine is Engine.KAFKA]
    for turn in run.rounds(3):
        name = brokers[turn % len(brokers)]
        run.load.step(f"kill -9 {name}")
        await asyncio.to_thread(fleet.kill, name)
        await run.load.sent_more(20)
        await asyncio.to_thread(fleet.restart, name)
        await run.load.sent_more(10)


FAULT = Fault(
    name="three brokers",
    invariant="One of three brokers may be unavailable at any time.",
    fault="kill -9 of each of three brokers in turn, each restarted on its own data",
    inflict=inflict,
    brokers=3,
)
