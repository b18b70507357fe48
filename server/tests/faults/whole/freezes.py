"""SIGSTOP for longer than leases last: who wakes up finds others in his place, and must not act as if nothing was."""

import signal

from fixtures.city import ProcessKind

from faults.whole.fault import Doing, Fault
from faults.whole.stand import passed

_KINDS: tuple[ProcessKind, ...] = ("relay", "delivery", "gateway")
_SHORT_S, _LONG_S = 8.0, 45.0


async def inflict(doing: Doing) -> None:
    """A second one of each is there to take over."""
    stand = doing.stand
    added = await stand.start("relay", "delivery")
    for turn in doing.rounds(len(_KINDS)):
        kind = _KINDS[turn % len(_KINDS)]
        frozen = stand.running[kind][0]
        doing.load.step(f"SIGSTOP {kind}")
        frozen.popen.send_signal(signal.SIGSTOP)
        await passed(_SHORT_S if doing.is_short else _LONG_S)
        frozen.popen.send_signal(signal.SIGCONT)
        await doing.load.sent_more(20)
    for process in added:
        await stand.kill(process, signal.SIGTERM)


FAULT = Fault(
    name="freezes",
    invariant="Who slept through the end of his lease does no harm when he wakes: nothing lost, nothing twice.",
    fault="SIGSTOP of a relay, a worker and a gateway for longer than the consumers' session (3 s), then SIGCONT",
    inflict=inflict,
)
