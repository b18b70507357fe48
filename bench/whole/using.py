"""Read the CPU, memory and DynamoDB units that a process has used, and find the process that listens on a port."""

from pathlib import Path

import psutil
from fixtures.gateway_process import RunningGateway


def cpu_us(*pids: int) -> float:
    """Return the CPU time of all live threads in microseconds.

    It has nanosecond resolution where the kernel provides it: clock ticks are too coarse for a few hundred calls.
    """
    return sum(_nanoseconds(pid) for pid in pids) / 1_000


def _nanoseconds(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task")
    try:
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())
    except OSError:
        times = psutil.Process(pid).cpu_times()
        return int((times.user + times.system) * 1e9)


def resident_kb(*pids: int) -> float:
    return float(sum(psutil.Process(pid).memory_info().rss for pid in pids) / 1_024)


def listener(url: str) -> int:
    """Return the process that listens on the port of `url`. Raises `LookupError` if there is none."""
    port = int(url.rstrip("/").rpartition(":")[2])
    for found in psutil.net_connections("tcp"):
        if found.status == psutil.CONN_LISTEN and found.pid and tuple(found.laddr)[1] == port:
            return int(found.pid)
    raise LookupError(f"No process listens on {url}.")


def dynamo_units(process: RunningGateway, kind: str) -> float:
    """Return the units so far, without those of the relay's leases, which do not depend on messages."""
    return metric_sum(process, f"tidings_dynamo_{kind}_units_total", without='table="leases"')


def metric_sum(process: RunningGateway, name: str, *, without: str | None = None) -> float:
    """Return the sum of all series of a metric, without those that contain the text `without`."""
    page: str = process.get("/metrics")[1]
    found = [line for line in page.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in found if without is None or without not in line)
