"""The capacity plan predicts the units of three workloads on a whole installation. The recorded form is `just bench plan`."""

import json
import os
import subprocess
import sys

import pytest
from bench.plan import TOLERANCE
from bench.whole.parts import ROOT

_WITHIN_S = 600.0
"""Enough for a busy machine."""


@pytest.mark.long
def test_predicted_units_are_within_a_fifth_of_the_measured_units() -> None:
    given = os.environ | {"PYTHONPATH": f"{ROOT / 'server' / 'tests'}{os.pathsep}{ROOT}"}
    ran = subprocess.run(
        [sys.executable, "-m", "bench.plan", "--messages", "1"],
        env=given,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_WITHIN_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    ratios = json.loads(ran.stdout.splitlines()[-1])
    assert len(ratios) == 6
    assert {name: ratio for name, ratio in ratios.items() if abs(ratio - 1) > TOLERANCE} == {}, ran.stdout
