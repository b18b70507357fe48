"""The parts of the gates: which command checks what, and in which gate it runs.

`fast` is `just check`, `full` is `just check --full`, which `.ci/run` runs, and `nightly` is `just nightly`.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from tools.node import ROOT
from tools.web import has_chromium


def is_root_with_buildah() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("buildah") is not None


def has_go() -> bool:
    return shutil.which("go") is not None


def has_cargo() -> bool:
    return shutil.which("cargo") is not None


def oldest_compatible_commit() -> str:
    """Return the commit that the recorded upgrade begins with."""
    record = json.loads((ROOT / "docs/benchmarks/upgrade.json").read_text())
    return str(record["from"])[:8]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a gate.

    again: a command that runs if the first one fails; the part passes if it does.
    waits: whether the part mostly waits for processes that it starts. Parts that only compute run at the same time.
    needs: whether this machine can run the part, and what it lacks otherwise.
    """

    name: str
    command: str
    again: str = ""
    waits: bool = True
    needs: tuple[Callable[[], bool], str] | None = None


CHROMIUM = (has_chromium, "Debian's package chromium")


def pytest(*words: str, workers: int = 3) -> str:
    """Return the command that runs tests in parallel, each file in one worker."""
    parallel = f"--numprocesses {workers} --dist loadfile --no-loadscope-reorder"
    return f"uv run pytest {parallel} {' '.join(words)}"


FULL_PYTEST_OPTIONS = ["--engines", "adapters"]
"""Which tests the full gate selects."""
LINT = Part("lint", "just lint", waits=False)
# The parts of the web packages build these: two at the same time would disturb each other.
WEB_CHECK = Part("web check", "just web check")
WEB_TEST = Part("web test", "just web test")
DOCS = Part("docs", "just docs check", waits=False)

FAULTS = "kills freezes wipes commit weather rolling removal restore failover"
"""The faults of the full gate. `just nightly` injects all of them, in their full form."""

FAST = (
    LINT,
    WEB_CHECK,
    Part("infra", "just infra-check --short", waits=False),
    Part("pytest", pytest("--fast", "--durations 20"), again="just alone"),
)
COMPUTING_TESTS = [
    *(f"server/tests/{name}" for name in ("unit", "wire", "architecture", "model", "simulation")),
    *(f"{name}/tests" for name in ("sdk-python", "terminal", "harness", "tools", "infra")),
]
"""Folders with tests that rarely wait. The full gate runs them while the browser tests and the faults wait."""
_CACHE = "-o cache_dir=build/gate/computing-tests"
FULL = (
    LINT,
    DOCS,
    Part("infra", "just infra-check --short", waits=False),
    Part(
        "computing tests",
        pytest(_CACHE, *FULL_PYTEST_OPTIONS, *COMPUTING_TESTS, workers=2),
        again=f"just alone {_CACHE}",
        waits=False,
    ),
    WEB_CHECK,
    WEB_TEST,
    Part("browser", "just web browser --short", needs=CHROMIUM),
    Part("history", "just web history --devices 4 --seconds 20", needs=CHROMIUM),
    Part("faults", f"just faults {FAULTS} --short --mutants without"),
    Part("autobahn", "just autobahn picows --short"),
    Part(
        "pytest",
        pytest(*FULL_PYTEST_OPTIONS, *(f"--ignore {each}" for each in COMPUTING_TESTS), "--durations 40"),
        again="just alone",
    ),
)

BUILDAH = (is_root_with_buildah, "root, and Debian's packages buildah and mmdebstrap")
GO = (has_go, "Go")
EVERYTHING = pytest("--long", "--engines all", "--examples 150")
NIGHTLY = (
    Part("engines", "uv run tidings engines fetch --dynamo dynoxide", needs=(has_cargo, "cargo")),
    LINT,
    WEB_CHECK,
    WEB_TEST,
    Part("infra", "just infra-check"),
    Part("docs", "just docs check"),
    # All tests, in parts that take less than an hour, so that an interruption costs little.
    Part("computing tests", f"{EVERYTHING} {' '.join(COMPUTING_TESTS)}"),
    Part("tests of contracts", f"{EVERYTHING} server/tests/contract"),
    Part("tests of processes", f"{EVERYTHING} server/tests/e2e"),
    Part(
        "tests of faults and load",
        f"{EVERYTHING} server/tests/faults server/tests/load server/tests/fuzz bench/tests",
    ),
    Part("models", "just models --wide"),
    Part("simulation", "just simulate --seeds 5000"),
    Part("simulation mutants", "just simulate --seeds 2000 --mutants"),
    Part("faults", "just faults --mutants without"),
    Part("fault mutants", "just faults --short --mutants only"),
    Part("drills", "just drills"),
    Part("upgrade", f"just upgrade-test {oldest_compatible_commit()} HEAD --write"),
    Part("storm gateway", "just storm-gateway"),
    Part("storm presence", "just storm-presence"),
    Part("storm webhooks", "just storm-webhooks"),
    Part("storm push", "just storm-push"),
    Part("storm media", "just storm-media"),
    Part("erasure search", "just erasure-search"),
    Part("large files", "just large-files"),
    Part("append queue memory", "just append-queue-memory"),
    Part("autobahn", "just autobahn"),
    Part("fuzz frames", "just fuzz frames"),
    Part("fuzz live", "just fuzz live"),
    Part("inbox machine", "just machine-notifications --steps 20000"),
    Part("browser", "just web browser --all", needs=CHROMIUM),
    Part("history", "just web history", needs=CHROMIUM),
    Part("lighthouse", "just web lighthouse", needs=CHROMIUM),
    Part("packed packages", "just web pack --try", needs=CHROMIUM),
    Part("gate mutants", "just gate-mutants"),
    Part("image", "just image check", needs=BUILDAH),
    Part("tofu plan", "just tofu-plan", needs=GO),
    Part("release", "just release 0.1.0"),
    Part("release try", "just release try"),
    Part("release check", "just release-check --short"),
)
GATES = {"fast": FAST, "full": FULL, "nightly": NIGHTLY}
