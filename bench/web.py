"""Measure the packages for the web in Chromium, on an installation that `tidings dev` starts.

core_kb, react_kb               Size of the core of `@tidings/client`, and of the components with the whole client,
                                minified and gzipped, without React.
client_kb                       Size of `@tidings/client` with IndexedDB and shared tabs.
append_ms_at_10000              95th percentile of the time from a frame to the committed row, with 10,000 messages.
                                Frames are held back until the installation, which shares the cores, is idle.
rows_rerendered_per_append      Rendered message rows per appended message; the new row is one.
open_offline_ms                 Median time from the navigation to the chat list without a network.
axe_violations                  Violations that axe finds on all screens.
takeover_ms                     Longest time until another tab sends, after the leader was closed or crashed.
*_min, *_median, *_max          Spread of the measured times.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.report import print_figures, print_table
from bench.whole.parts import commit
from tools import web
from tools.node import ROOT, node_command, node_environment

LIMITS = {
    "core_kb": 20.0,
    "react_kb": 60.0,
    "append_ms_at_10000": 4.0,
    "rows_rerendered_per_append": 1.0,
    "open_offline_ms": 300.0,
    "axe_violations": 0.0,
    "takeover_ms": 2_000.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=10_000, help="messages in the chat")
    parser.add_argument("--appends", type=int, default=200, help="appended messages")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of the other measurements")
    parser.add_argument("--report", type=Path, help="write a page with the figures")
    given = parser.parse_args()
    web.ensure_installed()
    web.build_libraries()
    figures = {
        "core_kb": min(client_kb := _sizes_kb(ROOT / "sdk-typescript")),
        "client_kb": max(client_kb),
        "react_kb": max(_sizes_kb(ROOT / "react")),
        **_browser_figures(given.messages, given.appends, given.rounds),
    }
    rows = [(name, f"{figures[name]:.2f}", f"{limit:g}") for name, limit in LIMITS.items()]
    if given.report:
        given.report.write_text(_page(rows, figures, given.messages, given.appends))
    print_table(("figure", "measured", "limit"), rows)
    print_figures(figures)


def _page(
    rows: Sequence[tuple[str, str, str]], figures: dict[str, float], messages: int, appends: int
) -> str:
    table = "\n".join(f"| `{name}` | {measured} | {limit} |" for name, measured, limit in rows)
    return f"""# Packages for the web

`just bench web` measures `@tidings/client` and `@tidings/react` in Chromium, on an installation that `tidings dev` started on the same machine. `just bench web --help` explains the figures.

| figure | measured | limit |
|---|---|---|
{table}

`append_ms_at_10000` is the 95th percentile of {appends} appended messages in a chat with {messages:,} loaded messages; the median is {figures["append_ms_median"]:.1f} ms ({_range(figures, "append_ms")}). `open_offline_ms` is a median ({_range(figures, "open_offline_ms")}), `takeover_ms` the longest time ({_range(figures, "takeover_ms")}). `Client` with IndexedDB and shared tabs has {figures["client_kb"]:.1f} KB.

The machine has {os.cpu_count()} cores, which the browser shares with the installation; its load was {os.getloadavg()[0]:.1f} at the end. Commit {commit()}, {datetime.now(UTC):%Y-%m-%d}.
"""


def _range(figures: dict[str, float], name: str) -> str:
    return f"{figures[name + '_min']:.1f} to {figures[name + '_max']:.1f} ms"


def _sizes_kb(package: Path) -> list[float]:
    """Return the sizes that `size-limit` measures for the package."""
    measured = json.loads(output_of("size-limit", "--json", folder=package))
    return [each["size"] / 1000 for each in measured]


def _browser_figures(messages: int, appends: int, rounds: int) -> dict[str, float]:
    args = ["bench/run.ts", "--messages", str(messages), "--appends", str(appends), "--rounds", str(rounds)]
    printed = output_of("node", *args, folder=ROOT / "browser-tests")
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


def output_of(name: str, *args: str, folder: Path) -> str:
    done = subprocess.run(  # noqa: S603 - a program of the checkout
        node_command(name, args),
        cwd=folder,
        env=node_environment(),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
