"""The inboxes' state machine for long: `just machine-notifications --steps 20000`. Its last line is the report."""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from contract.inboxes.broadcast_machine import BroadcastMachine
from fixtures.engines import Dynamo, Namespace
from fixtures.tables import make_tables
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind, Engine, StartRequest

STEPS = 50


class Counting(BroadcastMachine):
    steps = 0

    @invariant()
    def one_more(self) -> None:
        type(self).steps += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--engine", choices=("local", "dynoxide"), default="dynoxide")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home), default_cache(), dies_with_us=True)
        try:
            play(fleet, asked.engine, asked.steps)
        finally:
            fleet.stop()
    summary = {"steps": Counting.steps, "engine": asked.engine, "wall_s": round(time.monotonic() - began)}
    print(json.dumps(summary | {"commit": commit(), "cpu": cpu(), "cores": os.cpu_count()}))


def commit() -> str:
    """`-dirty`: with changes that are in no commit."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown")


def play(fleet: LocalCluster, engine: DynamoKind, steps: int) -> None:
    fleet.start(StartRequest(engines=frozenset({Engine.DYNAMO}), dynamo=engine))
    url = f"http://{fleet.status()[0].node.address}"
    for tables in make_tables(Dynamo(engine, url), Namespace().table_prefix):
        Counting.tables = tables
        while Counting.steps < steps:
            run_state_machine_as_test(Counting, settings=_how(steps - Counting.steps))


def _how(steps: int) -> settings:
    """Examples may be short, so the run may have fewer steps than requested."""
    return settings(
        max_examples=steps // STEPS + 1,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        database=None,
        derandomize=False,
    )


if __name__ == "__main__":
    main()
