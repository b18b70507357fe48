"""A correct history of inboxes passes. Each mutant is detected by the rule that it violates and by no other rule."""

from pathlib import Path

import pytest

from tidings_harness.notifications.checker import InboxRule, check_inboxes
from tidings_harness.notifications.history import FILE, Action, ActionOutcome, Journal, load_journal
from tidings_harness.notifications.mutants import MUTANTS
from tidings_harness.notifications.synthetic_history import synthesize_inboxes


def test_a_good_history_breaks_no_rule() -> None:
    verdict = check_inboxes(synthesize_inboxes())
    assert verdict.breaches == ()
    assert (verdict.sends, verdict.acked, verdict.unsettled) == (24, 22, 1)
    assert (verdict.expiring, verdict.ramps) == (1, 2)
    assert min(verdict.redactions, verdict.marks, verdict.reads, verdict.pushes) > 0


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_by_the_rule_that_it_breaks_alone(name: str) -> None:
    mutant = MUTANTS[name]
    verdict = check_inboxes(mutant.of(synthesize_inboxes()))
    assert verdict.broken == {mutant.rule}
    assert all(breach.examples for breach in verdict.breaches)


def test_every_rule_has_a_mutant() -> None:
    assert {mutant.rule for mutant in MUTANTS.values()} == set(InboxRule)


def test_a_history_is_read_up_to_a_truncated_line(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        first = journal.begin(Action.BROADCAST, ["anna"])
        journal.end(first, ActionOutcome.OK)
        journal.step("FLUSHALL")
    path = tmp_path / FILE
    whole = load_journal(tmp_path)
    assert len(whole) == 3
    path.write_bytes(path.read_bytes()[:-5])
    assert load_journal(tmp_path) == whole[:2]
    assert check_inboxes(whole).acked == 1
