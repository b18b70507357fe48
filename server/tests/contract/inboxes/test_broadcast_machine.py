"""Both kinds of notifications against plain sets, on both engines. A short sequence of steps detects each mutant."""

from collections.abc import Callable

import pytest
from contract.inboxes import broadcast_mutants as mutants
from contract.inboxes.broadcast_machine import NEWCOMER, PREDICATE, BroadcastMachine
from contract.inboxes.broadcast_mutants import Mutant
from contract.inboxes.test_machine import SHORT
from fixtures.tables import Tables
from hypothesis.stateful import run_state_machine_as_test

from tidings.inboxes.broadcasts.model import PARTS, rollout_bucket
from tidings.inboxes.store import DynamoInboxRepository
from tidings.kernel.ids import stable_hash

type Story = Callable[[BroadcastMachine], None]


def marked_all(at: BroadcastMachine) -> None:
    at.publish(1, None, None, 100)
    at.publish(2, None, None, 100)
    at.counts_and_lists_are_as_the_sets_say()
    at.mark_all("anna", None, None)


def read_and_expired(at: BroadcastMachine) -> None:
    """A read broadcast expires while an unread one is live."""
    at.publish(1, 1_500, None, 100)
    at.counts_and_lists_are_as_the_sets_say()
    at.read("anna", 0)
    at.time_passes(2_000, 0)
    at.publish(1, None, None, 100)


def expired_unread(at: BroadcastMachine) -> None:
    at.publish(1, 1_500, None, 100)
    at.counts_and_lists_are_as_the_sets_say()
    at.time_passes(2_000, 0)


def ramped_after_a_mark(at: BroadcastMachine) -> None:
    """A user outside the first step marks all, then the next step includes them."""
    late = "anna"
    while not late_part(at, late):
        at.time_passes(1_000, 0)
    at.publish(0, None, None, 25)
    at.publish(0, None, None, 100)
    at.counts_and_lists_are_as_the_sets_say()
    at.mark_all(late, None, None)
    at.ramp(0, 100)


def late_part(at: BroadcastMachine, reader: str) -> bool:
    """Tell whether the next broadcast reaches this user after the first quarter."""
    made = at.inboxes._created
    notification = at.inboxes.new_id()
    at.inboxes._created = made
    return rollout_bucket(stable_hash(reader), stable_hash(notification)) >= PARTS // 4


def recalled(at: BroadcastMachine) -> None:
    at.publish(1, None, None, 100)
    at.counts_and_lists_are_as_the_sets_say()
    at.recall(0)


def came_later(at: BroadcastMachine) -> None:
    at.publish(1, None, None, 100)
    at.time_passes(10_000, 0)
    at.newcomer_comes(5_500)
    at.publish(2, None, None, 100)


def changed_segment(at: BroadcastMachine) -> None:
    at.change_plan(NEWCOMER)
    at.publish(1, None, PREDICATE, 100)
    at.newcomer_comes(None)


def unread_again_and_marked_before(at: BroadcastMachine) -> None:
    at.publish(1, None, None, 100)
    at.counts_and_lists_are_as_the_sets_say()
    at.mark_all("anna", None, None)
    at.time_passes(10_000, 0)
    at.reopen("anna", 0)
    at.mark_all("anna", 3_500, None)


def switched_off(at: BroadcastMachine) -> None:
    at.publish(1, None, None, 100)
    at.switch_category("anna", 1)


def switched_off_and_critical(at: BroadcastMachine) -> None:
    at.switch_category("anna", 1)
    at.publish_critical(1, None)


SHOWN_BY: dict[Mutant, Story] = {
    mutants.marks_all_but_one: marked_all,
    mutants.subtracts_the_dead: read_and_expired,
    mutants.steps_are_born_read: ramped_after_a_mark,
    mutants.never_expires: expired_unread,
    mutants.forgets_redactions: recalled,
    mutants.knows_no_join: came_later,
    mutants.reaches_everybody: changed_segment,
    mutants.ignores_preferences: switched_off,
    mutants.hides_critical_ones: switched_off_and_critical,
    mutants.marks_what_is_unread_again: unread_again_and_marked_before,
}


def test_notifications_and_broadcasts_equal_the_reference_for_any_history(tables: Tables) -> None:
    run_state_machine_as_test(machine(tables), settings=SHORT)


@pytest.mark.parametrize("story", SHOWN_BY.values(), ids=lambda story: story.__name__)
def test_the_real_broadcasts_match_every_history(tables: Tables, story: Story) -> None:
    tell(machine(tables), story)


@pytest.mark.parametrize("mutant", SHOWN_BY, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_caught(tables_dynoxide: Tables, mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        tell(machine(tables_dynoxide), SHOWN_BY[mutant])


def tell(machine: type[BroadcastMachine], story: Story) -> None:
    at = machine()
    try:
        story(at)
        at.counts_and_lists_are_as_the_sets_say()
    finally:
        at.teardown()


def machine(tables: Tables) -> type[BroadcastMachine]:
    return type("OnEngine", (BroadcastMachine,), {"tables": tables, "make_repository": DynamoInboxRepository})
