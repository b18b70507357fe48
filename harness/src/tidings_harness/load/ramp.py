"""Raise the rate of direct messages step by step until the p99 of their delivery breaks a limit.

The steps are open-loop: a message is due at a fixed time and its latency counts from then, also if the loader or the
installation is late. So a slow installation cannot lower the load that it is measured with.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hdrh.histogram import HdrHistogram

from tidings_harness.load.device import LoadDevice
from tidings_harness.workload.target import RestClient, TargetInstallation
from tidings_wire.frames.history import Entry
from tidings_wire.frames.messages import CommitResult, Send
from tidings_wire.frames.structs import Body, ErrorBody

_LOWEST_US, _HIGHEST_US, _DIGITS = 1, 120_000_000, 3
_TEXT_BYTES: Final = 100
_SETTLE_S: Final = 2.0
_CONCURRENT_SETUP: Final = 16
_BUSY_SHARE: Final = 0.85
"""A loader that uses this share of a core may delay messages itself, so its figures are not those of the installation."""


def new_histogram() -> HdrHistogram:
    return HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RampOptions:
    """`limit_ms`: maximum p99 from send to delivery. `for_s`: maximum duration of all steps."""

    limit_ms: float
    first_rate: float
    factor: float
    step_s: float
    for_s: float
    max_rate: float


@dataclass(slots=True, kw_only=True)
class StepResult:
    """One step. `delivered_us` and `acked_us` count from the time at which a message was due."""

    rate: float
    sent: int = 0
    acked: int = 0
    delivered: int = 0
    doubled: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    loader_cpu: float = 0.0
    """Share of one core that the loader used."""
    acked_us: HdrHistogram = field(default_factory=new_histogram)
    delivered_us: HdrHistogram = field(default_factory=new_histogram)

    @property
    def p99_ms(self) -> float:
        """Return the p99 of the delivery. A message that did not arrive in time counts as infinitely late."""
        if self.sent - self.delivered > self.sent / 100:
            return float("inf")
        return float(self.delivered_us.get_value_at_percentile(99)) / 1_000


@dataclass(frozen=True, slots=True)
class RampResult:
    steps: Sequence[StepResult]
    ended_by: str

    def best(self, limit_ms: float) -> StepResult | None:
        """Return the last step before the first one that broke the limit."""
        kept = list(itertools.takewhile(lambda step: step.p99_ms <= limit_ms, self.steps))
        return kept[-1] if kept else None


class LoadPair:
    """Two users with a direct chat. One sends, the other receives on a connection of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.step: StepResult | None = None
        self._chat = ""
        self._head = 1
        self._number = itertools.count()
        self._due: dict[str, tuple[StepResult, float]] = {}
        self._seen: set[str] = set()
        self.sender = LoadDevice(f"{name}-a", lambda _, __: None)
        self.receiver = LoadDevice(f"{name}-b", self._on_entry)

    async def open(self, site: TargetInstallation, rest: RestClient) -> None:
        self._chat = await rest.direct(self.sender.user, self.receiver.user)
        await self.sender.open(site)
        await self.receiver.open(site)

    def close(self) -> None:
        self.sender.close()
        self.receiver.close()

    @property
    def is_lost(self) -> bool:
        return self.sender.is_lost or self.receiver.is_lost

    def send(self, step: StepResult, due: float) -> None:
        key = f"{self.name}-{next(self._number)}"
        self._due[key] = (step, due)
        step.sent += 1
        text = key.ljust(_TEXT_BYTES, ".")
        frame = Send(chat=self._chat, client_message_id=key, text=text, after=self._head)
        self.sender.ask(frame, lambda body, at: self._on_answer(step, due, body, at))

    def _on_answer(self, step: StepResult, due: float, body: Body, at: float) -> None:
        if isinstance(body, CommitResult):
            self._head = max(self._head, body.sequence)
            step.acked += 1
            _record(step.acked_us, at - due)
        elif isinstance(body, ErrorBody):
            step.errors[body.code] = step.errors.get(body.code, 0) + 1

    def _on_entry(self, entry: Entry, at: float) -> None:
        key = entry.text.rstrip(".")
        known = self._due.pop(key, None)
        if known is not None:
            step, due = known
            self._seen.add(key)
            step.delivered += 1
            _record(step.delivered_us, at - due)
        elif key in self._seen and self.step is not None:
            self.step.doubled += 1


def _record(histogram: HdrHistogram, late_s: float) -> None:
    histogram.record_value(max(_LOWEST_US, min(_HIGHEST_US, round(late_s * 1e6))))


async def open_pairs(site: TargetInstallation, rest: RestClient, run: str, count: int) -> list[LoadPair]:
    """Create the users and chats, and connect all devices."""
    pairs = [LoadPair(f"load-{run}-{n}") for n in range(count)]
    slots = asyncio.Semaphore(_CONCURRENT_SETUP)

    async def open_one(pair: LoadPair) -> None:
        async with slots:
            await pair.open(site, rest)

    await asyncio.gather(*(open_one(pair) for pair in pairs))
    return pairs


async def ramp(
    pairs: Sequence[LoadPair], options: RampOptions, on_step: Callable[[StepResult], None]
) -> RampResult:
    """Run steps until one breaks the limit, or the time, the highest rate or the loader's CPU is reached."""
    steps: list[StepResult] = []
    rate, ends = options.first_rate, time.monotonic() + options.for_s
    while True:
        step = await run_step(pairs, rate, options.step_s)
        steps.append(step)
        on_step(step)
        if ended_by := _end_of(step, pairs, options, ends):
            return RampResult(steps, ended_by)
        rate = min(rate * options.factor, options.max_rate)


def _end_of(step: StepResult, pairs: Sequence[LoadPair], options: RampOptions, ends: float) -> str:
    if any(pair.is_lost for pair in pairs):
        return "a gateway closed a connection"
    if step.p99_ms > options.limit_ms:
        return "the limit was broken"
    if step.loader_cpu > _BUSY_SHARE:
        return "the loader has no more CPU: run it on a larger or a second machine"
    if step.rate >= options.max_rate:
        return "the highest rate was reached"
    return "the time ended" if time.monotonic() + options.step_s > ends else ""


async def run_step(pairs: Sequence[LoadPair], rate: float, for_s: float) -> StepResult:
    """Send at this rate, one pair after the other, and wait at most two seconds for the last deliveries."""
    loop, step = asyncio.get_running_loop(), StepResult(rate=rate)
    for pair in pairs:
        pair.step = step
    cpu, start = time.process_time(), loop.time()
    turns = itertools.cycle(pairs)
    for n in range(max(1, round(rate * for_s))):
        due = start + n / rate
        if (wait_s := due - loop.time()) > 0:
            await asyncio.sleep(wait_s)
        elif n % 16 == 0:
            await asyncio.sleep(0)  # late: let answers be read before the next sends
        next(turns).send(step, due)
    step.loader_cpu = (time.process_time() - cpu) / (loop.time() - start)
    deadline = loop.time() + _SETTLE_S
    while step.delivered < step.sent and loop.time() < deadline:  # noqa: ASYNC110 - at most two seconds per step
        await asyncio.sleep(0.02)
    return step
