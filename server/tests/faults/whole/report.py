"""The tables of `docs/explanation/faults.md`, written between their marks; the prose around them is by hand."""

import re
from collections.abc import Sequence
from pathlib import Path

from faults.whole.catalogue import FAULTS
from faults.whole.fault import Outcome
from faults.whole.mutants import Caught


def write(path: Path, outcomes: Sequence[Outcome], caught: Sequence[Caught]) -> None:
    """What was not run keeps its table."""
    text = path.read_text()
    if outcomes:
        text = _between("faults", _faults(outcomes), text)
    if caught:
        text = _between("servers", _servers(caught), text)
    path.write_text(text)


def _between(mark: str, lines: Sequence[str], text: str) -> str:
    table = "\n".join([f"<!-- {mark} -->", *lines, "<!-- end -->"])
    return re.sub(rf"<!-- {mark} -->.*?<!-- end -->", lambda _: table, text, flags=re.DOTALL)


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
    return ["| mutant | is to break | caught by |", "|---|---|---|", *rows]
