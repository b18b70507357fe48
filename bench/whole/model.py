"""The results of the parts of `just bench all`, stored as JSON. The report is generated from these files only."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

type Better = Literal["less", "more"]


class Goal(msgspec.Struct, frozen=True):
    """A target for a figure. `limit` explains why it is not reached."""

    better: Better
    value: float
    limit: str = ""

    def is_reached_by(self, found: float) -> bool:
        return found <= self.value if self.better == "less" else found >= self.value


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measured figure with one value for each round.

    `noise` of a ratio is the ratio of two measurements of the same thing in the same rounds.
    """

    name: str
    unit: str = ""
    runs: tuple[float, ...]
    better: Better = "less"
    goal: Goal | None = None
    noise: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.runs)


class Point(msgspec.Struct, frozen=True):
    x: float
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.runs)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    unit: str
    points: tuple[Point, ...]


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How costs depend on a quantity that grows. `why` explains the shape and contains no figures."""

    title: str
    along: str
    lines: tuple[Line, ...]
    why: str


def line(name: str, unit: str, points: Iterable[tuple[float, float | Sequence[float]]]) -> Line:
    made = (Point(x, (float(y),) if isinstance(y, int | float) else tuple(y)) for x, y in points)
    return Line(name=name, unit=unit, points=tuple(made))


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The latencies of one run.

    `hdr` is the complete HdrHistogram as its library encodes it; `points` are pairs of percentile and milliseconds.
    """

    name: str
    count: int
    hdr: str
    points: tuple[tuple[float, float], ...]


class Share(msgspec.Struct, frozen=True):
    """One segment of a stacked bar."""

    of: str
    name: str
    value: float


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Stacked bars. `about` explains the segments."""

    title: str
    unit: str
    shares: tuple[Share, ...]
    about: str = ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of a part. `skipped` is the reason if there are none."""

    figures: tuple[Figure, ...] = ()
    growths: tuple[Growth, ...] = ()
    latencies: tuple[Latency, ...] = ()
    shares: tuple[Shares, ...] = ()
    remarks: tuple[str, ...] = ()
    skipped: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one part with the conditions of its run. `peer` is the measured server in the comparison."""

    part: str
    title: str
    found: Found
    is_short: bool
    peer: str = ""
    elsewhere: str = ""
    """The place and time of the measurement, if it is not part of this run."""
    machine: Mapping[str, str] = {}
    commit: str = ""
    command: str = ""
    began_at: str = ""
    took_s: float = 0.0
    load_before: float = 0.0
    load_after: float = 0.0


def save(result: Result, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.part}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return path


def load(path: Path) -> Result:
    return msgspec.json.decode(path.read_bytes(), type=Result)


def load_all(folder: Path, order: Sequence[str] = ()) -> list[Result]:
    """Load all results of a folder in the given order; results that it does not name come last."""
    rank = {part: n for n, part in enumerate(order)}
    found = [load(path) for path in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda result: rank.get(result.part, len(rank)))


def figure(
    name: str,
    runs: float | Iterable[float],
    unit: str = "",
    goal: Goal | None = None,
    *,
    noise: Iterable[float] = (),
    better: Better = "less",
) -> Figure:
    some = (float(runs),) if isinstance(runs, int | float) else tuple(runs)
    better = goal.better if goal else better
    return Figure(name=name, unit=unit, runs=some, better=better, goal=goal, noise=tuple(noise))
