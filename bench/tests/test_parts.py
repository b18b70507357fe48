"""Run the short form of every part of `just bench all` as the command does, without other servers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.whole.model import load
from bench.whole.parts import PARTS, ROOT

_WITHIN_S = 600.0
"""Enough for a busy machine."""


_IN_GATE = {"units"}
"""A part that runs in seconds. The others run with `just nightly`."""


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part.name, marks=() if part.name in _IN_GATE else pytest.mark.long)
        for part in PARTS
        if not part.peer
    ],
)
def test_a_part_runs_alone_and_writes_its_results(part: str, tmp_path: Path) -> None:
    given = os.environ | {"PYTHONPATH": f"{ROOT / 'server' / 'tests'}{os.pathsep}{ROOT}"}
    words = ["-m", "bench.all", "--part", part, "--short", "--to", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, *words],
        env=given,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_WITHIN_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = load(tmp_path / "results" / f"{part}.json")
    assert found.is_short
    assert found.command == f"just bench all --only {part} --short"
    assert all(len(line.points) > 1 for growth in found.found.growths for line in growth.lines)
    assert found.found.figures or found.found.growths
    assert [
        each.median for each in found.found.figures if each.name in {"lost messages", "duplicate messages"}
    ] in (
        [],
        [0, 0],
    )
