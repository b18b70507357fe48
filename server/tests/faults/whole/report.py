"""Write the tables of `docs/explanation/faults.md` between their markers. The text around them is written by hand."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from faults.whole.catalogue import FAULTS
from faults.whole.fault import Outcome
from faults.whole.mutants import Caught

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    is_short: bool
    took_s: float


def write(path: Path, run: Run, outcomes: Sequence[Outcome], caught: Sequence[Caught]) -> None:
    """Replace the tables of the suites that ran; the other tables stay."""
    text = path.read_text()
    if outcomes:
        lines = [_summary(run, outcomes), "", *_faults(outcomes)]
        text = _between("short" if run.is_short else "full", lines, text)
    if caught:
        text = _between("servers", _servers(caught), text)
    path.write_text(text)


def _between(mark: str, lines: Sequence[str], text: str) -> str:
    table = "\n".join([f"<!-- {mark} -->", *lines, "<!-- end -->"])
    return re.sub(rf"<!-- {mark} -->.*?<!-- end -->", lambda _: table, text, flags=re.DOTALL)


def _summary(run: Run, outcomes: Sequence[Outcome]) -> str:
    deliveries = sum(each.verdict.deliveries for each in outcomes)
    lost = sum(each.verdict.lost for each in outcomes)
    doubled = sum(each.verdict.doubled for each in outcomes)
    return (
        f"{len(outcomes)} faults, {deliveries:,} deliveries checked, {lost} lost, {doubled} doubled, in "
        f"{run.took_s / 60:.1f} minutes on {machine()}; commit {describe_commit()}, {datetime.now(UTC):%Y-%m-%d}."
    )


def record_drills(
    path: Path, command: str, commit: str, *, is_short: bool, outcomes: Sequence[Outcome]
) -> None:
    """Write the figures of all outcomes with a recovery. Other drills of the file stay. `just release-check` reads it."""
    record = json.loads(path.read_text()) if path.exists() else {}
    run = {
        "command": command,
        "commit": commit,
        "machine": machine(),
        "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "is_short": is_short,
    }
    record |= {each.name: _drill(each) | run for each in outcomes if each.recoveries or not each.is_good}
    path.write_text(json.dumps(record, indent=2) + "\n")


def _drill(outcome: Outcome) -> dict[str, object]:
    """Return the figures of a drill. Of several recoveries, the worst counts."""
    found = outcome.verdict
    return {
        **{
            name: round(max((getattr(each, name) for each in outcome.recoveries), default=0), 1)
            for name in ("rpo_entries", "rpo_s", "rto_s", "delivered_s")
        },
        **outcome.figures,
        "deliveries": found.deliveries,
        "lost": found.lost,
        "doubled": found.doubled,
        "is_good": outcome.is_good,
    }


def machine() -> str:
    gib = psutil.virtual_memory().total / _GIB
    return f"{os.cpu_count()} cores ({platform.machine()}), {gib:.0f} GiB, Python {platform.python_version()}"


def describe_commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return described.stdout.strip() or "unknown"


def _faults(outcomes: Sequence[Outcome]) -> list[str]:
    by_name = {fault.name: fault for fault in FAULTS}
    return [
        "| fault | what is done | what must hold | deliveries | devices | lost | doubled | healed in |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {each.name} | {by_name[each.name].fault} | {by_name[each.name].invariant} "
            f"| {each.verdict.deliveries:,} | {each.verdict.devices:,} | {each.verdict.lost} | {each.verdict.doubled} "
            f"| {each.healed_s:.1f} s |"
            for each in outcomes
        ),
    ]


def _servers(caught: Sequence[Caught]) -> list[str]:
    rows = [
        f"| `{each.name}` | {each.rule.value} | {', '.join(sorted(rule.value for rule in each.broken)) or 'nothing'} |"
        for each in caught
    ]
    return ["| mutant | breaks | caught by |", "|---|---|---|", *rows]
