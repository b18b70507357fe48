"""Every mutant server is tried, and a test module is refused in production."""

import pytest
from e2e.test_harness_notifications import BREAKING as BREAKING_INBOXES
from failpoints import activate_mutant
from failpoints.chat_mutants import MUTANTS
from failpoints.inbox_mutants import NOTIFICATION_MUTANTS
from faults.whole.mutants import BREAKING

from tidings_harness.checking.verdict import Rule

RULES_OF_ERASURES = {Rule.OTHERS_STAY, Rule.ERASED_IS_EMPTY, Rule.ERASED_IS_OUT}


def test_an_unknown_mutant_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="does_everything_wrong") as refused:
        activate_mutant("does_everything_wrong")
    assert all(name in str(refused.value) for name in (*MUTANTS, *NOTIFICATION_MUTANTS))


def test_every_mutant_is_tried_and_every_rule_has_one() -> None:
    assert {name for name, breaking in BREAKING.items() if breaking.kinds} == MUTANTS.keys()
    # Rules of erasures have mutated histories instead: an erasure takes minutes.
    assert {breaking.rule for breaking in BREAKING.values()} == set(Rule) - RULES_OF_ERASURES


def test_every_mutant_of_inboxes_is_tried() -> None:
    assert BREAKING_INBOXES.keys() == NOTIFICATION_MUTANTS.keys()
