"""Servers that break a promise exist for tests alone."""

from pathlib import Path

import pytest
from e2e.test_harness_notifications import BREAKING as BREAKING_INBOXES
from faults.whole.mutants import BREAKING

from tidings.app.chat_mutants import MUTANTS, activate_mutant
from tidings.app.inbox_mutants import NOTIFICATION_MUTANTS
from tidings.app.settings.loader import load
from tidings.kernel.errors import Code, TidingsError
from tidings_harness.checking.verdict import Rule


def test_an_unknown_mutant_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TidingsError) as refused:
        activate_mutant("does_everything_wrong")
    assert refused.value.code is Code.SETTINGS_INVALID
    assert all(name in refused.value.hint for name in (*MUTANTS, *NOTIFICATION_MUTANTS))


def test_a_mutant_is_refused_unless_testing_is_on(tmp_path: Path) -> None:
    with pytest.raises(TidingsError) as refused:
        load({"TIDINGS_TESTING_MUTANT": "forgets_keys"}, tmp_path)
    assert refused.value.code is Code.SETTINGS_INVALID


def test_every_mutant_is_tried_and_every_rule_has_one() -> None:
    assert BREAKING.keys() == MUTANTS.keys()
    assert {breaking.rule for breaking in BREAKING.values()} == set(Rule)


def test_every_mutant_of_inboxes_is_tried() -> None:
    assert BREAKING_INBOXES.keys() == NOTIFICATION_MUTANTS.keys()
