"""Print the figures that decide whether a version may be released, as one line of JSON: `just release-check`.

Each check returns figures and faults. A new check is a function in `CHECKS`.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from infra.aws.iam_checks import check_iam
from infra.aws.process_calls import CALLS_FILE, derive_calls, render_calls
from infra.aws.provider import known_names, modules, unknown_names
from tools.node import ROOT
from tools.release.check import DIST, artefact_figures, release_faults

UPGRADE_RECORD: Final = ROOT / "docs/benchmarks/upgrade.json"
"""`just upgrade-test FROM TO --write` writes it."""
_UPGRADE_FIGURES: Final = ("upgrade_lost", "upgrade_doubled")


@dataclass(frozen=True, slots=True)
class ReleaseFigures:
    """`figures` are printed also if there are faults. A figure that was not determined is None."""

    figures: dict[str, float | None]
    faults: list[str] = field(default_factory=list)


def check_policies(*, is_short: bool) -> ReleaseFigures:
    """Compare the policies of processes with what they need and did. The long form also derives what they need again."""
    report = check_iam()
    faults = [f"allowed and not needed: {each}" for each in report.extra]
    faults += [f"needed and not allowed: {each}" for each in report.missing]
    outdated = None if is_short else int(render_calls(derive_calls()) != CALLS_FILE.read_text())
    if outdated:
        faults.append(
            f"{CALLS_FILE.name} is not as derived: run `python -m infra derive`, then `just infra-write`"
        )
    return ReleaseFigures({**report.figures, "iam_calls_outdated": outdated}, faults)


def check_modules(*, is_short: bool) -> ReleaseFigures:
    """Compare the names of resources and arguments in the OpenTofu modules with those of the AWS provider."""
    del is_short
    unknown = [fault for module in modules() for fault in unknown_names(module, known_names())]
    return ReleaseFigures({"module_names_unknown": len(unknown)}, unknown)


def check_upgrade(*, is_short: bool) -> ReleaseFigures:
    """Read the record of the last upgrade test. The long form runs the test from the recorded commit to this one."""
    if not UPGRADE_RECORD.exists():
        nothing: dict[str, float | None] = dict.fromkeys(_UPGRADE_FIGURES)
        return ReleaseFigures(
            nothing, [f"{UPGRADE_RECORD.name} is missing: run `just upgrade-test FROM TO --write`"]
        )
    found = json.loads(UPGRADE_RECORD.read_text())
    if not is_short:
        command = [sys.executable, "-m", "faults.whole.upgrade", found["from"], "HEAD"]
        done = subprocess.run(
            command, cwd=ROOT / "server/tests", check=False, stdout=subprocess.PIPE, text=True
        )
        lines = done.stdout.splitlines() or ["{}"]
        reported = [line.partition("fault: ")[2] for line in lines if "fault: " in line]
        failed = ["the upgrade test did not finish"] if done.returncode and not reported else []
        found = (json.loads(lines[-1]) if lines[-1].startswith("{") else {}) | {"faults": reported + failed}
    figures = {name: found.get(name) for name in _UPGRADE_FIGURES}
    faults = [f"{name} is {value}" for name, value in figures.items() if value != 0]
    return ReleaseFigures(figures, [*faults, *(f"upgrade: {fault}" for fault in found["faults"])])


def check_artefacts(*, is_short: bool) -> ReleaseFigures:
    """Check the artefacts of the last build. The long form requires that there was one."""
    built = artefact_figures(DIST)["artefacts"]
    faults = [] if built is None and is_short else release_faults(DIST)
    return ReleaseFigures({"artefacts": built}, faults)


DRILLS: Final = ("restore", "tables of different instants", "failover")
DRILL_RECORD: Final = ROOT / "docs/benchmarks/drills.json"
MAX_RTO_S: Final = 120.0
"""30 s of it are the wait of `tidings restore finish`. The rest suffices for the commands and starts on two busy cores."""


def check_drills(*, is_short: bool) -> ReleaseFigures:
    """Compare the drills of restore and failover with their limits. The long form runs them; both read the record."""
    if not is_short:
        DRILL_RECORD.unlink(missing_ok=True)  # drills that cannot run must not leave an earlier record
        subprocess.run(["just", "drills"], check=False)
    record = json.loads(DRILL_RECORD.read_text()) if DRILL_RECORD.exists() else {}
    return judge_drills(record)


def judge_drills(record: dict[str, Any]) -> ReleaseFigures:
    """Return the figures of recorded drills: entries lost by the failover, and the longest recovery."""
    faults = [f"{DRILL_RECORD} has no drill {name!r}" for name in DRILLS if name not in record]
    for name, drill in record.items():
        if drill["is_short"]:
            faults.append(f"the drill {name!r} ran in its short form")
        if drill["commit"].endswith("-dirty"):
            faults.append(f"the drill {name!r} ran on uncommitted changes")
        if not drill["is_good"]:
            faults.append(f"the drill {name!r} found a violation, or could not run")
        if drill["rto_s"] > MAX_RTO_S:
            faults.append(f"the drill {name!r} recovered in {drill['rto_s']} s, more than {MAX_RTO_S:g} s")
    figures = {
        "drill_rpo_entries": record.get("failover", {}).get("rpo_entries"),
        "drill_rto_s": max((drill["rto_s"] for drill in record.values()), default=None),
    }
    return ReleaseFigures(figures, [f"{fault}: run `just drills`" for fault in faults])


CHECKS: Final[tuple[Callable[..., ReleaseFigures], ...]] = (
    check_policies,
    check_modules,
    check_drills,
    check_upgrade,
    check_artefacts,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="just release-check", description=__doc__)
    parser.add_argument("--short", action="store_true", help="Leave out what takes minutes.")
    options = parser.parse_args()
    results = [check(is_short=options.short) for check in CHECKS]
    for fault in (fault for result in results for fault in result.faults):
        print(f"fault: {fault}")
    print(json.dumps({name: value for result in results for name, value in result.figures.items()}))
    return 1 if any(result.faults for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
