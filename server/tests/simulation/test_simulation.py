"""The server's code on simulated engines, under many seeds, and tests of the simulation itself."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulation.mutants import MUTANTS
from simulation.run import first_caught, run_seed, run_seeds

SEEDS = 100
"""As many as fit into the gate. `just nightly` runs thousands."""
REPLAYED = (3, 54, 358)
QUICKLY_CAUGHT = (
    "ack-first",
    "no-duplicate-check",
    "row-unconditional",
    "no-gap",
    "no-relay",
    "kept-audience",
    "remove-any",
    "mark-first",
)


@pytest.fixture(autouse=True)
def _others_may_speak() -> Iterator[None]:
    """Enable logging again: seeds disable it for the whole process, and other tests read the log."""
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.deadline(600)
def test_all_promises_hold_under_every_seed() -> None:
    tally = run_seeds(range(SEEDS))
    assert [(verdict.seed, verdict.breaches[:3]) for verdict in tally.failed] == []
    assert tally.held > SEEDS * 10, "too few deliveries: the checks prove nothing"
    print(f"{SEEDS} seeds, median {tally.median_ms} ms of CPU, {tally.held} deliveries")


def test_a_seed_does_not_depend_on_string_hashes() -> None:
    here = [run_seed(seed).digest for seed in REPLAYED]
    for hash_seed in ("0", "4242"):
        assert _digests_elsewhere(hash_seed) == here


def _digests_elsewhere(hash_seed: str) -> list[str]:
    words = f"from simulation.run import run_seed\nfor s in {REPLAYED}: print(run_seed(s).digest)"
    tests = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(tests)}
    done = subprocess.run(
        [sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize("name", QUICKLY_CAUGHT)
def test_a_broken_rule_is_caught_within_a_few_seeds(name: str) -> None:
    with MUTANTS[name].in_place():
        assert first_caught(range(40)) is not None
