"""Empty Redis and delete Kafka's log under load: promise 5."""

import asyncio

from faults.whole.fault import Fault, FaultRun


async def inflict(doing: FaultRun) -> None:
    city = doing.stand.city
    for turn in doing.rounds(3):
        if turn % 3 != 1:
            doing.load.step("FLUSHALL")
            await asyncio.to_thread(city.flush_redis)
        if turn % 3 != 0:
            doing.load.step("Kafka's log deleted")
            await asyncio.to_thread(city.delete_kafka_log)
        await doing.load.sent_more(20)


FAULT = Fault(
    name="wipes",
    invariant="Kafka and Redis are accelerators: emptying them loses no entry and no order.",
    fault="FLUSHALL, then all records of `messages` deleted, then both together, under load",
    inflict=inflict,
)
