"""Everything that is measured, and the report of it: `just bench all`.

    just bench all --short              small numbers, a few minutes: does it work?
    just bench all --only growth-chats  one part again; the others stay as they were
    just bench all --report             nothing is measured, the pages are made anew

Each part is a process of its own and leaves a file in `results/`; a part that breaks stops none of the others.
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
        sys.stdout.write(f"broken, to be run again with --only: {', '.join(broken)}\n")
    return 1 if broken else 0


def _wanted(given: argparse.Namespace) -> list[str]:
    if given.report:
        return []
    return given.only or [part.name for part in PARTS if not part.peer or given.peers]


def _child(name: str, given: argparse.Namespace) -> bool:
    sys.stdout.write(f"{name} ...\n")
    sys.stdout.flush()
    words = ["--part", name, "--to", str(given.to), *(["--short"] if given.short else [])]
    return subprocess.run([sys.executable, "-m", "bench.all", *words], check=False).returncode == 0


def _raise_files() -> None:
    """A connection is an open file, on both ends."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="just bench all", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="small numbers")
    parser.add_argument("--only", nargs="+", choices=list(BY_NAME), metavar="PART", help=", ".join(BY_NAME))
    parser.add_argument(
        "--peers", action="store_true", help="also other servers, as far as they are installed"
    )
    parser.add_argument("--report", action="store_true", help="only make the pages")
    parser.add_argument("--to", type=Path, default=FOLDER, help="where results and pages go")
    parser.add_argument("--part", choices=list(BY_NAME), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
