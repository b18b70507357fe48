"""Compare the speed of this machine with that of the machine on which the bounds of the gates were measured."""

import hashlib
import json
import time
from concurrent.futures import ProcessPoolExecutor

REFERENCE_S = 3.4
"""Duration of `measure_work_s` on the machine of the bounds, without other work: 3.3 to 3.6 s in four runs."""
_CORES = 2


def measure_work_s() -> float:
    """Return how long a fixed amount of work takes if two processes do it at the same time."""
    with ProcessPoolExecutor(_CORES) as pool:
        return max(pool.map(_work, range(_CORES)))


def slowness(work_s: float) -> float:
    """Return how many times longer this machine needs, and 1 if it is faster."""
    return max(work_s / REFERENCE_S, 1.0)


def _work(seed: int) -> float:
    began = time.perf_counter()
    data = {f"key-{number}": [seed, number, str(number)] for number in range(200)}
    for _ in range(10_000):
        text = json.dumps(data)
        data["key-0"] = [seed, len(json.loads(text)), hashlib.sha256(text.encode()).hexdigest()]
    return time.perf_counter() - began
