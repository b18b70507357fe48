"""Empty Redis and delete Kafka's log under load: promise 5."""

import asyncio

from faults.whole.fault import Fault, FaultRun


async def inflict(run: FaultRun) -> None:
    processes = run.installation.processes
    for turn in run.rounds(3):
        if turn % 3 != 1:
            run.load.step("FLUSHALL")
            await asyncio.to_thread(processes.flush_redis)
        if turn % 3 != 0:
            run.load.step("Kafka's log deleted")
            await asyncio.to_thread(processes.delete_kafka_log)
        await run.load.sent_more(20)


FAULT = Fault(
    name="wipes",
    invariant="Kafka and Redis are accelerators: emptying them loses no entry and no order.",
    fault="FLUSHALL, then all records of `messages` deleted, then both together, under load",
    inflict=inflict,
)
