"""Run the short form of `just bench search`: nothing leaks and nothing is missed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["tantivy", "opensearch"])
def test_random_searches_leak_and_miss_nothing(engine: str) -> None:
    given = os.environ | {"PYTHONPATH": f"{_ROOT / 'server' / 'tests'}{os.pathsep}{_ROOT}"}
    ran = subprocess.run(
        [sys.executable, "-m", "bench.search", "--short", "--engine", engine],
        env=given,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=600.0,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout.splitlines()[-1])
    assert (figures["leaks"], figures["missed"]) == (0, 0)
