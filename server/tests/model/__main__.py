"""`just models`: explore the models and their mutants, and say what was found."""

import argparse
import sys
import time
from collections.abc import Iterable

from model.cases import Bounds, explored
from model.mutants import Break
from model.page import held, with_tables
from model.suites import SUITES, Suite


def main() -> int:
    wanted = _arguments()
    suites = [suite for name, suite in SUITES.items() if wanted.of in {None, name}]
    if wanted.trace:
        return _trace(wanted.trace)
    broken = sum(_explored(suite, is_wide=wanted.wide) for suite in suites)
    if wanted.write:
        for suite in suites:
            _write(suite, is_wide=wanted.wide)
    return min(broken, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just models", description=__doc__)
    parser.add_argument("--of", choices=sorted(SUITES), help="of these models alone")
    parser.add_argument("--wide", action="store_true", help="wider bounds, some minutes and gigabytes")
    parser.add_argument("--write", action="store_true", help="write the tables of the pages")
    parser.add_argument("--trace", metavar="MODEL.MUTANT", help="how a mutant falls, step by step")
    return parser.parse_args()


def _trace(name: str) -> int:
    breaks = [one for suite in SUITES.values() for one in suite.breaks]
    chosen = [one for one in breaks if one.name == name]
    for one in chosen:
        print(f"{one.name}: {one.mutant}\n{explored(one.bounds, one.mutant).breach}")
    if not chosen:
        print(f"no mutant {name}; there are:", *sorted({one.name for one in breaks}), sep="\n  ")
    return 0 if chosen else 2


def _explored(suite: Suite, *, is_wide: bool) -> int:
    return _hold(suite.held_wide) if is_wide else _hold(suite.held) + _fall(suite.breaks)


def _write(suite: Suite, *, is_wide: bool) -> None:
    new = {"wide": held(suite.held_wide)} if is_wide else suite.tables()
    suite.page.write_text(with_tables(suite.page.read_text(), new))


def _hold(all_bounds: Iterable[Bounds]) -> int:
    broken = 0
    for bounds in all_bounds:
        began_s = time.process_time()
        found = explored(bounds)
        took_s = time.process_time() - began_s
        print(
            f"{bounds.model:16} {bounds.scene:15} {bounds.what:64} {found.states:>9,} states {took_s:6.1f} s",
            flush=True,
        )
        if found.breach:
            print(found.breach)
            broken += 1
    return broken


def _fall(breaks: Iterable[Break]) -> int:
    broken = 0
    for one in breaks:
        breach = explored(one.bounds, one.mutant).breach
        is_caught = breach is not None and breach.invariant == one.falls
        broken += not is_caught
        print(f"{one.name:30} {'falls' if is_caught else 'STANDS'}: {breach.invariant if breach else '-'}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
