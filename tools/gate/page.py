"""Write the tables of `docs/contributing/tests.md` and `docs/benchmarks/nightly.md` between their markers."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.gate.cost import GateCost
from tools.gate.mutants import MutantResult
from tools.gate.nightly import NightlyRecord, describe_commit, describe_machine
from tools.gate.parts import NIGHTLY
from tools.gate.runner import PartResult
from tools.node import ROOT

PAGE = ROOT / "docs/contributing/tests.md"
NIGHTLY_PAGE = ROOT / "docs/benchmarks/nightly.md"
COST_FILE = ROOT / "docs/benchmarks/gate.json"
_FILES = 25
"""Number of test files that the table names."""


def record_cost(name: str, gate: str, results: Sequence[PartResult], total_s: float, cost: GateCost) -> None:
    """Store a measurement under a name, and write the tables of all measurements."""
    record = json.loads(COST_FILE.read_text()) if COST_FILE.exists() else {}
    record[name] = {
        "gate": gate,
        "commit": describe_commit(ROOT),
        "machine": describe_machine(),
        "minutes": round(total_s / 60, 1),
        "parts": {result.name: round(result.seconds / 60, 1) for result in results},
        "cpu_s": {
            part: {kind: round(cpu_s, 1) for kind, cpu_s in kinds.items()}
            for part, kinds in cost.by_part.items()
            if part in {result.name for result in results}  # its tests have parts of their own
        },
        "files": _largest(cost.by_file),
    }
    COST_FILE.write_text(json.dumps(record, indent=1) + "\n")
    write_cost(record)


def write_cost(record: dict[str, Any]) -> None:
    names = list(record)
    parts = {name: _numbers(record[name]["cpu_s"]) for name in names}
    kinds = {name: _by_kind(record[name]["cpu_s"]) for name in names}
    files: dict[str, dict[str, float]] = {name: record[name]["files"] for name in names}
    runs = [
        f"- **{name}**: `just check --full` at `{record[name]['commit']}`, {record[name]['minutes']} minutes, "
        f"{sum(parts[name].values()) / 60:.0f} minutes of CPU; {record[name]['machine']}."
        for name in names
    ]
    lines = [
        *runs,
        "",
        *_table("part", names, parts),
        "",
        *_table("kind of process", names, kinds),
        "",
        *_table("test file, with the processes that it starts", names, files),
    ]
    _write(PAGE, "cost", lines)


def write_mutants(results: Sequence[MutantResult], commit: str) -> None:
    missed = sum(not result.is_caught for result in results)
    lines = [
        f"`just gate-mutants` at `{commit}`: {len(results)} mutants, {missed} missed.",
        "",
        "| subject | mutant | what breaks | found by |",
        "|---|---|---|---|",
        *(
            f"| {result.mutant.subject} | `{result.mutant.name}` | {result.mutant.breaks} "
            f"| {f'`{_short(result.found_by)}`' if result.is_caught else '**missed**'} |"
            for result in results
        ),
    ]
    _write(PAGE, "mutants", lines)


def write_nightly(record: NightlyRecord) -> None:
    newest = max((result.ended for result in record.results.values()), default="")
    commit = next((result.commit for result in record.results.values() if result.ended == newest), "")
    hours = sum(result.seconds for result in record.results.values()) / 3600
    lines = [
        f"Newest commit: `{commit}`. All parts together: {hours:.1f} hours. Machine: {describe_machine()}.",
        "",
        "| part | command | result | minutes | minutes of CPU | commit | last line of the output |",
        "|---|---|---|---:|---:|---|---|",
    ]
    for part in NIGHTLY:
        result = record.results.get(part.name)
        if result is None:
            lines.append(f"| {part.name} | `{part.command}` | not run yet | | | | |")
            continue
        outcome = result.note or ("passed" if result.exit_code == 0 else f"**failed ({result.exit_code})**")
        older = "" if result.commit == commit else ", older"
        last = result.last_line.replace("|", "\\|").strip("= ")
        lines.append(
            f"| {part.name} | `{part.command}` | {outcome} | {result.seconds / 60:.1f} | {result.cpu_s / 60:.1f} "
            f"| `{result.commit}`{older} | {f'`{last[:200]}`' if last else ''} |"
        )
    _write(NIGHTLY_PAGE, "parts", lines)


def _table(head: str, names: Sequence[str], columns: dict[str, dict[str, float]]) -> list[str]:
    """Return a table of minutes of CPU, with a column for each measurement and the largest rows first."""
    largest: dict[str, float] = {}
    for column in columns.values():
        for row, seconds in column.items():
            largest[row] = max(largest.get(row, 0.0), seconds)
    rows = sorted(largest, key=lambda row: -largest[row])
    return [
        f"| {head} | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
        *(
            f"| {row} | {' | '.join(f'{columns[name][row] / 60:.1f}' if row in columns[name] else '' for name in names)} |"
            for row in rows
        ),
    ]


def _numbers(cpu: dict[str, dict[str, float]]) -> dict[str, float]:
    return {part: sum(kinds.values()) for part, kinds in cpu.items()}


def _by_kind(cpu: dict[str, dict[str, float]]) -> dict[str, float]:
    return {
        kind: sum(kinds.get(kind, 0.0) for kinds in cpu.values())
        for kind in {kind for kinds in cpu.values() for kind in kinds}
    }


def _short(test: str) -> str:
    return test.rpartition("/")[2]


def _write(path: Path, mark: str, lines: Sequence[str]) -> None:
    block = "\n".join([f"<!-- {mark} -->", *lines, "<!-- end -->"])
    text = re.sub(rf"<!-- {mark} -->.*?<!-- end -->", lambda _: block, path.read_text(), flags=re.DOTALL)
    path.write_text(text)


def _largest(files: dict[str, float]) -> dict[str, float]:
    names = sorted(files, key=lambda file: -files[file])[:_FILES]
    return {file: round(files[file], 1) for file in names}
