"""The record of nightly runs: for each part the newest result and its commit. It is committed with the report."""

import json
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from tools.gate.parts import NIGHTLY
from tools.gate.runner import PartResult

_FILE = Path("docs/benchmarks/nightly.json")


@dataclass(frozen=True, slots=True)
class NightlyResult:
    """The newest result of one part. `exit_code` is None if the machine could not run it."""

    commit: str
    ended: str
    machine: str
    exit_code: int | None
    seconds: float
    cpu_s: float
    note: str
    last_line: str


class NightlyRecord:
    """The newest result of every part, stored in the checkout so that another machine can continue."""

    def __init__(self, root: Path, results: dict[str, NightlyResult]) -> None:
        self._root = root
        self.results = results

    @classmethod
    def read(cls, root: Path) -> Self:
        path = root / _FILE
        content = json.loads(path.read_text()) if path.exists() else {}
        return cls(root, {name: NightlyResult(**result) for name, result in content.items()})

    def add(self, result: PartResult, commit: str) -> None:
        """Replace the result of a part, and store the record."""
        self.results[result.name] = NightlyResult(
            commit=commit,
            ended=f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            machine=describe_machine(),
            exit_code=result.exit_code,
            seconds=round(result.seconds),
            cpu_s=round(result.cpu_s),
            note=result.note,
            last_line=result.last_line[:500],
        )
        known = {part.name: self.results[part.name] for part in NIGHTLY if part.name in self.results}
        self.results = known
        text = json.dumps({name: asdict(result) for name, result in known.items()}, indent=1)
        (self._root / _FILE).write_text(text + "\n")

    def is_passed(self, name: str, commit: str, since: str | None) -> bool:
        """Return whether a part passed on this commit, or on one that is not older than `since`."""
        result = self.results.get(name)
        if result is None or result.exit_code != 0:
            return False
        return result.commit == commit or (since is not None and self._is_after(result.commit, since))

    def is_good(self, commit: str, since: str | None) -> bool:
        """Return whether every part passed, or cannot run on this machine."""
        return all(
            self.is_passed(part.name, commit, since)
            or (part.name in self.results and self.results[part.name].exit_code is None)
            for part in NIGHTLY
        )

    def _is_after(self, commit: str, since: str) -> bool:
        command = ["git", "merge-base", "--is-ancestor", since, commit.removesuffix("+")]
        return subprocess.run(command, cwd=self._root, check=False, capture_output=True).returncode == 0


def describe_commit(root: Path) -> str:
    """Return the hash of HEAD, with a "+" if files of the product or the tests differ from it."""
    commit = _git(root, "rev-parse", "--short=8", "HEAD").strip()
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return f"{commit}+" if changed.strip() else commit


def describe_machine() -> str:
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(names)} cores, {names[0]}" if names else platform.processor()


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout
