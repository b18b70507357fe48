"""Compare the speed of this machine with that of the machine on which the bounds of the gates were measured."""

import hashlib
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

REFERENCE_S = 3.4
"""CPU time of `measure_work_s` on the machine of the bounds, without other work: 3.3 to 3.6 s in four runs."""
_CORES = 2
_BUSY = (0, 1, 2, 5, 6)
"""Columns of `/proc/stat`: user, nice, system, and both kinds of interrupts."""
_STEAL = 7


class CpuTimes(NamedTuple):
    """Time that all cores have computed, and that a virtual machine waited for a core of its host, in units of the kernel."""

    busy: int
    stolen: int


def measure_work_s() -> float:
    """Return the CPU time that a fixed amount of work takes if two processes do it at the same time."""
    with ProcessPoolExecutor(_CORES) as pool:
        return max(pool.map(_work, range(_CORES)))


def read_cpu_times(stat: Path = Path("/proc/stat")) -> CpuTimes:
    if not stat.exists():
        return CpuTimes(1, 0)
    columns = [int(word) for word in stat.read_text().splitlines()[0].split()[1:]]
    return CpuTimes(sum(columns[place] for place in _BUSY), columns[_STEAL])


def slowness(work_s: float, before: CpuTimes, after: CpuTimes) -> float:
    """Return how many times longer this machine needs than that of the bounds, and at least 1.

    Its cores can be slower, and a virtual machine can wait for its host.
    """
    busy, stolen = after.busy - before.busy, after.stolen - before.stolen
    waits = 1 + stolen / busy if busy else 1.0
    return max(work_s / REFERENCE_S, 1.0) * waits


def _work(seed: int) -> float:
    began = time.process_time()
    data = {f"key-{number}": [seed, number, str(number)] for number in range(200)}
    for _ in range(10_000):
        text = json.dumps(data)
        data["key-0"] = [seed, len(json.loads(text)), hashlib.sha256(text.encode()).hexdigest()]
    return time.process_time() - began
