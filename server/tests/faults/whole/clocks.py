"""Shift clocks: some processes run an hour ahead, others a day behind. Order comes from sequences, not from clocks."""

from fixtures.installation_processes import ProcessKind

from faults.whole.fault import Fault, FaultRun

_JUMPS_S: tuple[tuple[ProcessKind, str], ...] = (
    ("delivery", "-86400"),
    ("relay", "86400"),
    ("delivery", "3600"),
    ("gateway", "1200"),
)
_KINDS: tuple[ProcessKind, ...] = ("delivery", "relay", "gateway")


async def inflict(run: FaultRun) -> None:
    """Shift one clock after the other, then restart all processes with correct clocks.

    A gateway's clock is shifted by less than the lifetime of a token, because with a larger shift it could not
    authenticate any device.
    """
    installation = run.installation
    for _ in run.rounds():
        for kind, offset_s in _JUMPS_S:
            run.load.step(f"{kind} by {offset_s} s")
            await installation.replace(
                installation.running[kind][0], kind, FAILPOINTS_CLOCK_OFFSET_S=offset_s
            )
            await run.load.sent_more(20)
        for kind in _KINDS:
            await installation.renew(*[kind] * len(installation.running[kind]))


FAULT = Fault(
    name="clock jumps",
    invariant="No order and no interval depends on a clock.",
    fault="workers a day behind and an hour ahead, the relay a day ahead, one gateway 20 minutes ahead of the other",
    inflict=inflict,
)
