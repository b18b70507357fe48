"""One seed, from nothing to its verdict; and many of them."""

import contextlib
import gc
import logging
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from simulation.loop import BEGAN_MS, Scheduler, StuckError
from simulation.scenario import Scale, Scenario
from simulation.town import Town
from tidings.kernel import ids

_MOST_CPU_S = 10.0


@dataclass(frozen=True, slots=True)
class Verdict:
    seed: int
    breaches: tuple[str, ...]
    digest: str
    took_s: float
    turns: int
    entries: int
    held: int
    story: tuple[str, ...] = ()


def run_seed(seed: int, scale: Scale | None = None, *, tells: bool = False) -> Verdict:
    began_s = time.process_time()
    town = Town(seed)
    town.scheduler.story = [] if tells else None
    with _chance_is_the_seeds(seed, town.scheduler):
        try:
            breaches = Scenario(town, seed, scale or Scale()).play()
        except StuckError as error:
            breaches = [str(error)]
        finally:
            town.scheduler.end()
    return Verdict(
        seed,
        tuple(breaches),
        f"{town.scheduler.trace:08x}.{town.scheduler.turns}",
        time.process_time() - began_s,
        town.scheduler.turns,
        sum(town.record.logs.values()),
        sum(len(held) for device in town.devices for held in device.held.values()),
        tuple(town.scheduler.story or ()),
    )


@contextlib.contextmanager
def _chance_is_the_seeds(seed: int, scheduler: Scheduler) -> Iterator[None]:
    """Ids and jitter too. What the collector frees, it frees between seeds."""
    draws = random.Random(f"{seed}/ids")
    random.seed(seed)
    ids.os = SimpleNamespace(urandom=draws.randbytes)  # type: ignore[assignment]
    ids.time = SimpleNamespace(time_ns=lambda: int((BEGAN_MS / 1000 + scheduler.now) * 1e9))  # type: ignore[assignment]
    logging.disable(logging.CRITICAL)
    gc.disable()
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, _MOST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()
        logging.disable(logging.NOTSET)
        ids.os, ids.time = os, time


def _too_long(*_: object) -> None:
    raise StuckError(f"more than {_MOST_CPU_S} s without giving way")
