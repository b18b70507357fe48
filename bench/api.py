"""Measure `tidings run api`: the cost of a request, the rate of one core, and ten times the first baseline.

Real processes run on real engines (dynoxide and Valkey) with users whose tokens their tenant's key signed. All share
the machine with the load generator in this process, so costs are CPU time of the API process. `saturation_per_core` is
the number of requests that the API answers in a second of its CPU time, in a closed loop with ten reads for each send.
`page_cpu_us` is the cost of a page of messages, and `page_floor_us` that of the same query by the same client behind a
bare uvicorn (see `bench.api_floor`). `p99_ms_at_60` is an open loop at 60 % of that rate with one API process.
`answered_per_s` and `p99_ms` are an open loop at `--sends` and `--reads` with `--processes`. One more run of this mix
is skewed by Zipf's law, with a group of `--members` as its most used chat. A proxy enforces the declared capacity of
tables and the limits of partitions: `throttled` counts its refusals, and `hottest_partition_…` are the units a second
of the most used partition, for `…_adding` while a job adds the members. `highest_share_of_scaling_bound` compares the
units a second of provisioned tables with the upper bounds of auto scaling. Each figure is the median of the rounds.
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import cycle

import uvloop
from contract.telemetry.running import Running

from bench.api_floor import serving_floor
from bench.api_world import (
    CONNECTIONS,
    Cpu,
    Place,
    World,
    engines,
    read_admin_pages,
    serving,
)
from bench.capacity_proxy import CapacityProxy, LimitedUse
from bench.http_load import Loader, Outcome, Request
from bench.report import Spread, print_figures, print_table
from tidings.engines.local_cluster import LocalCluster
from tidings.kernel.ids import ChatId, ChatKey

P99 = 0.99
IN_FLIGHT = 8
READS_PER_SEND = 10
PAGES = 100
SHARE = 0.6
GOALS = {
    "saturation_per_core": "≥ 1800",
    "p99_ms_at_60": "< 100",
    "read_cpu_us": "≤ 450",
    "send_cpu_us": "≤ 600",
    "dynamo_calls_per_history_page": "≤ 1.2",
    "dynamo_calls_per_chat_list": "≤ 2",
    "throttled": "0",
}


@dataclass
class Figures:
    """The results of all rounds, by name, and the requests that were not answered with success."""

    runs: dict[str, list[float]] = field(default_factory=dict)
    bad: dict[str, int] = field(default_factory=dict)
    first_bad: bytes = b""

    def add(self, **found: float) -> None:
        for name, value in found.items():
            self.runs.setdefault(name, []).append(value)

    def add_bad(self, outcome: Outcome) -> None:
        for (kind, status), count in outcome.statuses.items():
            if status >= 300:  # noqa: PLR2004 - no success
                self.bad[f"{kind} {status}"] = self.bad.get(f"{kind} {status}", 0) + count
        self.first_bad = self.first_bad or outcome.first_bad

    def show(self) -> None:
        spreads = {name: Spread(tuple(runs)) for name, runs in self.runs.items()}
        rows = [(name, spread, GOALS.get(name, "")) for name, spread in spreads.items()]
        print_table(["figure", "median (lowest to highest)", "goal"], rows)
        if self.bad:
            print_table(["unexpected answers", "count"], self.bad.items())
            sys.stdout.write(self.first_bad.decode(errors="replace") + "\n")
        errors = {"errors": sum(self.bad.values())}
        print_figures({name: spread.median for name, spread in spreads.items()} | errors)


class Measurement:
    """One API installation with one load generator."""

    def __init__(self, api: Running, fleet: LocalCluster, world: World, figures: Figures) -> None:
        self._api = api
        self._parts = {
            "api": [api.popen.pid],
            "engine": [fleet.find("dynamo").pid.pid],
            "valkey": [fleet.find("valkey").pid.pid],
        }
        self._world = world
        self._figures = figures
        self.loader = Loader([api.wait_for("listening")["port"]], CONNECTIONS)

    async def cost_us(self, requests: Iterator[Request], seconds: float) -> float:
        """Return the CPU of the API for one request, with the same number of requests in flight all the time."""
        outcome, cpu, _ = await self._under(self.loader.run_closed(requests, IN_FLIGHT, seconds))
        return cpu["api"] / outcome.count * 1e6

    async def measure_costs(self, seconds: float) -> float:
        """Measure one process, and return the rate that saturates it."""
        world, figures = self._world, self._figures
        figures.add(read_cpu_us=await self.cost_us(world.reads(), seconds))
        figures.add(send_cpu_us=await self.cost_us(world.sends(), seconds))
        figures.add(page_cpu_us=await self.cost_us(world.pages(), seconds))
        per_core = 1e6 / await self.cost_us(_mixed(world), seconds)
        figures.add(saturation_per_core=per_core)
        return per_core

    async def measure_calls(self) -> None:
        for name, path in self._world.counted_pages().items():
            request = Request(name, "GET", path, self._world.headers[self._world.users[0]])
            await self._calls([request] * IN_FLIGHT)  # fills the caches
            calls = await self._calls([request] * PAGES)
            self._figures.add(**{f"dynamo_calls_per_{name}": calls / PAGES})

    async def _calls(self, requests: list[Request]) -> float:
        before = _dynamo_calls(self._api)
        await asyncio.gather(*(self.loader.ask(each, time.perf_counter()) for each in requests))
        return _dynamo_calls(self._api) - before

    async def p99_ms_at(self, per_s: float, seconds: float) -> float:
        outcome, _, _ = await self._under(self.loader.run(_mixed(self._world), per_s, seconds))
        return outcome.percentile_ms(P99)

    async def measure_mix(self, given: argparse.Namespace) -> None:
        async def offer() -> None:
            await asyncio.gather(
                self.loader.run(self._world.sends(), given.sends, given.seconds),
                self.loader.run(self._world.reads(), given.reads, given.seconds),
            )

        outcome, cpu, took_s = await self._under(offer())
        self._figures.add(
            answered_per_s=outcome.count / took_s,
            p99_ms=outcome.percentile_ms(P99),
            send_p99_ms=outcome.percentile_ms(P99, "send"),
            **{f"{name}_cores": used_s / took_s for name, used_s in cpu.items()},
        )

    async def measure_throttling(self, given: argparse.Namespace, proxy: CapacityProxy) -> None:
        """Offer the mix, skewed by Zipf's law, to an API whose engine enforces capacity."""
        if not self._world.large_group:
            await self._add_large_group(given.members, proxy)
        proxy.count(then_enforce_tables=True)
        self.loader.outcome = Outcome()
        began = time.perf_counter()
        await asyncio.gather(
            self.loader.run(self._world.sends(is_skewed=True), given.sends, given.seconds),
            self.loader.run(self._world.reads(is_skewed=True), given.reads, given.seconds),
        )
        took_s, limited = time.perf_counter() - began, proxy.count()
        for kind, units in _hottest(limited, took_s).items():
            self._figures.add(**{f"hottest_partition_{kind}_units": units})
        self._figures.add(highest_share_of_scaling_bound=limited.share_of_bounds(took_s))
        self._figures.add(
            throttled=sum(limited.refused.values()),
            answered_per_s_limited=self.loader.outcome.count / took_s,
        )
        self._figures.add_bad(self.loader.outcome)

    async def _add_large_group(self, members: int, proxy: CapacityProxy) -> None:
        """Create the large group, once."""
        began = time.perf_counter()
        await self._world.make_large_group(self.loader, members)
        took_s, added = time.perf_counter() - began, proxy.count()
        for kind, units in _hottest(added, took_s).items():
            self._figures.add(**{f"hottest_partition_{kind}_units_adding": units})
        self._figures.add(members_added_per_s=members / took_s, throttled_adding=sum(added.refused.values()))

    async def _under(self, load: object) -> tuple[Outcome, Mapping[str, float], float]:
        self.loader.outcome = outcome = Outcome()
        cpu, began = Cpu(self._parts), time.perf_counter()
        await load  # type: ignore[misc]  # any load
        took_s = time.perf_counter() - began
        self._figures.add_bad(outcome)
        return outcome, cpu.used(), took_s


def _mixed(world: World) -> Iterator[Request]:
    reads, sends = world.reads(), world.sends()
    for number in cycle(range(READS_PER_SEND + 1)):
        yield next(reads if number else sends)


def _hottest(use: LimitedUse, seconds: float) -> dict[str, float]:
    """Return the units a second of the most used partition, for reads and writes."""
    return {
        kind: max((units for (_, each, _), units in use.used.items() if each == kind), default=0.0) / seconds
        for kind in ("read", "write")
    }


_CALLS = re.compile(r"^tidings_dynamo_calls_total\{[^}]*\} (\S+)$", re.MULTILINE)


def _dynamo_calls(api: Running) -> float:
    """Return the calls of all API processes since they started."""
    return sum(float(value) for page in read_admin_pages(api, "/metrics") for value in _CALLS.findall(page))


async def run_round(place: Place, fleet: LocalCluster, world: World, given: argparse.Namespace) -> Figures:
    figures: Figures = given.figures
    with serving(place, 1, given.python) as api:
        one = Measurement(api, fleet, world, figures)
        await one.loader.open()
        await world.prepare(one.loader)
        per_core = await one.measure_costs(given.seconds)
        await one.measure_calls()
        figures.add(p99_ms_at_60=await one.p99_ms_at(per_core * SHARE, given.seconds))
    with serving_floor(place, ChatKey(world.tenant, ChatId(world.chats[0][0])), given.python) as bare:
        floor = Measurement(bare, fleet, world, figures)
        await floor.loader.open()
        figures.add(page_floor_us=await floor.cost_us(world.pages(), given.seconds))
    with serving(place, given.processes, given.python) as api:
        whole = Measurement(api, fleet, world, figures)
        await whole.loader.open()
        await whole.measure_mix(given)
    with (
        closing(CapacityProxy(place)) as proxy,
        serving(proxy.place, given.processes, given.python, adds_members=True) as api,
    ):
        whole = Measurement(api, fleet, world, figures)
        await whole.loader.open()
        await whole.measure_throttling(given, proxy)
    return figures


async def run(place: Place, fleet: LocalCluster, given: argparse.Namespace) -> None:
    world = World(place.space.tenant)
    await world.make_tokens(place)
    given.figures = Figures()
    for _ in range(given.rounds):
        await run_round(place, fleet, world, given)
    given.figures.show()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--engine", choices=["dynoxide", "local"], default="dynoxide")
    options.add_argument("--processes", type=int, default=2, help="of the whole mix")
    options.add_argument("--sends", type=float, default=120, help="a second, in the whole mix")
    options.add_argument("--reads", type=float, default=1200, help="a second, in the whole mix")
    options.add_argument("--seconds", type=float, default=20, help="of each measurement")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument(
        "--members", type=int, default=1000, help="of the group that the skewed mix uses most"
    )
    options.add_argument("--python", help="interpreter of the API processes, with the packages installed")
    given = options.parse_args()
    with engines(given.engine) as (place, fleet):
        uvloop.run(run(place, fleet, given))


if __name__ == "__main__":
    main()
