"""The report as a page: a table of faults, a table of mutants and the rule that caught each."""

from collections.abc import Sequence

from faults.whole.catalogue import FAULTS
from faults.whole.fault import Outcome
from faults.whole.mutants import Caught
from tidings_harness.checking.check import check
from tidings_harness.imagined import Town, imagine
from tidings_harness.mutants import MUTANTS


def page(outcomes: Sequence[Outcome], caught: Sequence[Caught]) -> str:
    return "\n".join([*_faults(outcomes), "", *_servers(caught), "", *_histories(), ""])


def _faults(outcomes: Sequence[Outcome]) -> list[str]:
    told = {fault.name: fault for fault in FAULTS}
    return [
        "| fault | what is done | what must hold | deliveries | lost | doubled | healed in |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {each.name} | {told[each.name].fault} | {told[each.name].invariant} "
            f"| {each.verdict.deliveries:,} | {each.verdict.lost} | {each.verdict.doubled} | {each.healed_s:.1f} s |"
            for each in outcomes
        ),
    ]


def _servers(caught: Sequence[Caught]) -> list[str]:
    rows = [
        f"| `{each.name}` | {each.rule.value} | {', '.join(sorted(rule.value for rule in each.broken)) or 'nothing'} |"
        for each in caught
    ]
    return ["| server that | is to break | caught by |", "|---|---|---|", *rows]


def _histories() -> list[str]:
    town = Town()
    rows = [
        f"| `{name}` | {mutant.rule.value} "
        f"| {', '.join(sorted(rule.value for rule in check(mutant.of(imagine(town), town)).broken))} |"
        for name, mutant in MUTANTS.items()
    ]
    return ["| history with | is to break | caught by |", "|---|---|---|", *rows]
