"""Histories with one promise broken, each out of a good one. A checker that lets one of them pass proves nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from tidings_harness.checking.verdict import Rule
from tidings_harness.history.events import Events, Kind, Numbers, Outcome, Sort
from tidings_harness.history.loading import History
from tidings_harness.imagined import Town, device_of, moves

type Change = Callable[[Events, Town], Events]


class Mutant(NamedTuple):
    rule: Rule
    change: Change

    def of(self, history: History, town: Town) -> History:
        return replace(history, events=self.change(history.events.copy(), town))


def _given(events: Events, town: Town, member: int, sequences: list[int] | int, device: int = 0) -> Numbers:
    """Where the first chat's entries came to a member's device."""
    wanted = (events["kind"] == Kind.GIVEN) & (events["device"] == device_of(town, 0, member, device))
    return np.flatnonzero(wanted & np.isin(events["sequence"], sequences))


def another_entry_for_one_device(events: Events, town: Town) -> Events:
    events["message"][_given(events, town, 1, 5)] = events["message"][_given(events, town, 1, 6)]
    return events


def acked_where_another_stands(events: Events, _: Town) -> Events:
    places = np.flatnonzero((events["kind"] == Kind.SENT) & (events["outcome"] == Outcome.OK))
    one, other = places[3:5]
    events["sequence"][[one, other]] = events["sequence"][[other, one]]
    return events


def twice_in_the_log(events: Events, _: Town) -> Events:
    """A try that was repeated without its key being looked for; nobody was told of the second."""
    sent = events[(events["kind"] == Kind.SENT) & (events["outcome"] == Outcome.OK)]
    first, second = sent[2], sent[3]
    in_chat = events["chat"] == first["chat"]
    events["message"][
        (events["kind"] == Kind.GIVEN) & in_chat & (events["sequence"] == second["sequence"])
    ] = first["message"]
    kept: Events = events[~((events["kind"] == Kind.SENT) & (events["message"] == second["message"]))]
    return kept


def in_another_chat(events: Events, _: Town) -> Events:
    """It was never answered, so that no ack tells where it should be."""
    begun = events[(events["kind"] == Kind.SEND) & (events["chat"] == 0)]["message"]
    answered = events[events["kind"] == Kind.SENT]["message"]
    moved = np.setdiff1d(begun, answered)[0]
    events["chat"][(events["kind"] == Kind.SEND) & (events["message"] == moved)] = 1
    return events


def lost_for_one_device(events: Events, town: Town) -> Events:
    """It was the newest, so that no hole tells of it."""
    return np.delete(events, _given(events, town, 2, town.entries, 1))


def lost_for_everybody(events: Events, town: Town) -> Events:
    """Acknowledged and never committed; the newest, too."""
    gone = (events["kind"] == Kind.GIVEN) & (events["chat"] == 0) & (events["sequence"] == town.entries)
    kept: Events = events[~gone]
    return kept


def a_hole_in_a_connection(events: Events, town: Town) -> Events:
    """Filled later, in the next connection: the device ends with everything."""
    place = _given(events, town, 1, 8)
    events["connection"][place] += 1
    return events


def two_in_the_wrong_order(events: Events, town: Town) -> Events:
    one, other = _given(events, town, 1, [8, 9])
    events[[one, other]] = events[[other, one]]
    return events


def given_twice(events: Events, town: Town) -> Events:
    place = int(_given(events, town, 1, 8)[0])
    return np.insert(events, place + 1, events[place])


def given_after_the_removal(events: Events, town: Town) -> Events:
    _, gone, _ = moves(town)
    seen = events[_given(events, town, 0, gone + 1)]
    leak = seen.copy()
    leak["device"] = device_of(town, 0, town.members - 2, 0)
    leak["connection"] = events["connection"][_given(events, town, town.members - 2, gone)]
    return np.concatenate([events, leak])


def given_before_the_join(events: Events, town: Town) -> Events:
    late, _, _ = moves(town)
    leak = events[_given(events, town, 0, late - 1)].copy()
    leak["device"] = device_of(town, 0, town.members - 1, 0)
    leak["connection"] = 2**20
    return np.concatenate([events, leak])


def read_goes_back(events: Events, _: Town) -> Events:
    rows = np.flatnonzero((events["kind"] == Kind.ROW) & (events["sequence"] > 0))
    events["sequence"][rows[3]] = events["sequence"][rows[1]]
    return events


def read_was_not_kept(events: Events, _: Town) -> Events:
    rows = np.flatnonzero((events["kind"] == Kind.ROW) & (events["sequence"] > 0))
    events["sequence"][rows[0]] = 0
    return events


def refused_and_there(events: Events, town: Town) -> Events:
    refused = events[
        (events["kind"] == Kind.SENT) & (events["outcome"] == Outcome.FAILED) & (events["chat"] == 0)
    ][0]
    return _appended(events, town, int(refused["message"]))


def sent_by_nobody(events: Events, town: Town) -> Events:
    return _appended(events, town, 3 << 40 | 7)


def _appended(events: Events, town: Town, message: int) -> Events:
    """At the end of the first chat, given to all who are in it; rows count it."""
    last = events[
        (events["kind"] == Kind.GIVEN) & (events["chat"] == 0) & (events["sequence"] == town.entries)
    ].copy()
    last["sequence"] += 1
    last["message"] = message
    last["sort"] = Sort.MESSAGE
    return np.concatenate([events, last])


def one_unread_too_many(events: Events, _: Town) -> Events:
    events["message"][np.flatnonzero(events["kind"] == Kind.ROW)[-1]] += 1
    return events


def own_message_unread(events: Events, _: Town) -> Events:
    rows = np.flatnonzero(
        (events["kind"] == Kind.ROW) & (events["message"] == 0) & (events["at_ns"] > 10**11)
    )
    events["message"][rows[0]] = 1
    return events


MUTANTS: Final = {
    change.__name__: Mutant(rule, change)
    for rule, changes in {
        Rule.ONE_ENTRY: (another_entry_for_one_device, acked_where_another_stands),
        Rule.ONE_SEQUENCE: (twice_in_the_log, in_another_chat),
        Rule.EVERYTHING: (lost_for_one_device, lost_for_everybody),
        Rule.NO_HOLES: (a_hole_in_a_connection, two_in_the_wrong_order),
        Rule.NOTHING_TWICE: (given_twice,),
        Rule.NOTHING_ELSE: (given_after_the_removal, given_before_the_join),
        Rule.FORWARD: (read_goes_back, read_was_not_kept),
        Rule.FAILED_IS_FAILED: (refused_and_there, sent_by_nobody),
        Rule.UNREAD: (one_unread_too_many, own_message_unread),
    }.items()
    for change in changes
}
