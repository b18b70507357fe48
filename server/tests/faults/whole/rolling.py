"""Restart all processes one after the other with SIGTERM under load, as a deployment does."""

import signal

from fixtures.installation_processes import ProcessKind

from faults.whole.fault import Fault, FaultRun

_KINDS: tuple[ProcessKind, ...] = ("api", "delivery", "relay", "gateway")


async def inflict(run: FaultRun) -> None:
    installation = run.installation
    for _ in run.rounds():
        for kind in _KINDS:
            for old in list(installation.running[kind]):
                run.load.step(f"restart {kind}")
                await installation.start(kind)
                await installation.kill(old, signal.SIGTERM)


FAULT = Fault(
    name="rolling restart",
    invariant="The only visible effect of a deployment is reconnects.",
    fault="every process is replaced: a new one is ready, then the old one gets SIGTERM and drains",
    inflict=inflict,
)
