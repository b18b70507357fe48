"""Servers that break a promise on purpose, under a small load: the checker must say which one was broken."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fixtures.city import City, ProcessKind

from faults.whole.stand import Stand, stand_on
from tidings_harness.checking.verdict import Rule
from tidings_harness.workload.scenario import Scenario

_LOAD: Final = Scenario(groups=2, members=6, devices=2, speakers=3, rate=12)
_ENTRIES: Final = 150
_QUIET_WITHIN_S: Final = 6.0
_GATEWAYS: Final = ("gateway", "gateway")


@dataclass(frozen=True, slots=True)
class Breaking:
    """Which processes are mutants, and the rule that is to catch them."""

    kinds: tuple[ProcessKind, ...]
    rule: Rule


BREAKING: Final[dict[str, Breaking]] = {
    "acks_before_commit": Breaking(_GATEWAYS, Rule.ONE_ENTRY),
    "puts_without_condition": Breaking(_GATEWAYS, Rule.ONE_ENTRY),
    "forgets_keys": Breaking(_GATEWAYS, Rule.ONE_SEQUENCE),
    "leaves_out_entries": Breaking(_GATEWAYS, Rule.EVERYTHING),
    "drops_pushes": Breaking(_GATEWAYS, Rule.NO_HOLES),
    "pushes_twice": Breaking(_GATEWAYS, Rule.NOTHING_TWICE),
    "ignores_intervals": Breaking(("delivery",), Rule.NOTHING_ELSE),
    "lowers_watermarks": Breaking(_GATEWAYS, Rule.FORWARD),
    "counts_one_more": Breaking(("api",), Rule.UNREAD),
    "appends_what_it_refuses": Breaking(_GATEWAYS, Rule.FAILED_IS_FAILED),
}


@dataclass(frozen=True, slots=True)
class Caught:
    name: str
    rule: Rule
    broken: frozenset[Rule]

    @property
    def is_caught(self) -> bool:
        return self.rule in self.broken


async def catch_all(city: City, tell: Callable[[Caught], None]) -> list[Caught]:
    found = []
    async with stand_on(city) as stand:
        for name in BREAKING:
            found.append(await _catch(name, stand))
            tell(found[-1])
    return found


async def _catch(name: str, stand: Stand) -> Caught:
    """The mutants are put in the place of good ones, and these in theirs."""
    breaking = BREAKING[name]
    await stand.renew(*breaking.kinds, TESTING_MUTANT=name)
    async with stand.load(_LOAD) as load:
        await load.sent_more(_ENTRIES, 60)
        verdict = await load.finish(_QUIET_WITHIN_S)
    await stand.renew(*breaking.kinds)
    return Caught(name, breaking.rule, frozenset(verdict.broken))
