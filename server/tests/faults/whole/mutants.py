"""Mutant servers under a small load: each breaks one promise, and the checker must report which one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from fixtures.installation_processes import ProcessKind

from faults.whole.failover import failover_without_fence
from faults.whole.fault import FaultRun
from faults.whole.frozen_shard import freeze_briefly
from faults.whole.installation import WHOLE, FaultInstallation
from faults.whole.restore import restore_members_behind, restore_once, restore_rows_ahead
from tidings_harness.checking.verdict import Rule
from tidings_harness.workload.scenario import Scenario

_LOAD: Final = Scenario(groups=2, members=6, devices=2, speakers=3, rate=20, moderates=True)
_ENTRIES: Final = 150
_QUIET_WITHIN_S: Final = 6.0
_GATEWAYS: Final = ("gateway", "gateway")


@dataclass(frozen=True, slots=True)
class Breaking:
    """The kinds of processes that run as mutants, and the rule that must catch them."""

    kinds: tuple[ProcessKind, ...]
    rule: Rule
    under: Callable[[FaultRun, Mapping[str, str]], Awaitable[None]] | None = None
    """A fault that the mutant needs to show its effect. It restarts the mutants itself."""


BREAKING: Final[dict[str, Breaking]] = {
    "acks_before_commit": Breaking(_GATEWAYS, Rule.ONE_ENTRY),
    "puts_without_condition": Breaking(_GATEWAYS, Rule.ONE_ENTRY),
    "forgets_keys": Breaking(_GATEWAYS, Rule.ONE_SEQUENCE),
    "leaves_out_entries": Breaking(_GATEWAYS, Rule.EVERYTHING),
    "drops_pushes": Breaking(_GATEWAYS, Rule.NO_HOLES),
    "pushes_twice": Breaking(_GATEWAYS, Rule.NOTHING_TWICE),
    "lowers_watermarks": Breaking(_GATEWAYS, Rule.FORWARD),
    "appends_what_it_refuses": Breaking(_GATEWAYS, Rule.FAILED_IS_FAILED),
    "ignores_mutes": Breaking(_GATEWAYS, Rule.MUTED_IS_SILENT),
    "ignores_bans": Breaking(("api",), Rule.BANNED_IS_OUT),
    "ignores_intervals": Breaking(("delivery",), Rule.NOTHING_ELSE),
    "counts_one_more": Breaking(("api",), Rule.UNREAD),
    "keeps_the_epoch": Breaking(WHOLE, Rule.ONE_ENTRY, under=restore_once),
    "believes_rows": Breaking(WHOLE, Rule.UNREAD, under=restore_rows_ahead),
    "believes_memberships": Breaking(WHOLE, Rule.EVERYTHING, under=restore_members_behind),
    "takes_silence_for_absence": Breaking(WHOLE, Rule.EVERYTHING, under=freeze_briefly),
    # No mutant server, but a runbook without the policy. The last one: it leaves the installation in another region.
    "leaves_out_the_fence": Breaking((), Rule.EVERYTHING, under=failover_without_fence),
}


@dataclass(frozen=True, slots=True)
class Caught:
    name: str
    rule: Rule
    broken: frozenset[Rule]

    @property
    def is_caught(self) -> bool:
        return self.rule in self.broken


async def catch(installation: FaultInstallation, names: Sequence[str]) -> AsyncIterator[Caught]:
    """Run each mutant and yield what the checker found.

    Mutants of the same kinds run in sequence; correct processes are restored only when the next mutant has other
    kinds. A mutant that was missed is tried once more, because in a short run its effect depends on chance.
    """
    for name, following in pairwise([*names, None]):
        assert name is not None
        caught = await _catch(name, installation)
        yield caught if caught.is_caught else await _catch(name, installation)
        if following and BREAKING[following].kinds != BREAKING[name].kinds:
            await installation.renew(*BREAKING[name].kinds)


async def _catch(name: str, installation: FaultInstallation) -> Caught:
    breaking = BREAKING[name]
    await installation.renew(*breaking.kinds, FAILPOINTS_MUTANT=name)
    async with installation.load(_LOAD) as load:
        await load.sent_more(_ENTRIES)
        if breaking.under is not None:
            await breaking.under(FaultRun(installation=installation, load=load), {"FAILPOINTS_MUTANT": name})
        verdict = await load.finish(_QUIET_WITHIN_S)
    return Caught(name, breaking.rule, frozenset(verdict.broken))
