"""Rules for erasures, from the logs as they were read again at the end: erased messages are empty, and nothing else changed."""

from collections.abc import Iterable

import numpy as np

from tidings_harness.checking.history_index import HistoryIndex, column
from tidings_harness.checking.verdict import Rule, Violation, violations
from tidings_harness.history.events import ERASED_ENTRY, EventKind, Events, Flags, Numbers, Outcome


def erased_messages_are_empty(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """Check that messages of erased users show no content, and that no entry has the id of one as its author."""
    again = facts.events(EventKind.REREAD)
    places = _places(facts, again)
    is_shown = facts.is_of_erased[places] & (column(again, "message") != ERASED_ENTRY)
    is_named = np.isin(column(again, "value"), facts.erased)
    yield from violations(
        Rule.ERASED_IS_EMPTY,
        is_shown | is_named,
        lambda at: f"{facts.chat_and_sequence(int(places[at]))} shows what an erased user wrote, or their id",
    )


def an_erasure_changes_nothing_else(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """Check that each log that was read again has every sequence, and otherwise the entries that devices received."""
    again, given = facts.events(EventKind.REREAD), facts.deliveries
    places, messages = _places(facts, again), column(again, "message")
    is_empty = messages == ERASED_ENTRY
    yield from violations(
        Rule.OTHERS_STAY,
        np.where(is_empty, ~_may_be_empty(facts)[places], messages != facts.log[places]),
        lambda at: f"{facts.chat_and_sequence(int(places[at]))} was changed by an erasure",
    )
    yield from violations(
        Rule.OTHERS_STAY,
        (given.message == ERASED_ENTRY) & ~_may_be_empty(facts)[facts.delivered_positions],
        lambda at: f"{facts.chat_and_sequence(int(facts.delivered_positions[at]))} was delivered empty",
    )
    is_there = np.zeros(facts.chat_starts[-1], np.bool_)
    is_there[places] = True
    is_there[facts.chat_starts[:-1]] = True
    is_read = np.isin(facts.chat_at, column(again, "chat"))
    yield from violations(
        Rule.OTHERS_STAY,
        is_read & ~is_there,
        lambda at: f"{facts.chat_and_sequence(at)} is missing when the log is read again",
    )


def erased_users_are_refused(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """Check that no request or connection of the user succeeds after the erasure."""
    tried = facts.events(EventKind.ADMITTED)
    yield from violations(
        Rule.ERASED_IS_OUT,
        tried["outcome"] == Outcome.OK,
        lambda at: f"{facts.names[tried['value'][at]]} was admitted after their erasure",
    )


def _may_be_empty(facts: HistoryIndex) -> Flags:
    """Return the positions of messages of erased users, and of entries that added or removed them."""
    found = facts.is_of_erased.copy()
    for kind in (EventKind.IN, EventKind.OUT):
        moves = facts.events(kind)
        found[_places(facts, moves[np.isin(column(moves, "value"), facts.erased)])] = True
    return found


def _places(facts: HistoryIndex, events: Events) -> Numbers:
    found: Numbers = facts.chat_starts[column(events, "chat")] + column(events, "sequence")
    return found
