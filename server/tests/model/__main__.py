"""`just models`: explore the models and their mutants, and say what was found."""

import argparse
import sys
import time
from collections.abc import Iterable

from model.cases import HELD, HELD_WIDE, Bounds, explored
from model.mutants import BREAKS, Break
from model.page import PAGE, held, tables, with_tables


def main() -> int:
    wanted = _arguments()
    if wanted.trace:
        return _trace(wanted.trace)
    broken = _hold(HELD_WIDE if wanted.wide else HELD)
    if not wanted.wide:
        broken += _fall(BREAKS)
    if wanted.write:
        new = {"wide": held(HELD_WIDE)} if wanted.wide else tables()
        PAGE.write_text(with_tables(PAGE.read_text(), new))
    return min(broken, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just models", description=__doc__)
    parser.add_argument("--wide", action="store_true", help="wider bounds, some minutes and gigabytes")
    parser.add_argument("--write", action="store_true", help="write the tables of the page")
    parser.add_argument("--trace", metavar="MODEL.MUTANT", help="how a mutant falls, step by step")
    return parser.parse_args()


def _trace(name: str) -> int:
    chosen = [one for one in BREAKS if one.name == name]
    for one in chosen:
        print(f"{one.name}: {one.mutant}\n{explored(one.bounds, one.mutant).breach}")
    if not chosen:
        print(f"no mutant {name}; there are:", *sorted({one.name for one in BREAKS}), sep="\n  ")
    return 0 if chosen else 2


def _hold(all_bounds: Iterable[Bounds]) -> int:
    broken = 0
    for bounds in all_bounds:
        began_s = time.process_time()
        found = explored(bounds)
        took_s = time.process_time() - began_s
        print(
            f"{bounds.model:8} {bounds.scene:10} {bounds.what:44} {found.states:>9,} states {took_s:6.1f} s",
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
