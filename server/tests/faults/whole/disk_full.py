"""Fill a broker's disk: the broker cannot write and exits. Restart it once space is available again."""

import asyncio
import resource

from faults.whole.fault import Fault, FaultRun
from tidings.engines.model import Engine

_MAX_FILE_BYTES = 1
_CAUGHT_UP_WITHIN_S = 60.0


async def inflict(run: FaultRun) -> None:
    """Limit the size of the broker's files. To the broker this looks like a full disk, without a disk of that size."""
    fleet = run.installation.processes.fleet
    (broker,) = [each for each in fleet.status() if each.node.engine is Engine.KAFKA]
    for _ in run.rounds():
        pid = fleet.find(broker.node.name).pid.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        run.load.step("the broker's disk is full")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, hard))
        await run.load.sent_more(40)
        run.load.step("the broker's disk has space again")
        await asyncio.to_thread(fleet.restart, broker.node.name)
        await run.load.sent_more(10)
        if not run.is_short:
            # Wait for the backlog: otherwise every round adds to it, and the broker is available too rarely to drain
            # it.
            await run.load.caught_up(_CAUGHT_UP_WITHIN_S)


FAULT = Fault(
    name="a broker's disk full",
    invariant="Sends are acknowledged without Kafka, and entries that it did not accept are delivered once it is available again.",
    fault="the broker cannot write another byte while users continue to send; then it is restarted on its own log",
    inflict=inflict,
)
