"""Run the parts of a gate, and measure how long each takes.

Parts that wait for processes run one after the other. Parts that only compute run at the same time with
a low priority, so that they use the time in which the others wait.
"""

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.gate.parts import Part
from tools.gate.processes import PART_VARIABLE
from tools.node import ROOT

FOLDER = ROOT / "build/gate"
_LOW_PRIORITY = ("nice", "-n", "15")


@dataclass(frozen=True, slots=True)
class PartResult:
    """How a part ended. `cpu_s` is that of its processes, except those that other processes adopted."""

    name: str
    exit_code: int | None
    seconds: float = 0.0
    cpu_s: float = 0.0
    note: str = ""
    last_line: str = ""

    @property
    def is_good(self) -> bool:
        return not self.exit_code


class GateRunner:
    """Runs parts and collects their results."""

    def __init__(self) -> None:
        self._results: list[PartResult] = []
        self._printing = threading.Lock()

    def run(self, parts: Sequence[Part]) -> list[PartResult]:
        """Run all parts, also after one failed. Return their results in the order of `parts`."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        computing = threading.Thread(
            target=self._run_one_by_one,
            args=([part for part in parts if not part.waits],),
            kwargs={"is_beside": True},
        )
        computing.start()
        self._run_one_by_one((part for part in parts if part.waits), is_beside=False)
        computing.join()
        order = [part.name for part in parts]
        return sorted(self._results, key=lambda result: order.index(result.name))

    def _run_one_by_one(self, parts: Iterable[Part], *, is_beside: bool) -> None:
        for part in parts:
            result = run_part(part, is_beside=is_beside)
            self._results.append(result)
            with self._printing:
                if is_beside and result.exit_code is not None:
                    print(log_of(part).read_text(), end="")
                print(f"== {describe(result)}", flush=True)


def run_part(part: Part, *, is_beside: bool = False) -> PartResult:
    """Run a part, and its second command if the first one fails. Its output goes to `build/gate` too.

    A part that this machine cannot run has no exit code.
    """
    if part.needs is not None and not part.needs[0]():
        return PartResult(part.name, None, note=f"not run: it needs {part.needs[1]}")
    began, log = time.monotonic(), log_of(part)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        code, cpu_s = _run_command(part, part.command, output.fileno(), is_beside=is_beside)
        if code and part.again:
            code, more_s = _run_command(part, part.again, output.fileno(), is_beside=is_beside)
            cpu_s += more_s
    lines = log.read_text(errors="replace").strip().splitlines()
    return PartResult(part.name, code, time.monotonic() - began, cpu_s, last_line=lines[-1] if lines else "")


def _run_command(part: Part, command: str, output: int, *, is_beside: bool) -> tuple[int, float]:
    """Run a command and return its exit code and CPU time."""
    process = subprocess.Popen(
        [*(_LOW_PRIORITY if is_beside else ()), *shlex.split(command)],
        cwd=ROOT,
        env={**os.environ, PART_VARIABLE: part.name},
        stdin=subprocess.DEVNULL,
        stdout=output if is_beside else subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if process.stdout is not None:
        with process.stdout as lines:
            for line in lines:
                os.write(output, line)
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def log_of(part: Part) -> Path:
    return FOLDER / f"{part.name.replace(' ', '-')}.log"


def describe(result: PartResult) -> str:
    if result.exit_code is None:
        return f"{result.name}: {result.note}"
    outcome = "passed" if result.is_good else f"FAILED with exit code {result.exit_code}"
    return f"{result.name}: {outcome} after {result.seconds / 60:.1f} min, {result.cpu_s / 60:.1f} min of CPU"
