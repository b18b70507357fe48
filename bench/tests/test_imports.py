"""Run `just bench imports` with few messages: it imports all of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def test_the_benchmark_of_imports_measures_both_shapes() -> None:
    given = os.environ | {"PYTHONPATH": f"{_ROOT / 'server' / 'tests'}{os.pathsep}{_ROOT}"}
    ran = subprocess.run(
        [sys.executable, "-m", "bench.imports", "--count", "1000", "--rounds", "1"],
        env=given,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=300.0,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout.splitlines()[-1])
    assert min(figures["one_chat_per_s"], figures["many_chats_per_s"]) > 0
