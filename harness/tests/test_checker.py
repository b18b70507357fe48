"""A correct history passes. Each mutant of it is detected by the rule that it violates."""

import numpy as np
import pytest

from tidings_harness.checking.check import check
from tidings_harness.checking.verdict import Rule
from tidings_harness.history.events import RECORD, EntryCategory, EventKind
from tidings_harness.history.loader import History
from tidings_harness.mutants import MUTANTS
from tidings_harness.synthetic_history import SyntheticSetup, moves, synthesize

SETUP = SyntheticSetup()


def test_a_good_history_breaks_no_rule() -> None:
    verdict = check(synthesize(SETUP))
    assert verdict.breaches == ()
    assert verdict.deliveries > 1_000
    assert verdict.sends > verdict.acked > 0
    assert verdict.unsettled > 0
    assert verdict.rows > 0
    assert verdict.unquiet == 0


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_by_the_rule_that_it_breaks(name: str) -> None:
    mutant = MUTANTS[name]
    verdict = check(mutant.of(synthesize(SETUP), SETUP))
    assert mutant.rule in verdict.broken
    assert all(breach.examples for breach in verdict.breaches)


def test_every_rule_has_a_mutant() -> None:
    assert {mutant.rule for mutant in MUTANTS.values()} == set(Rule)


def test_a_device_that_did_not_settle_has_no_lost_entries() -> None:
    history = synthesize(SETUP)
    verdict = check(MUTANTS["lost_for_one_device"].of(history, SETUP))
    assert verdict.lost == 1
    unquiet = history.events[history.events["kind"] != EventKind.QUIET]
    verdict = check(
        MUTANTS["lost_for_one_device"].of(History(unquiet, history.names), SETUP),
    )
    assert verdict.lost == 0
    assert verdict.unquiet == verdict.devices


@pytest.mark.parametrize("asked", [0, 1], ids=["and was pushed then", "and had been pushed"])
def test_a_requested_entry_may_repeat_a_pushed_one(asked: int) -> None:
    history = MUTANTS["delivered_twice"].of(synthesize(SETUP), SETUP)
    events = history.events
    (twice,) = np.flatnonzero((events[1:] == events[:-1]) & (events["kind"][1:] == EventKind.GIVEN))
    assert not check(history).is_good
    events["is_asked"][twice + asked] = 1
    assert check(history).is_good


def test_an_empty_history_breaks_no_rule() -> None:
    assert check(History(np.empty(0, RECORD), [])).is_good


def lose(history: History, sequence: int) -> History:
    """Return the history after a failover that has lost an entry of the first chat."""
    events = history.events.copy()
    is_given = (events["kind"] == EventKind.GIVEN) & (events["chat"] == 0) & (events["sequence"] == sequence)
    message = events["message"][is_given][0]
    events["message"][is_given] = 1 << 61
    events["sort"][is_given] = EntryCategory.LOST
    is_send = np.isin(events["kind"], [EventKind.SEND, EventKind.SENT]) & (events["message"] == message)
    is_move = (
        np.isin(events["kind"], [EventKind.IN, EventKind.OUT])
        & (events["chat"] == 0)
        & (events["sequence"] == sequence)
    )
    return History(events[~is_send & ~is_move], history.names)


@pytest.mark.parametrize(("change", "is_good"), [(-2, False), (-1, True), (0, True), (1, False)])
def test_a_lost_entry_may_count_as_unread(change: int, *, is_good: bool) -> None:
    """The entry before the last one is a message, so a row with three unread messages counts it."""
    history = lose(synthesize(SETUP), SETUP.entries - 1)
    events = history.events
    rows = (events["kind"] == EventKind.ROW) & (events["chat"] == 0) & (events["message"] > 2)
    row = np.flatnonzero(rows)[-1]
    events["message"][row] = int(events["message"][row]) + change
    unread = [breach for breach in check(history).breaches if breach.rule is Rule.UNREAD]
    assert (unread == []) == is_good


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_member_who_joins_again_has_left_in_a_lost_entry(*, is_lost: bool) -> None:
    _, gone, _ = moves(SETUP)
    history = lose(synthesize(SETUP), gone)
    if not is_lost:
        history.events["sort"][history.events["sort"] == EntryCategory.LOST] = EntryCategory.OTHER
    assert (Rule.EVERYTHING in check(history).broken) is not is_lost
