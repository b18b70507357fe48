"""The model of offline checks keeps its promises, and every mutant breaks the named one."""

import pytest
from model.cases import Bounds, explored
from model.explore import reaches
from model.mutants import Break
from model.offline_checks import BREAKS, HELD, KILLED, PAGE, Mutant, State, tables
from model.page import with_tables


@pytest.mark.parametrize("bounds", HELD, ids=lambda bounds: bounds.scenario)
def test_every_schedule_keeps_the_promises(bounds: Bounds) -> None:
    assert explored(bounds).breach is None


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_every_mutant_breaks_its_promise(one: Break) -> None:
    breach = explored(one.bounds, one.mutant).breach
    assert breach is not None
    assert breach.invariant == one.falls


def test_every_mutant_is_listed_once() -> None:
    assert sorted(one.mutant.name for one in BREAKS) == sorted(mutant.name for mutant in Mutant)


def test_a_device_reconnects_after_its_gateway_was_killed_and_needs_no_event() -> None:
    def is_spared(state: State) -> bool:
        return state.kills == 1 and state.head == state.held == 2 and not (state.events or state.checks)

    assert reaches(KILLED.make(None), is_spared)


def test_the_page_has_these_results() -> None:
    text = PAGE.read_text()
    assert with_tables(text, tables()) == text, "run `just models --of offline --write`"
