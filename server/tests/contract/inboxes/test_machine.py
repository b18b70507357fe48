"""The inboxes' state machine, short; `python -m contract.inboxes` runs it long. And mutants, which it must catch.

Each mutant has a story of a few steps in which it shows; the real inboxes pass all stories.
"""

from collections.abc import Callable

import pytest
from contract.inboxes import mutants
from contract.inboxes.machine import Machine
from fixtures.tables import Tables
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tidings.inboxes.rules import DAY_MS, HOUR_MS
from tidings.inboxes.store import DynamoInboxRepository

SHORT = settings(
    max_examples=10, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)

type Story = Callable[[Machine], None]


def given_again(at: Machine) -> None:
    at.send(1, None)
    at.give("anna", 0, recent=True)
    at.give("anna", 0, recent=True)


def given_and_expired(at: Machine) -> None:
    at.send(1, 1_500)
    at.give("anna", 0, recent=True)
    at.time_passes(2_000, 0)


def given_late_below_a_mark(at: Machine) -> None:
    at.send(1, None)
    at.send(2, None)
    at.give("anna", 0, recent=True)
    at.time_passes(10_000, 5_000)
    at.mark_all("anna", None, None)
    at.give("anna", 1, recent=True)


def read_and_redacted(at: Machine) -> None:
    given_again(at)
    at.send(0, None)
    at.give("anna", 1, recent=True)
    at.mark_all("anna", None, 1)
    at.redact("anna", 0)


def unread_again_after_a_mark(at: Machine) -> None:
    given_again(at)
    at.mark_all("anna", None, None)
    at.reopen("anna", 0)


def expired_unseen(at: Machine) -> None:
    given_and_expired(at)
    at.send(2, None)
    at.give("anna", 1, recent=True)
    at.mark_all("anna", None, 2)


def given_again_when_forgotten(at: Machine) -> None:
    at.keep(1)
    given_again(at)
    at.time_passes(DAY_MS, 0)
    at.time_passes(HOUR_MS, 0)
    at.counts_and_lists_are_as_the_sets_say()
    at.time_passes(1_000, 0)
    at.give("anna", 0, recent=True)


def redacted_and_given(at: Machine) -> None:
    at.send(1, None)
    at.redact("anna", 0)
    at.give("anna", 0, recent=True)


def gathered_again(at: Machine) -> None:
    for which in (0, 1):
        at.send(1, None)
        at.gather("anna", which, recent=True)
    at.gather("anna", 1, recent=True)


def gathered_and_redacted(at: Machine) -> None:
    """The newest, the first and the last of a digest are recalled."""
    for which in (0, 1, 2):
        at.send(1, None)
        at.gather("anna", which, recent=True)
    for which in (2, 0, 1):
        at.redact("anna", which)
        at.redact("anna", which)
        at.counts_and_lists_are_as_the_sets_say()


def gathered_after_a_read(at: Machine) -> None:
    at.send(1, 30_500)
    at.gather("anna", 0, recent=True)
    at.send(1, HOUR_MS + 500)
    at.gather("anna", 1, recent=True)
    at.time_passes(60_000, 0)
    at.counts_and_lists_are_as_the_sets_say()
    at.read("anna", 0)
    at.send(1, None)
    at.gather("anna", 2, recent=True)
    at.time_passes(HOUR_MS, 0)
    at.time_passes(1_000, 0)
    at.send(1, None)
    at.gather("anna", 2, recent=True)


SHOWN_BY: dict[type[DynamoInboxRepository], Story] = {
    mutants.CountsAgain: given_again,
    mutants.NeverExpires: given_and_expired,
    mutants.CountsBelowMarks: given_late_below_a_mark,
    mutants.RedactsTwice: read_and_redacted,
    mutants.LeavesMarksBehind: unread_again_after_a_mark,
    mutants.ForgetsUnseen: expired_unseen,
    mutants.ComesBack: given_again_when_forgotten,
    mutants.NoTombstones: redacted_and_given,
    mutants.GathersAgain: gathered_again,
    mutants.NeverLeaves: gathered_and_redacted,
}
STORIES = (*SHOWN_BY.values(), gathered_after_a_read)


def test_counts_and_lists_equal_the_reference_for_any_history(tables: Tables) -> None:
    run_state_machine_as_test(machine(tables, DynamoInboxRepository), settings=SHORT)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_real_inboxes_match_every_history(tables: Tables, story: Story) -> None:
    tell(machine(tables, DynamoInboxRepository), story)


@pytest.mark.parametrize("mutant", SHOWN_BY, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_caught(tables_dynoxide: Tables, mutant: type[DynamoInboxRepository]) -> None:
    with pytest.raises(AssertionError):
        tell(machine(tables_dynoxide, mutant), SHOWN_BY[mutant])


def tell(machine: type[Machine], story: Story) -> None:
    at = machine()
    try:
        story(at)
        at.counts_and_lists_are_as_the_sets_say()
    finally:
        at.teardown()


def machine(tables: Tables, shelf: type[DynamoInboxRepository]) -> type[Machine]:
    return type("OnEngine", (Machine,), {"tables": tables, "make_repository": shelf})
