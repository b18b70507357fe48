"""Measure all parts and generate the benchmark report.

    just bench all --short              Run with small numbers in a few minutes, to test the benchmarks.
    just bench all --only growth-chats  Measure one part again; the others keep their results.
    just bench all --report             Generate the pages from existing results, without measuring.

Each part runs in its own process and writes a file to `results/`. A part that fails does not stop the others.
"""

import argparse
import resource
import subprocess
import sys
from pathlib import Path

from bench.whole import report
from bench.whole.model import load_all, save
from bench.whole.parts import BY_NAME, PARTS, ROOT, gone, run

FOLDER = ROOT / "docs" / "benchmarks"
ELSEWHERE = Path(__file__).parent / "whole" / "elsewhere"


def main() -> int:
    given = _options()
    _raise_files()
    if given.part:
        result = run(BY_NAME[given.part], is_short=given.short)
        save(result, given.to / "results")
        return 0
    broken = [name for name in _wanted(given) if not _child(name, given)]
    for name in broken:
        save(gone(BY_NAME[name]), given.to / "results")
    results = load_all(given.to / "results", [part.name for part in PARTS])
    pages = report.write([*results, *load_all(ELSEWHERE)], given.to)
    sys.stdout.write("".join(f"{page}\n" for page in pages))
    if broken:
        sys.stdout.write(f"Failed parts, run again with --only: {', '.join(broken)}\n")
    return 1 if broken else 0


def _wanted(given: argparse.Namespace) -> list[str]:
    if given.report:
        return []
    return given.only or [part.name for part in PARTS if not part.peer or given.peers]


def _child(name: str, given: argparse.Namespace) -> bool:
    sys.stdout.write(f"{name} ...\n")
    sys.stdout.flush()
    arguments = ["--part", name, "--to", str(given.to), *(["--short"] if given.short else [])]
    return subprocess.run([sys.executable, "-m", "bench.all", *arguments], check=False).returncode == 0


def _raise_files() -> None:
    """Raise the limit of open files: each connection needs one at both ends."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="just bench all", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="run with small numbers")
    parser.add_argument("--only", nargs="+", choices=list(BY_NAME), metavar="PART", help=", ".join(BY_NAME))
    parser.add_argument("--peers", action="store_true", help="also measure other servers that are installed")
    parser.add_argument("--report", action="store_true", help="generate the pages without measuring")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder for results and pages")
    parser.add_argument("--part", choices=list(BY_NAME), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
