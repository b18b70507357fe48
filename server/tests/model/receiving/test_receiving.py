"""The models of receiving hold in their bounds, every rule has a mutant, and every mutant violates its promise.

Print the trace of a mutant with `just models --trace small.ROWS_AFTER_LOOKUP`.
"""

from collections.abc import Callable
from typing import Any

import pytest
from model.cases import Bounds, explored
from model.explore import goes_round, reaches
from model.mutants import Break
from model.page import case, recorded_states, sources, with_tables
from model.receiving import (
    connection,
    gateways,
    group_device,
    large,
    lists,
    membership,
    quiet,
    relay,
    restored_rows,
)
from model.receiving.cases import (
    ANOTHER,
    BEHIND,
    BEHIND_LATE,
    CHANNEL_ANOTHER,
    CHANNEL_LOST,
    CHANNEL_TWO,
    DIED,
    FIRST,
    GROWS_ANOTHER,
    GROWS_LEAVE,
    HANDOVER,
    HELD,
    HELD_WIDE,
    LATE,
    LIST_LEAVE,
    LOST,
    ORDER,
    RETURNED,
    SECOND,
    SILENT,
    SILENT_TWO,
    SLOW,
    TWICE,
    WIPED,
)
from model.receiving.mutants import BREAKS, HEALED, MISSING, SPARED, STATED, Healed, Spared
from model.receiving.page import PAGE, tables
from model.receiving.sockets import LIVE, NOWHERE, SENT

MODELS = (connection, gateways, group_device, large, lists, membership, quiet, relay, restored_rows)
SMALL_ENOUGH = 6_000


_STATES = recorded_states(PAGE)
CASES = [case(bounds, f"{bounds.model}-{bounds.scenario}", _STATES) for bounds in HELD]
MUTANTS = [case(one, one.name, _STATES) for one in BREAKS]


@pytest.mark.parametrize("bounds", CASES)
def test_the_model_holds_for_every_schedule_in_its_bounds(bounds: Bounds) -> None:
    found = explored(bounds)
    assert found.breach is None, str(found.breach)
    assert found.ends > 0, "no schedule ended, so the rules for final states were not checked"


@pytest.mark.parametrize("bounds", CASES)
def test_every_schedule_ends(bounds: Bounds) -> None:
    if explored(bounds).states > SMALL_ENOUGH:
        pytest.skip("explored in narrower bounds by another case")
    assert not goes_round(bounds.make(None))


@pytest.mark.parametrize("one", MUTANTS)
def test_a_mutant_violates_the_promise_of_its_rule(one: Break) -> None:
    breach = explored(one.bounds, one.mutant).breach
    assert breach is not None, "no model needs this rule"
    assert breach.invariant == one.falls, str(breach)


@pytest.mark.parametrize("one", HEALED, ids=lambda one: one.mutant.name)
def test_without_the_rule_an_entry_is_late_and_not_lost(one: Healed) -> None:
    found = explored(one.bounds, one.mutant)
    assert found.breach is None, str(found.breach)
    assert found.ends > 0


@pytest.mark.long
@pytest.mark.parametrize("one", SPARED, ids=lambda one: one.mutant.name)
def test_a_spared_mutant_breaks_nothing(one: Spared) -> None:
    for bounds in one.scenarios:
        found = explored(bounds, one.mutant)
        assert found.breach is None, str(found.breach)
        assert found.ends > 0


def test_every_mutant_breaks_a_rule_or_is_listed_as_spared() -> None:
    listed = [one.mutant for one in BREAKS] + [one.mutant for one in SPARED]
    defined = [mutant for model in MODELS for mutant in model.Mutant]
    assert sorted(map(repr, listed)) == sorted(map(repr, defined))


def test_every_rule_has_a_mutant() -> None:
    assert all(rule.breaks for rule in STATED + MISSING)


REACHED: list[tuple[str, Bounds, Callable[[Any], bool]]] = [
    ("a push that is buffered and ahead of what was read", FIRST, lambda s: s.devices[0].conns and s.devices[0].conns[-1].phase == SENT and max(s.devices[0].conns[-1].buffer, default=0) > s.devices[0].position),
    ("a pending row for one who is live", TWICE, lambda s: s.pending and s.devices[0].held and s.devices[0].held.phase == LIVE),
    ("an old socket beside a live one on another gateway", SILENT_TWO, lambda s: {c.gateway for c in s.devices[0].conns if c.phase == LIVE} == {0, 1}),
    ("a live device beside one that lacks an entry", SECOND, lambda s: s.devices[0].position == 1 and s.devices[1].position == 0 and s.offset == 1),
    ("a worker that lost its partition, two events behind", ANOTHER, lambda s: s.zombie and s.zombie.n == 1 and s.offset == 2),
    ("a route to a dead gateway in a worker's hands, and a new one", DIED, lambda s: s.work and s.work.found[:1] == ((0, 1),) and not s.alive[0] and s.routes[0][0] == 1),
    ("a live device without a route", LOST, lambda s: s.devices[0].held and s.devices[0].held.phase == LIVE and s.routes[0] == NOWHERE),
    ("a route that leads to an old socket", LATE, lambda s: any(not c.is_held and c.route == s.routes[0] for c in s.devices[0].conns) and s.devices[0].held and s.devices[0].held.phase == LIVE),
    ("a live device on an unreachable gateway", SILENT, lambda s: s.hears == (gateways.UNHEARD,) and s.devices[0].held and s.devices[0].held.phase == LIVE),
    ("a device that waits behind an unsubscription", CHANNEL_TWO, lambda s: [what for what, _ in s.channel.asked] == ["unsubscribe", "subscribe"]),
    ("a late event in a large chat", CHANNEL_ANOTHER, lambda s: s.zombie and s.zombie.n == 1 and s.counter == 2),
    ("live devices on a subscription that is lost", CHANNEL_LOST, lambda s: s.channel.is_broken and s.devices[0].phase == large.LIVE),
    ("an older run handled after the chat has grown", GROWS_ANOTHER, lambda s: s.zombie and s.zombie.last == 1 and s.head == 3),
    ("a device past a leave that its row does not have", GROWS_LEAVE, lambda s: s.device.position >= 2 and s.named < 2 and s.device.phase == group_device.HEADS_READ),
    ("a list that reads its row again", LIST_LEAVE, lambda s: s.reader.head and not s.reader.is_done),
    ("a completed row that changes before it is written", BEHIND, lambda s: any(r.step == restored_rows.WRITE and r.seen != s.row for r in s.readers)),
    ("a row of the new epoch with only a watermark, and a head of the old one", BEHIND, lambda s: s.row[:4] == (0, 0, 0, 0) and s.row.epoch == 1 and s.head.sequence and not s.head.epoch),
    ("a message in a row that lacks the join before it", BEHIND_LATE, lambda s: s.row.own > s.log.rfind("j") + 1 > s.row.joined and s.row.epoch == 1),
    ("marks that do not touch", WIPED, lambda s: s.work and s.mark != relay.NO_MARK and s.mark[0] >= s.work.n),
    ("a device that has jumped a gap", RETURNED, lambda s: s.held == 5 and s.conn.phase == membership.LIVE),
    ("a push during a range read", ORDER, lambda s: any(c.reading and c.waiting for c in s.conns)),
    ("two sockets with frames in flight", HANDOVER, lambda s: len([c for c in s.conns if c.frames]) == 2),
    ("a socket that is closed for being slow", SLOW, lambda s: any(c.is_closed for c in s.conns)),
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
    assert with_tables(text, tables()) == text, "run `just models --of delivery --write`"


def test_the_page_has_every_wide_search() -> None:
    text = PAGE.read_text()
    assert [bounds.what for bounds in HELD_WIDE if f"| {bounds.what} |" not in text] == []
