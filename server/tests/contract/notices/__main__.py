"""The inboxes' state machine for long: `just machine-notices --steps 20000`. Its last line is the report."""

import argparse
import json
import tempfile
import time
from pathlib import Path

from contract.notices.wide_machine import WideMachine
from fixtures.engines import Dynamo, Space
from fixtures.tables import make_tables
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from tidings.engines.cache import user_cache
from tidings.engines.fleet import Fleet
from tidings.engines.model import DynamoKind, Engine, Wish

STEPS = 50


class Counting(WideMachine):
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
        fleet = Fleet(Path(home), user_cache(), dies_with_us=True)
        try:
            play(fleet, asked.engine, asked.steps)
        finally:
            fleet.stop()
    took_s = round(time.monotonic() - began)
    print(json.dumps({"steps": Counting.steps, "engine": asked.engine, "wall_s": took_s}))


def play(fleet: Fleet, engine: DynamoKind, steps: int) -> None:
    fleet.start(Wish(engines=frozenset({Engine.DYNAMO}), dynamo=engine))
    url = f"http://{fleet.status()[0].node.address}"
    for tables in make_tables(Dynamo(engine, url), Space().table_prefix):
        Counting.tables = tables
        how = settings(
            max_examples=steps // STEPS,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            database=None,
            derandomize=False,
        )
        run_state_machine_as_test(Counting, settings=how)


if __name__ == "__main__":
    main()
