"""Kill -9 every process and every engine at the same time, as a crash of the only machine does, and start all again.

The engines keep the data that they wrote. Valkey starts empty. A loss of power is not simulated: the page cache of the
operating system survives.
"""

import asyncio

from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import WHOLE


async def inflict(run: FaultRun) -> None:
    installation, fleet = run.installation, run.installation.processes.fleet
    for _ in run.rounds():
        nodes = [each.node.name for each in fleet.status()]
        processes = [process for each in installation.running.values() for process in each]
        run.load.step("kill -9 of everything")
        for process in processes:
            process.popen.kill()
        for name in nodes:
            fleet.kill(name)
        await asyncio.gather(*(installation.kill(process) for process in processes))
        for name in nodes:
            # Not in a worker thread: an engine of a test ends with the thread that started it. The devices wait here
            # for some seconds, but no server answers them meanwhile anyway.
            fleet.restart(name)
        await installation.start(*WHOLE)
        await run.load.sent_more(20)


FAULT = Fault(
    name="machine crash",
    invariant="An installation on one machine loses no acknowledged message when all its processes and engines are killed.",
    fault="kill -9 of all processes and of DynamoDB's engine, Kafka and Valkey at the same time; all are started again on their data",
    inflict=inflict,
)
