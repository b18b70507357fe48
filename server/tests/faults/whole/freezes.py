"""SIGSTOP a process beyond its leases.

When it continues, others own its work, and it must not act on the old leases.
"""

import signal

from fixtures.installation_processes import ProcessKind

from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import passed

_KINDS: tuple[ProcessKind, ...] = ("relay", "delivery", "gateway")
_SHORT_LEASES = {"GATEWAY_LEASE_S": "4", "GATEWAY_RENEW_EVERY_S": "1.3", "RELAY_LEASE_S": "4"}
_SHORT_S, _LONG_S = 8.0, 20.0
"""Longer than any lease, and shorter than the time after which a process's watchdog would end it."""


async def inflict(run: FaultRun) -> None:
    """Freeze one process after the other, with a second process of each kind to take over."""
    installation = run.installation
    await installation.renew("gateway", "gateway", "relay", **_SHORT_LEASES)
    added = await installation.start("relay", "delivery", **_SHORT_LEASES)
    for turn in run.rounds(len(_KINDS)):
        kind = _KINDS[turn % len(_KINDS)]
        frozen = installation.running[kind][0]
        run.load.step(f"SIGSTOP {kind}")
        frozen.popen.send_signal(signal.SIGSTOP)
        await passed(_SHORT_S if run.is_short else _LONG_S)
        frozen.popen.send_signal(signal.SIGCONT)
        await run.load.sent_more(20)
    for process in added:
        await installation.kill(process, signal.SIGTERM)
    await installation.renew("gateway", "gateway", "relay")


FAULT = Fault(
    name="freezes",
    invariant="A process that was stopped beyond the end of its lease does no harm when it continues: nothing lost, nothing duplicated.",
    fault="SIGSTOP of a relay, a worker and a gateway for longer than a session (3 s) and a lease (4 s), then SIGCONT",
    inflict=inflict,
)
