"""Serve a recorded fault run with a real Prometheus, and query it."""

import json
import lzma
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final

from infra.generated import INFRA
from infra.monitoring.model import RATE_INTERVAL

RECORDING: Final = INFRA / "recording.json.xz"
STEP_S: Final = 2
WINDOW: Final = "20s"
"""The window of rates: production uses minutes, but the faults of the recording last half a minute."""
_WINDOWS: Final = re.compile(r"\[\d+[smh]\]")
_FALLBACK: Final = " or vector(0)"
_READY_WITHIN_S: Final = 60.0


def has_prometheus() -> bool:
    return all(shutil.which(name) for name in ("prometheus", "promtool"))


def read_recording(path: Path = RECORDING) -> dict[str, Any]:
    recording: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return recording


@dataclass(frozen=True, slots=True)
class Series:
    """A series of an answer: its labels, and its values by time. NaN is left out."""

    labels: dict[str, str]
    values: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class RecordedPrometheus:
    """A running Prometheus that has the recording. Its lookback is short: the recording has no marks of staleness."""

    url: str
    start: float
    end: float

    def query(self, expr: str, start: float | None = None, end: float | None = None) -> list[Series]:
        """Evaluate an expression over the recording, with short windows and without its fallback to 0."""
        given = {
            "query": shorten_windows(expr).replace(_FALLBACK, ""),
            "start": start or self.start,
            "end": end or self.end,
            "step": STEP_S,
        }
        with urllib.request.urlopen(
            f"{self.url}/api/v1/query_range?{urllib.parse.urlencode(given)}"
        ) as answer:
            found = json.load(answer)["data"]["result"]
        series = (Series(each["metric"], _numbers(each["values"])) for each in found)
        return [each for each in series if each.values]


def shorten_windows(expr: str) -> str:
    return _WINDOWS.sub(f"[{WINDOW}]", expr.replace(f"[{RATE_INTERVAL}]", f"[{WINDOW}]"))


def _numbers(values: list[tuple[float, str]]) -> list[tuple[float, float]]:
    return [(at, float(value)) for at, value in values if not isnan(float(value))]


@contextmanager
def recorded_prometheus(recording: dict[str, Any]) -> Iterator[RecordedPrometheus]:
    """Start Prometheus on a free port of this machine, and end it."""
    with tempfile.TemporaryDirectory(prefix="tidings-prometheus-") as place:
        folder = Path(place)
        text = folder / "recording.txt"
        text.write_text("\n".join([*_lines(recording), "# EOF", ""]))
        subprocess.run(
            ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "data")],
            check=True,
            capture_output=True,
        )
        (folder / "prometheus.yml").write_text("")
        port = _free_port()
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address=127.0.0.1:{port}",
                "--query.lookback-delta=6s",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url)
            times = recording["times"]
            yield RecordedPrometheus(url, times[0], times[-1])
        finally:
            server.terminate()
            server.wait()


def _lines(recording: dict[str, Any]) -> Iterator[str]:
    times = recording["times"]
    for name, values in recording["series"].items():
        for at, value in zip(times, values, strict=True):
            if value is not None:
                yield f"{name} {value} {at}"


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def _wait_until_ready(url: str) -> None:
    ends_at = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < ends_at:
        try:
            with urllib.request.urlopen(f"{url}/-/ready"):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise TimeoutError(f"Prometheus at {url} was not ready within {_READY_WITHIN_S:g} s.")
