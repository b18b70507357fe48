"""The broker's disk is full: it can't write any more, and gives up. Later there is room, and it is started again."""

import asyncio
import resource

from faults.whole.fault import Fault, FaultRun
from tidings.engines.model import Engine

_NO_ROOM_BYTES = 1
_CARRIED_WITHIN_S = 60.0


async def inflict(doing: FaultRun) -> None:
    """No file of the process may grow: to it that is a disk without room, and needs no disk of that size."""
    fleet = doing.stand.city.fleet
    (broker,) = [each for each in fleet.status() if each.node.engine is Engine.KAFKA]
    for _ in doing.rounds():
        pid = fleet.find(broker.node.name).pid.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        doing.load.step("the broker's disk is full")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (_NO_ROOM_BYTES, hard))
        await doing.load.sent_more(40)
        doing.load.step("there is room again")
        await asyncio.to_thread(fleet.restart, broker.node.name)
        await doing.load.sent_more(10)
        if not doing.is_short:
            # round after round would only pile up what a broker that is hardly ever there can't carry
            await doing.load.caught_up(_CARRIED_WITHIN_S)


FAULT = Fault(
    name="a broker's disk full",
    invariant="Sends are acknowledged without Kafka, and entries that it did not accept are delivered once it is available again.",
    fault="the broker cannot write another byte while users continue to send; then it is restarted on its own log",
    inflict=inflict,
)
