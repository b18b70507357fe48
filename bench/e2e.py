"""Measure the path from send to delivery over two gateways, a worker and a relay, as real processes on one machine.

The steady phase is an open loop at a rate that the machine can sustain. In the peak phase, each pair sends its next
message when the previous one was delivered. In the two slow phases, each pair sends a message every five seconds, as
people do: the receiver reads each message, then none. Last, devices reconnect and receive 100 missed messages each.
`floor_us` is the CPU of the same engine calls without Tidings around them (`e2e_floor.py`).
Engines and load generator share the two cores with the measured processes, so CPU by process is the most reliable
figure.
"""

import argparse
import asyncio
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import uvloop
from fixtures.gateway_process import RunningGateway
from fixtures.installation_processes import InstallationProcesses, ProcessKind, installation_on

from bench.e2e_devices import Line, Pair, Tally
from bench.e2e_floor import floor_us
from bench.report import print_figures, print_table
from bench.whole.using import cpu_us, dynamo_units
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import StartRequest

_TICKS_PER_S = 100
_MISSED = 100
_TIMER_S = 0.002
"""The timers of the event loop have a resolution of a millisecond, so the last part of a wait is polled."""
_SLOW_EVERY_S = 5.0


@dataclass
class Installation:
    env: InstallationProcesses
    processes: Mapping[str, RunningGateway] = field(default_factory=dict)

    def start(self, **changes: str) -> None:
        names = ("gateway 1", "gateway 2", "delivery", "relay")
        kinds: list[ProcessKind] = ["gateway", "gateway", "delivery", "relay"]
        unheld = {"FAILPOINTS_PAUSE_AT": "", **changes}
        self.processes = dict(zip(names, self.env.ready(*kinds, **unheld), strict=True))

    @property
    def ports(self) -> tuple[int, int]:
        return self.processes["gateway 1"].socket_port, self.processes["gateway 2"].socket_port

    def cpu_s(self) -> dict[str, float]:
        return {name: cpu_us(process.popen.pid) / 1e6 for name, process in self.processes.items()}

    def units(self, kind: str) -> float:
        return sum(dynamo_units(process, kind) for process in self.processes.values())

    def engines_cpu_s(self) -> dict[str, float]:
        return {each.node.engine.value: _cpu_s(each.pid.pid) for each in self.env.fleet.status()}


class Measured(NamedTuple):
    """The measurements of one phase."""

    tally: Tally
    took_s: float
    cpu_us: dict[str, float]
    engines_us: dict[str, float]
    loader_us: float
    write_units: float
    read_units: float

    @property
    def ours_us(self) -> float:
        return sum(self.cpu_us.values())


class Phase:
    """Measure the resources that all processes use between `__init__` and `end`."""

    def __init__(self, here: Installation) -> None:
        self._here = here
        self._cpu, self._engines = here.cpu_s(), here.engines_cpu_s()
        self._writes, self._reads = here.units("write"), here.units("read")
        self._own, self._began = _own_cpu_s(), time.perf_counter()

    def end(self, tally: Tally, took_s: float) -> Measured:
        count = max(1, tally.sent)
        now, engines = self._here.cpu_s(), self._here.engines_cpu_s()
        return Measured(
            tally,
            took_s,
            {name: (now[name] - self._cpu[name]) / count * 1e6 for name in now},
            {name: (engines[name] - self._engines[name]) / count * 1e6 for name in engines},
            (_own_cpu_s() - self._own) / count * 1e6,
            (self._here.units("write") - self._writes) / count,
            (self._here.units("read") - self._reads) / count,
        )


async def pairs_of(here: Installation, count: int) -> list[Pair]:
    """Connect pairs with half of the senders on each gateway, and each receiver on the other gateway."""
    pairs = []
    for number in range(count):
        anna, ben = f"anna-{number}", f"ben-{number}"
        chat = (await here.env.direct(anna, ben)).chat
        ports = here.ports if number % 2 else here.ports[::-1]
        lines = [
            await Line.open(port, here.env.token(user), user)
            for port, user in zip(ports, (anna, ben), strict=True)
        ]
        pairs.append(Pair(chat, *lines))
    return pairs


async def steady(here: Installation, pairs: Sequence[Pair], per_s: float, seconds: float) -> Measured:
    tally, phase = Tally(), Phase(here)
    began = time.perf_counter()
    for number in range(round(per_s * seconds)):
        due = began + number / per_s
        if (wait_s := due - time.perf_counter() - _TIMER_S) > 0:
            await asyncio.sleep(wait_s)
        while time.perf_counter() < due:  # noqa: ASYNC110 - timers are too coarse
            await asyncio.sleep(0)
        pairs[number % len(pairs)].begin(tally, due)
    await tally.settled(60)
    return phase.end(tally, time.perf_counter() - began)


async def slow(here: Installation, pairs: Sequence[Pair], seconds: float, *, is_read: bool) -> Measured:
    """Measure chats at the pace of people: a message is acknowledged and read before the next one."""
    for pair in pairs:
        pair.receiver.has_chat_open = is_read
    return await steady(here, pairs, len(pairs) / _SLOW_EVERY_S, seconds)


async def peak(here: Installation, pairs: Sequence[Pair], seconds: float) -> Measured:
    tally, phase = Tally(), Phase(here)
    began = time.perf_counter()

    async def ping_pong(pair: Pair) -> None:
        while time.perf_counter() - began < seconds:
            await pair.send(tally, time.perf_counter())

    await asyncio.gather(*map(ping_pong, pairs))
    await tally.settled(60)
    return phase.end(tally, time.perf_counter() - began)


async def resumes(here: Installation, pairs: Sequence[Pair]) -> float:
    """Return the gateway CPU for one device that connects and receives 100 missed messages."""
    for pair in pairs:
        pair.receiver.close()
    for _ in range(_MISSED):
        await asyncio.gather(*(pair.acked() for pair in pairs))
    await asyncio.sleep(3)
    before = here.cpu_s()
    for pair, port in zip(pairs, [here.ports[n % 2] for n in range(len(pairs))], strict=True):
        again = await Line.open(
            port, here.env.token(pair.receiver.user), pair.receiver.user, {pair.chat: pair.head - _MISSED}
        )
        got = again.sequences(pair.chat)
        if got != list(range(pair.head - _MISSED + 1, pair.head + 1)):
            raise AssertionError(f"{pair.receiver.user} expected 100 missed messages and received {got}")
        pair.receiver = again
    after = here.cpu_s()
    used = sum(after[name] - before[name] for name in after if name.startswith("gateway"))
    return used / len(pairs) * 1e6


async def bench(here: Installation, options: argparse.Namespace) -> None:
    pairs = await pairs_of(here, options.pairs)
    await steady(here, pairs, options.rate, 3)
    calm = await steady(here, pairs, options.rate, options.seconds)
    full = await peak(here, pairs, options.seconds)
    least_us = await floor_us(here.env, options.pairs, options.seconds / 2)
    read = await slow(here, pairs, options.slow_seconds, is_read=True)
    delivered = await slow(here, pairs, options.slow_seconds, is_read=False)
    resume_us = await resumes(here, pairs)
    print_phases(calm, full, options)
    tallies = [phase.tally for phase in (calm, full, read, delivered)]
    print_figures(
        {
            "p50_ms": calm.tally.percentile_ms(0.5),
            "p99_ms": calm.tally.percentile_ms(0.99),
            "peak_per_s": full.tally.delivered / full.took_s,
            "cpu_us_per_message": full.ours_us,
            "floor_us": least_us,
            "ratio_to_floor": full.ours_us / least_us,
            "write_units_per_message": calm.write_units,
            "write_units_direct_read": read.write_units,
            "write_units_direct_delivered": delivered.write_units,
            "resume_100_cpu_us": resume_us,
            "lost": sum(tally.sent - tally.delivered for tally in tallies),
            "doubled": sum(tally.doubled for tally in tallies),
        }
    )


def print_phases(calm: Measured, full: Measured, options: argparse.Namespace) -> None:
    def row(name: str, one: float, two: float) -> tuple[str, str, str]:
        return name, f"{one:.0f}", f"{two:.0f}"

    rows = [
        row("messages", calm.tally.sent, full.tally.sent),
        row("per second", calm.tally.delivered / calm.took_s, full.tally.delivered / full.took_s),
        *(
            row(f"p{p * 100:g}, ms", calm.tally.percentile_ms(p), full.tally.percentile_ms(p))
            for p in (0.5, 0.99)
        ),
        *(row(f"CPU µs, {name}", calm.cpu_us[name], full.cpu_us[name]) for name in calm.cpu_us),
        row("CPU µs, all Tidings processes", calm.ours_us, full.ours_us),
        *(row(f"CPU µs, {name}", calm.engines_us[name], full.engines_us[name]) for name in calm.engines_us),
        row("CPU µs, load generator", calm.loader_us, full.loader_us),
        ("write units", f"{calm.write_units:.2f}", f"{full.write_units:.2f}"),
        ("read units", f"{calm.read_units:.2f}", f"{full.read_units:.2f}"),
    ]
    print_table(("each message", f"steady, {options.rate:g}/s", "peak"), rows)


@contextmanager
def installation(**changes: str) -> Iterator[Installation]:
    """Run an installation. `changes` are settings of its processes by name, without the prefix."""
    with tempfile.TemporaryDirectory(prefix="tidings-") as place:
        fleet = LocalCluster(Path(place) / "engines", default_cache(), dies_with_us=True)
        try:
            fleet.start(StartRequest(dynamo="dynoxide"))
            with installation_on(fleet, "dynoxide", Path(place)) as env:
                asyncio.run(env.create_tenant())
                here = Installation(env)
                here.start(**changes)
                yield here
        finally:
            fleet.stop()


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds of the process and its threads, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--rate", type=float, default=100.0, help="messages per second in the steady phase")
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each phase")
    parser.add_argument(
        "--slow-seconds", type=float, default=120.0, help="duration of each phase at the pace of people"
    )
    options = parser.parse_args()
    with installation() as here:
        uvloop.run(bench(here, options))


if __name__ == "__main__":
    main()
