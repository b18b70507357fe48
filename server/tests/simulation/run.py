"""Run one seed from start to verdict, or many seeds."""

import contextlib
import gc
import logging
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from unittest.mock import patch

from simulation.loop import BEGAN_MS, Scheduler, StuckError
from simulation.scenario import Scale, Scenario
from simulation.world import SimulatedWorld

from tidings.delivery import progress
from tidings.kernel import ids

_MOST_CPU_S = 5.0


@dataclass(frozen=True, slots=True)
class Verdict:
    seed: int
    breaches: tuple[str, ...]
    digest: str
    took_s: float
    turns: int
    entries: int
    held: int
    steps: tuple[str, ...] = ()


@dataclass
class Tally:
    """Totals of many seeds."""

    failed: list[Verdict] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)
    turns: int = 0
    entries: int = 0
    held: int = 0

    def add(self, verdict: Verdict) -> None:
        self.took_ms.append(verdict.took_s * 1000)
        self.turns += verdict.turns
        self.entries += verdict.entries
        self.held += verdict.held
        if verdict.breaches:
            self.failed.append(verdict)

    @property
    def median_ms(self) -> float:
        return round(statistics.median(self.took_ms), 1)


def run_seeds(seeds: Iterable[int], tell: Callable[[Tally], None] = lambda _: None) -> Tally:
    tally = Tally()
    for seed in seeds:
        tally.add(run_seed(seed))
        tell(tally)
    return tally


def first_caught(seeds: Iterable[int]) -> Verdict | None:
    """Return the verdict of the first seed with a violation, or None."""
    return next((verdict for verdict in map(run_seed, seeds) if verdict.breaches), None)


def run_seed(seed: int, scale: Scale | None = None, *, tells: bool = False) -> Verdict:
    began_s = time.process_time()
    world = SimulatedWorld(seed)
    world.scheduler.steps = [] if tells else None
    with _seeded_randomness(seed, world.scheduler):
        try:
            breaches = Scenario(world, seed, scale or Scale()).run()
        except StuckError as error:
            breaches = [str(error)]
        finally:
            world.scheduler.end()
    return Verdict(
        seed,
        tuple(breaches),
        f"{world.scheduler.trace:08x}.{world.scheduler.turns}",
        time.process_time() - began_s,
        world.scheduler.turns,
        sum(world.record.logs.values()),
        sum(len(held) for device in world.devices for held in device.held.values()),
        tuple(world.scheduler.steps or ()),
    )


@contextlib.contextmanager
def _seeded_randomness(seed: int, scheduler: Scheduler) -> Iterator[None]:
    """Make everything random depend on the seed, including ids and jitter. Garbage is collected between seeds."""
    draws = random.Random(f"{seed}/ids")
    # No simulated chat defers 200 entries. With a lower limit, members who lack entries are left out. The limit of what a
    # worker reads after it took over a partition stays: without that, entries are lost.
    limit = random.Random(f"{seed}/limit").choice((0, 3, progress.MAX_DEFERRED_RETRY))
    random.seed(seed)
    clock = SimpleNamespace(time_ns=lambda: int((BEGAN_MS / 1000 + scheduler.now) * 1e9))
    if logging.root.manager.disable < logging.CRITICAL:
        # Disable logging once and leave it disabled: simulated processes must not log, and switching costs
        # milliseconds.
        logging.disable(logging.CRITICAL)
    gc.disable()
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, _MOST_CPU_S)
    try:
        with (
            patch.multiple(ids, os=SimpleNamespace(urandom=draws.randbytes), time=clock),
            patch.object(progress, "MAX_DEFERRED_RETRY", limit),
        ):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


def _too_long(*_: object) -> None:
    raise StuckError(f"more than {_MOST_CPU_S} s without yielding")
