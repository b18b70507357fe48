"""Measure the CPU time of all processes that start while a gate runs.

A thread reads `/proc` several times a second. CPU time that the kernel adds to a parent when a child ends includes the
children that lived too short to be seen: `unseen_cpu_s`.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PART_VARIABLE = "GATE_PART"
"""Environment variable with the name of the part that a process belongs to."""
_INTERVAL_S = 0.2
_START_S = 3.0
"""CPU time before this age counts as the start of a process."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_END_CHARS = 300


@dataclass(slots=True)
class ProcessTimes:
    """CPU time of one process, in seconds.

    cpu_s: user and system time of the process itself.
    start_cpu_s: the part of `cpu_s` before the process was three seconds old.
    children_s: total of its children that ended and whose exit status it read, with their own children.
    """

    pid: int
    parent: int
    part: str
    command: str
    started: float
    cpu_s: float = 0.0
    start_cpu_s: float = 0.0
    children_s: float = 0.0


class ProcessSampler:
    """Collects the times of processes until it is stopped."""

    def __init__(self) -> None:
        self._running: dict[tuple[int, str], ProcessTimes] = {}
        self._ended: list[ProcessTimes] = []
        self._ignored: set[tuple[int, str]] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True)

    def start(self) -> None:
        self._sample(is_first=True)
        self._thread.start()

    def stop(self) -> list[ProcessTimes]:
        """Stop, and return the times of all processes that started in the meantime."""
        self._stopping.set()
        self._thread.join()
        self._sample(is_first=False)
        return [*self._ended, *self._running.values()]

    def _sample_until_stopped(self) -> None:
        while not self._stopping.wait(_INTERVAL_S):
            self._sample(is_first=False)

    def _sample(self, *, is_first: bool) -> None:
        now = time.time()
        alive = set()
        for name in os.listdir("/proc"):  # noqa: PTH208 - several times a second
            if not name.isdigit():
                continue
            try:
                stat = (_PROC / name / "stat").read_bytes().rpartition(b") ")[2].split()
            except OSError:
                continue
            key = (int(name), stat[19].decode())
            alive.add(key)
            if is_first or key in self._ignored:
                self._ignored.add(key)
                continue
            self._update(key, stat, now)
        for key in self._running.keys() - alive:
            self._ended.append(self._running.pop(key))

    def _update(self, key: tuple[int, str], stat: list[bytes], now: float) -> None:
        process = self._running.get(key)
        if process is None or now - process.started < 2 * _INTERVAL_S:
            # A new process has the command and environment of its parent until it executes its own program.
            environment = _environment(key[0])
            parent = self._find(int(stat[1]))
            process = process or ProcessTimes(key[0], int(stat[1]), "", "", now)
            process.command = _command(key[0]) or process.command
            process.part = environment.get(PART_VARIABLE) or (parent.part if parent else "")
            self._running[key] = process
        process.cpu_s = (int(stat[11]) + int(stat[12])) * _TICK_S
        process.children_s = (int(stat[13]) + int(stat[14])) * _TICK_S
        if now - process.started <= _START_S:
            process.start_cpu_s = process.cpu_s

    def _find(self, pid: int) -> ProcessTimes | None:
        return next((process for (number, _), process in self._running.items() if number == pid), None)


def unseen_cpu_s(processes: Sequence[ProcessTimes]) -> dict[int, float]:
    """Return for each process the CPU time of its children that were never seen, by its place in `processes`."""
    seen: defaultdict[int, float] = defaultdict(float)
    for process in processes:
        seen[process.parent] += process.cpu_s + process.children_s
    return {
        place: max(process.children_s - seen[process.pid], 0.0) for place, process in enumerate(processes)
    }


def _environment(pid: int) -> dict[str, str]:
    try:
        text = (_PROC / str(pid) / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    text = " ".join(words)
    # The names of programs and main classes are at both ends; a Java class path between them can be long.
    return text if len(text) <= 2 * _END_CHARS else f"{text[:_END_CHARS]} … {text[-_END_CHARS:]}"
