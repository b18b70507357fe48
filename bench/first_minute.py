"""Measure the first minute of a new user in Chromium: `tidings dev` in a new directory, and its demo page.

ready_s             Time from the start of `tidings dev` until it prints the address of the page.
first_message_s     Time from the start until a message of one person is on the other person's half of the page.

The machine is warm: engines are downloaded, the page is built, and a browser runs. Figures are medians.
"""

import argparse
import json

from bench.report import print_figures, print_table
from bench.web import output_of
from tools import web
from tools.node import ROOT

LIMITS = {"ready_s": 25.0, "first_message_s": 30.0}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="number of starts")
    given = parser.parse_args()
    web.ensure_installed()
    web.build_pages()
    figures = measure(given.rounds)
    print_table(
        ("figure", "measured", "limit"),
        [(name, f"{figures[name]:.1f}", f"{limit:g}") for name, limit in LIMITS.items()],
    )
    print_figures(figures)


def measure(rounds: int) -> dict[str, float]:
    printed = output_of(
        "node", "bench/first_minute.ts", "--rounds", str(rounds), folder=ROOT / "browser-tests"
    )
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
