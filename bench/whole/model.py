"""What a part of `just bench all` found. It is kept as JSON; the report is made of these files and of nothing else."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

type Better = Literal["less", "more"]


class Goal(msgspec.Struct, frozen=True):
    """`limit`: what stands in the way as long as it is not reached."""

    better: Better
    value: float
    limit: str = ""

    def is_reached_by(self, found: float) -> bool:
        return found <= self.value if self.better == "less" else found >= self.value


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`runs`: a value for each round. `noise`: for a ratio, what the same rounds gave of a thing beside itself."""

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
    """How costs move along something that grows. `why` explains, and has no figures in it."""

    title: str
    along: str
    lines: tuple[Line, ...]
    why: str


def line(name: str, unit: str, points: Iterable[tuple[float, float | Sequence[float]]]) -> Line:
    made = (Point(x, (float(y),) if isinstance(y, int | float) else tuple(y)) for x, y in points)
    return Line(name=name, unit=unit, points=tuple(made))


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """`hdr`: the whole HdrHistogram as its library encodes it. `points`: (share of all in percent, milliseconds)."""

    name: str
    count: int
    hdr: str
    points: tuple[tuple[float, float], ...]


class Share(msgspec.Struct, frozen=True):
    """One bar of several that make up a sum."""

    of: str
    name: str
    value: float


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """`about`: which part is whose."""

    title: str
    unit: str
    shares: tuple[Share, ...]
    about: str = ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a part gives back. `skipped`: why there is nothing."""

    figures: tuple[Figure, ...] = ()
    growths: tuple[Growth, ...] = ()
    latencies: tuple[Latency, ...] = ()
    shares: tuple[Shares, ...] = ()
    remarks: tuple[str, ...] = ()
    skipped: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Of one part, with what one must know to trust it. `peer`: whose figures these are, if not only ours."""

    part: str
    title: str
    found: Found
    is_short: bool
    peer: str = ""
    elsewhere: str = ""
    """Where and when, if it was not measured in this run."""
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
    """In the order of the parts; what the order does not name comes after."""
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
