"""The inboxes' state machine, short; `python -m contract.notices` runs it long. And mutants, which it must catch."""

import pytest
from contract.notices.machine import Machine
from contract.notices.mutants import MUTANTS
from fixtures.tables import Tables
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tidings.notices.store import DynamoShelf

SHORT = settings(
    max_examples=20, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
HUNT = settings(
    SHORT,
    max_examples=300,
    stateful_step_count=40,
    phases=[Phase.generate],
    derandomize=True,
    report_multiple_bugs=False,
    database=None,
    print_blob=False,
)


def test_counts_and_lists_are_as_plain_sets_say_whatever_happens(tables: Tables) -> None:
    play(tables, SHORT, DynamoShelf)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_caught(tables_dynoxide: Tables, mutant: type[DynamoShelf]) -> None:
    with pytest.raises(AssertionError):
        play(tables_dynoxide, HUNT, mutant)


def play(tables: Tables, how: settings, shelf: type[DynamoShelf]) -> None:
    machine = type("OnEngine", (Machine,), {"tables": tables, "make_shelf": shelf})
    run_state_machine_as_test(machine, settings=how)
