"""Measure adding members to a group through the API and the job, with all processes as they run in an installation.

One table row for each size: how long the members take to join, and what one of them costs in units and CPU.
"""

import argparse
import asyncio
import time

import uvloop

from bench.e2e import Installation, Measured, Phase, installation
from bench.e2e_devices import Tally
from bench.report import print_figures, print_table
from bench.whole.growth_members import create_group, serve_large_groups

_SETTLE_S = 3.0


async def bench(here: Installation, sizes: list[int]) -> None:
    await serve_large_groups(here)
    await added(here, 200)  # connections and caches are warm afterwards
    rows: list[tuple[str, ...]] = []
    figures: dict[str, float] = {}
    for size in sizes:
        measured = await added(here, size)
        per_s = size / measured.took_s
        ours_us = measured.ours_us
        rows.append(
            (
                f"{size:,}",
                f"{measured.took_s:.1f}",
                f"{per_s:,.0f}",
                f"{measured.write_units * 1_000:,.0f}",
                f"{measured.read_units * 1_000:,.0f}",
                f"{ours_us:,.0f}",
            )
        )
        figures |= {
            f"members_per_s_{size}": per_s,
            f"write_units_per_1000_members_{size}": measured.write_units * 1_000,
            f"read_units_per_1000_members_{size}": measured.read_units * 1_000,
            f"cpu_us_per_member_{size}": ours_us,
        }
    print_table(
        ("members", "seconds", "per second", "write units of 1,000", "read units of 1,000", "CPU µs of one"),
        rows,
    )
    print_figures(figures)


async def added(here: Installation, size: int) -> Measured:
    """Create a group of this size. The cost includes delivery, which writes the chat row of each member."""
    tally, phase = Tally(), Phase(here)
    began = time.perf_counter()
    await create_group(here, f"owner{size}", [f"m{size}-{number}" for number in range(size)])
    took_s = time.perf_counter() - began
    await asyncio.sleep(_SETTLE_S)
    tally.sent = size
    return phase.end(tally, took_s)


def main() -> None:
    parser = argparse.ArgumentParser(prog="just bench add_members", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    options = parser.parse_args()
    with installation() as here:
        uvloop.run(bench(here, options.sizes))


if __name__ == "__main__":
    main()
