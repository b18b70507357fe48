"""Summarise where the CPU time of a gate went: by part and kind of process, and by test file."""

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.gate.processes import ProcessTimes, unseen_cpu_s

KINDS = (
    (
        "build of dynoxide",
        r"/(rustc|cargo|cc1|cc|ld|as|ar|collect2) |^(cargo|rustc|cc|ld|as|ar) |/build-script-build",
    ),
    ("DynamoDB Local (Java)", r"DynamoDBLocal|LoopbackDynamo"),
    ("Kafka (Java)", r"kafka\.Kafka|kafka\.server|org\.apache\.kafka|kafka-"),
    ("OpenSearch (Java)", r"opensearch"),
    ("dynoxide", r"/dynoxide serve"),
    ("Valkey, Redis", r"valkey|redis-server"),
    ("Prometheus, ClamAV, other engines", r"prometheus|promtool|clamd|otelcol|(^|/)weed |seaweedfs"),
    ("Chromium", r"chrom"),
    ("Node: build, type check, tests", r"(^|/)node |(^|/)npm |esbuild|biome|(^|/)npx "),
    ("linters", r"(^|/)(ruff|mypy|lint-imports|lychee)\b|tools\.prose_check|tools\.code_stats"),
    ("Go", r"(^|/)go |helm"),
    ("test code", r"exec\(eval\(sys\.stdin|pytest"),
    ("forked processes of Tidings", r"fork_server"),
    ("started processes of Tidings and other Python", r"python|tidings|(^|/)uv "),
)
"""Kinds of processes, with the pattern of their command lines. The first that matches counts."""
STARTS = "starts of Python processes"
"""Kind of the CPU time that Python processes need before they are three seconds old."""
SHORT = "processes shorter than 0.2 s"
_OTHER = "others"
_PYTHON = "started processes of Tidings and other Python"


@dataclass(frozen=True, slots=True)
class TestTimes:
    """How long a test took in its worker. `cpu_s` is that of the worker alone."""

    __test__ = False  # not a test class of pytest

    test: str
    cpu_s: float
    started: float
    seconds: float
    worker: int

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]


@dataclass(frozen=True, slots=True)
class GateCost:
    """CPU time of one run, in seconds: by part and kind of process, and by test file."""

    by_part: dict[str, dict[str, float]]
    by_file: dict[str, float]


def kind_of(command: str) -> str:
    return next((name for name, pattern in KINDS if re.search(pattern, command)), _OTHER)


def summarise(processes: Sequence[ProcessTimes], tests: Sequence[TestTimes]) -> GateCost:
    """Add up the CPU time of all processes.

    A process that a worker's test started counts for the file of that test. Engines that all workers share count for
    no file.
    """
    by_part: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    by_file: defaultdict[str, float] = defaultdict(float)
    finder = _TestFinder(processes, tests)
    unseen_s = unseen_cpu_s(processes)
    for place, process in enumerate(processes):
        if not process.part:
            continue
        kind = kind_of(process.command)
        if kind == _PYTHON:
            by_part[process.part][STARTS] += process.start_cpu_s
            by_part[process.part][kind] += process.cpu_s - process.start_cpu_s
        else:
            by_part[process.part][kind] += process.cpu_s
        by_part[process.part][SHORT] += unseen_s[place]
        if file := finder.find_file(process):
            by_file[file] += process.cpu_s + unseen_s[place]
    for test in tests:
        by_file[test.file] += test.cpu_s
    return GateCost({part: dict(kinds) for part, kinds in by_part.items()}, dict(by_file))


def read_tests(folder: Path) -> list[TestTimes]:
    return [
        TestTimes(worker=int(path.stem), **json.loads(line))
        for path in folder.glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]


class _TestFinder:
    """Finds the test that a process was started by: its worker ran the test at that time."""

    def __init__(self, processes: Sequence[ProcessTimes], tests: Sequence[TestTimes]) -> None:
        self._parents = {process.pid: process.parent for process in processes}
        self._tests: defaultdict[int, list[TestTimes]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: test.started):
            self._tests[test.worker].append(test)

    def find_file(self, process: ProcessTimes) -> str | None:
        pid, seen = process.parent, set[int]()
        while pid in self._parents and pid not in self._tests and pid not in seen:
            seen.add(pid)
            pid = self._parents[pid]
        tests = self._tests.get(pid)
        if not tests:
            return None
        at = bisect_right(tests, process.started, key=lambda test: test.started)
        return tests[max(at - 1, 0)].file
