"""Compare what an honest client of another tenant sees during an attack with what it sees without.

An attack is a function in a subprocess at nice 19. A control run burns the same CPU at the same niceness and does
nothing else, so that the comparison shows what the attack does to the server rather than to the machine.

    outcome = await withstand(Attack(rest.heads, {"port": api.api_port}), honest)

`honest` sends one request and raises if it is refused. Every refusal fails the test. A slow median fails only if it
is slow in each of `TRIES` rounds: other processes on the machine can slow one round, a working attack slows all.
"""

import asyncio
import json
import sys
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from e2e.attacks import child

SECONDS = 3.0
TRIES = 3
SLOWER = 2.0
_TESTS = Path(__file__).parents[2]

type Honest = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Attack:
    """`run(seconds, **given)` of an importable module. It must be bounded in time, and returns what it achieved."""

    run: Callable[..., object]
    given: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = SECONDS
    pause_s: float = 0.01
    """Pause of the honest client between two requests."""


@dataclass(frozen=True)
class AttackRound:
    """`achieved` is what the attack returned; the latencies are those of the honest client."""

    achieved: Any
    cpu_s: float
    latencies_s: list[float]
    pause_s: float

    @property
    def p50_s(self) -> float:
        """Return the median of latencies over time rather than over requests.

        The client sends one request at a time. An attack that holds one request for seconds would otherwise be
        outvoted by the few quick ones before and after it.
        """
        latencies = sorted(self.latencies_s)
        spent_s = list(accumulate(latency + self.pause_s for latency in latencies))
        return latencies[bisect_left(spent_s, spent_s[-1] / 2)]


async def run_attack(attack: Attack, honest: Honest) -> AttackRound:
    """Attack, and return the round in which the honest client's median stayed within `SLOWER` of the control."""
    await honest()  # connections, caches and keys are warm in both runs
    reports = []
    for _ in range(TRIES):
        attacked = await _round(attack, honest)
        given = {"cpu_s": attacked.cpu_s}
        control = await _round(Attack(child.burn, given, attack.seconds, attack.pause_s), honest)
        if attacked.p50_s <= SLOWER * control.p50_s:
            return attacked
        reports.append(f"{attacked.p50_s * 1000:.1f} ms under attack, {control.p50_s * 1000:.1f} ms without")
    raise AssertionError(f"the honest client was slowed down: {'; '.join(reports)}")


async def _round(attack: Attack, honest: Honest) -> AttackRound:
    name = f"{attack.run.__module__}:{attack.run.__name__}"
    command = ["nice", "-n", "19", sys.executable, "-m", "e2e.attacks.child", name]
    process = await asyncio.create_subprocess_exec(
        *command,
        *(json.dumps(dict(attack.given)), str(attack.seconds)),
        cwd=_TESTS,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        assert await process.stdout.readline() == child.BEGUN
        ended = asyncio.ensure_future(process.communicate())
        latencies = await _measured(honest, ended, attack.pause_s)
        output, _ = await ended
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"the attack {name} failed by itself"
    result = json.loads(output)
    return AttackRound(result["achieved"], result["cpu_s"], latencies, attack.pause_s)


async def _measured(honest: Honest, until: "asyncio.Future[Any]", pause_s: float) -> list[float]:
    latencies: list[float] = []
    while not until.done() or not latencies:
        began = time.perf_counter()
        await honest()
        latencies.append(time.perf_counter() - began)
        await asyncio.sleep(pause_s)
    return latencies
