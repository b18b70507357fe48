"""The models of sending hold in their bounds, every rule has a mutant, and every mutant violates its promise.

Print the trace of a mutant with `just models --trace append.NO_CONDITION`.
"""

from collections.abc import Callable
from typing import Any

import pytest
from model import (
    batches,
    changes,
    checks,
    entry_shapes,
    epochs,
    gap_filling,
    restored_members,
    restrictions,
    watermark_raise,
)
from model.cases import (
    CATCH_UP,
    CHANGE,
    CONTENT,
    FILL,
    HELD,
    HELD_WIDE,
    LEFT_AND_BACK,
    MEMBERS,
    REMOVAL,
    RESTORE,
    RETURN,
    THREE,
    Bounds,
    explored,
)
from model.explore import reaches
from model.log import CONFLICT, NOT_WRITTEN, REFUSED
from model.mutants import BREAKS, MISSING, STATED, Break
from model.page import PAGE, case, recorded_states, sources, tables, with_tables

MODELS = (
    batches,
    changes,
    checks,
    epochs,
    gap_filling,
    watermark_raise,
    entry_shapes,
    restored_members,
    restrictions,
)


_STATES = recorded_states(PAGE)
CASES = [case(bounds, f"{bounds.model}-{bounds.scenario}", _STATES) for bounds in HELD]
MUTANTS = [case(one, one.name, _STATES) for one in BREAKS]


@pytest.mark.parametrize("bounds", CASES)
def test_the_model_holds_for_every_schedule_in_its_bounds(bounds: Bounds) -> None:
    found = explored(bounds)
    assert found.breach is None, str(found.breach)
    assert found.ends > 0, "no schedule ended, so the rules for final states were not checked"


@pytest.mark.parametrize("one", MUTANTS)
def test_a_mutant_violates_the_promise_of_its_rule(one: Break) -> None:
    breach = explored(one.bounds, one.mutant).breach
    assert breach is not None, "no model needs this rule"
    assert breach.invariant == one.falls, str(breach)


def test_every_mutant_breaks_a_rule() -> None:
    listed = [one.mutant for one in BREAKS]
    defined = [mutant for model in MODELS for mutant in model.Mutant]
    assert sorted(map(repr, listed)) == sorted(map(repr, defined))


def test_every_rule_has_a_mutant() -> None:
    assert all(rule.breaks for rule in STATED + MISSING)


REACHED: list[tuple[str, Bounds, Callable[[Any], bool]]] = [
    ("an ack after an answer was lost", REMOVAL, lambda s: s.sends[1].reported > 0 and s.sends[1].started == 3),
    ("a late put beside another at its place", REMOVAL, lambda s: s.late == (1,) and any(t.place for t in s.sends[3].tries)),
    ("both writers with a put in flight", REMOVAL, lambda s: sum(t.place > 0 for d in s.sends for t in d.tries) == 2),
    ("a client that received 'not a member'", REMOVAL, lambda s: s.sends[1].reported == REFUSED),
    ("an ack for one who is removed by now", REMOVAL, lambda s: s.sends[1].reported == 2 and s.removed == 3),
    ("a client that received 'not written'", REMOVAL, lambda s: s.sends[1].reported == NOT_WRITTEN),
    ("a conflict after an edit", CONTENT, lambda s: s.sends[2].reported == CONFLICT and 3 in s.log),
    ("an ack for a repeat after an edit", CONTENT, lambda s: s.sends[1].reported == 2 and s.log[2:] == (3,)),
    ("a message after a return", RETURN, lambda s: s.log == (0, 2, 3, 1)),
    ("a refusal after a return", RETURN, lambda s: 3 in s.log and s.sends[1].reported == REFUSED),
    ("a batch of three, acked", THREE, lambda s: all(send.reported > 0 for send in s.sends[1:])),
    ("a batch overtaken by a try elsewhere", THREE, lambda s: s.log[1:2] == (1,) and any(f.place == 2 and len(f.batch) > 1 and f.phase == 0 for f in s.flights[0])),
    ("a row that is read too late", FILL, lambda s: s.read is not None and s.read.is_passed),
    ("a message after a return, through a cold view", FILL, lambda s: s.log[-1] == 1 and 4 in s.log),
    ("a refusal by the row that is right", CHANGE, lambda s: s.reported == REFUSED),
    ("a refusal that its row keeps", LEFT_AND_BACK, lambda s: s.row == (REFUSED, 1) and entry_shapes.THE_JOIN in s.log),
    ("an ack after `after` was raised", CATCH_UP, lambda s: s.reported > 0 and s.after > 3),
    ("a member who was removed and added again after a restore", MEMBERS, lambda s: len(s.row.intervals) == 2 and s.row.epoch and s.log[-1].epoch if s.row else False),
    ("a result that is too late", MEMBERS, lambda s: any(r and r.seen != s.row for r in s.readers)),
    ("an ack in the new epoch", RESTORE, lambda s: s.told_m.sequence > 0 and s.told_m.epoch == 1),
]  # fmt: skip


@pytest.mark.parametrize(("what", "bounds", "wanted"), REACHED, ids=[what for what, _, _ in REACHED])
def test_the_model_reaches_the_states_that_its_rules_are_about(
    what: str, bounds: Bounds, wanted: Callable[[Any], bool]
) -> None:
    assert reaches(bounds.make(None), wanted) is not None, what


def test_the_tables_of_the_page_were_computed_from_these_models() -> None:
    assert sources() in PAGE.read_text(), "run `just models --write`, which explores the large cases"


@pytest.mark.long
def test_the_tables_of_the_page_are_current() -> None:
    """In this file, because its tests have already explored the models."""
    text = PAGE.read_text()
    assert with_tables(text, tables()) == text, "run `just models --write`"


def test_the_page_has_every_wide_search() -> None:
    text = PAGE.read_text()
    assert [bounds.what for bounds in HELD_WIDE if f"| {bounds.what} |" not in text] == []


def test_a_page_without_a_marker_for_a_table_is_an_error() -> None:
    with pytest.raises(LookupError, match="'held'"):
        with_tables("no tables here", {"held": "| a |"})
