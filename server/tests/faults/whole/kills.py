"""Kill -9 each kind of process repeatedly, and replace it each time."""

from fixtures.installation_processes import ProcessKind

from faults.whole.fault import Fault, FaultRun

_KINDS: tuple[ProcessKind, ...] = ("gateway", "delivery", "relay", "api")


async def inflict(run: FaultRun) -> None:
    for turn in run.rounds(len(_KINDS)):
        kind = _KINDS[turn % len(_KINDS)]
        run.load.step(f"kill -9 {kind}")
        await run.installation.replace(run.installation.running[kind][0], kind)
        await run.load.sent_more(20)


FAULT = Fault(
    name="kills",
    invariant="If any process dies under load, each device still gets each entry of its user once, in order.",
    fault="kill -9 of a gateway, a delivery worker, the relay, the API, one after the other, each replaced",
    inflict=inflict,
)
