"""Check that the full gate catches mistakes in the product: apply each mutant of `mutants.toml` and run its tests."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.node import node_command, node_environment

_FILE = Path(__file__).with_name("mutants.toml")
PYTEST_COMMAND = ["uv", "run", "pytest"]
_TESTS_FAILED = 1
_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FAILED_VITEST = re.compile(r"^ *FAIL +(?:\|[^|]+\| )?(.+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProductMutant:
    """A mistake in one file of the product, and the tests of the gate that should find it."""

    name: str
    subject: str
    file: str
    old: str
    new: str
    breaks: str
    tests: list[str]

    @contextmanager
    def applied(self, root: Path) -> Iterator[None]:
        """Make the mistake, and restore the file afterwards."""
        path = root / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: the text to replace does not occur once in {self.file}")
        path.write_text(text.replace(self.old, self.new))
        try:
            yield
        finally:
            path.write_text(text)


@dataclass(frozen=True, slots=True)
class MutantResult:
    """Whether the tests of a mutant failed. `found_by` is the first test that failed, or "" if none did."""

    mutant: ProductMutant
    found_by: str

    @property
    def is_caught(self) -> bool:
        return self.found_by != ""


def read_mutants() -> list[ProductMutant]:
    return [ProductMutant(**each) for each in tomllib.loads(_FILE.read_text())["mutant"]]


def try_mutant(mutant: ProductMutant, root: Path, pytest_options: list[str]) -> MutantResult:
    """Run the tests of a mutant on the changed file, as the gate selects them."""
    with mutant.applied(root):
        if mutant.tests[0].endswith((".ts", ".tsx")):
            package, _, _ = mutant.tests[0].partition("/")
            names = [test.removeprefix(f"{package}/") for test in mutant.tests]
            command, folder = node_command("vitest", ["run", *names]), root / package
        else:
            options = ["-q", "-x", "-p", "no:cacheprovider", *pytest_options]
            command, folder = [*PYTEST_COMMAND, *options, *mutant.tests], root
        done = subprocess.run(
            command, cwd=folder, env=node_environment(), capture_output=True, text=True, check=False
        )
    if done.returncode not in {0, _TESTS_FAILED}:
        raise RuntimeError(
            f"{mutant.name}: the tests did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    if done.returncode == 0:
        return MutantResult(mutant, "")
    output = _COLOUR.sub("", done.stdout + done.stderr)
    found = _FAILED_TEST.search(output) or _FAILED_VITEST.search(output)
    return MutantResult(mutant, found[1].strip() if found else "a test")
