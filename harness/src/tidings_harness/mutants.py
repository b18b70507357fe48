"""Mutate a correct history so that it violates one guarantee. A checker that accepts a mutant proves nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from tidings_harness.checking.verdict import Rule
from tidings_harness.history.events import ERASED_ENTRY, EntryCategory, EventKind, Events, Numbers, Outcome
from tidings_harness.history.loader import History
from tidings_harness.synthetic_history import SyntheticSetup, device_id, entries_of, moves, user_id

type Change = Callable[[Events, SyntheticSetup], Events]


class HistoryMutant(NamedTuple):
    rule: Rule
    change: Change

    def of(self, history: History, setup: SyntheticSetup) -> History:
        return replace(history, events=self.change(history.events.copy(), setup))


def _given(
    events: Events, setup: SyntheticSetup, member: int, sequences: list[int] | int, device: int = 0
) -> Numbers:
    """Return the deliveries of the first chat's entries to one member's device."""
    wanted = (events["kind"] == EventKind.GIVEN) & (events["device"] == device_id(setup, 0, member, device))
    return np.flatnonzero(wanted & np.isin(events["sequence"], sequences))


def another_entry_for_one_device(events: Events, setup: SyntheticSetup) -> Events:
    events["message"][_given(events, setup, 1, 5)] = events["message"][_given(events, setup, 1, 6)]
    return events


def acked_where_another_stands(events: Events, _: SyntheticSetup) -> Events:
    places = np.flatnonzero((events["kind"] == EventKind.SENT) & (events["outcome"] == Outcome.OK))
    one, other = places[3:5]
    events["sequence"][[one, other]] = events["sequence"][[other, one]]
    return events


def twice_in_the_log(events: Events, _: SyntheticSetup) -> Events:
    """Commit a retry again without checking its idempotency key. No acknowledgement has the second sequence."""
    sent = events[(events["kind"] == EventKind.SENT) & (events["outcome"] == Outcome.OK)]
    first, second = sent[2], sent[3]
    in_chat = events["chat"] == first["chat"]
    events["message"][
        (events["kind"] == EventKind.GIVEN) & in_chat & (events["sequence"] == second["sequence"])
    ] = first["message"]
    kept: Events = events[~((events["kind"] == EventKind.SENT) & (events["message"] == second["message"]))]
    return kept


def in_another_chat(events: Events, _: SyntheticSetup) -> Events:
    """Move a send without an answer, so that no acknowledgement reveals its sequence."""
    begun = events[(events["kind"] == EventKind.SEND) & (events["chat"] == 0)]["message"]
    answered = events[events["kind"] == EventKind.SENT]["message"]
    moved = np.setdiff1d(begun, answered)[0]
    events["chat"][(events["kind"] == EventKind.SEND) & (events["message"] == moved)] = 1
    return events


def lost_for_one_device(events: Events, setup: SyntheticSetup) -> Events:
    """Remove the newest entry, so that no hole reveals the loss."""
    return np.delete(events, _given(events, setup, 2, setup.entries, 1))


def lost_for_everybody(events: Events, setup: SyntheticSetup) -> Events:
    """Acknowledge the newest message without committing it."""
    gone = (events["kind"] == EventKind.GIVEN) & (events["chat"] == 0) & (events["sequence"] == setup.entries)
    kept: Events = events[~gone]
    return kept


def a_hole_in_a_connection(events: Events, setup: SyntheticSetup) -> Events:
    """Fill the hole in the next connection, so that the device has every entry at the end."""
    place = _given(events, setup, 1, 8)
    events["connection"][place] += 1
    return events


def two_in_the_wrong_order(events: Events, setup: SyntheticSetup) -> Events:
    one, other = _given(events, setup, 1, [8, 9])
    events[[one, other]] = events[[other, one]]
    return events


def delivered_twice(events: Events, setup: SyntheticSetup) -> Events:
    place = int(_given(events, setup, 1, 8)[0])
    return np.insert(events, place + 1, events[place])


def delivered_after_removal(events: Events, setup: SyntheticSetup) -> Events:
    _, gone, _ = moves(setup)
    seen = events[_given(events, setup, 0, gone + 1)]
    leak = seen.copy()
    leak["device"] = device_id(setup, 0, setup.members - 2, 0)
    leak["connection"] = events["connection"][_given(events, setup, setup.members - 2, gone)]
    return np.concatenate([events, leak])


def delivered_before_join(events: Events, setup: SyntheticSetup) -> Events:
    late, _, _ = moves(setup)
    leak = events[_given(events, setup, 0, late - 1)].copy()
    leak["device"] = device_id(setup, 0, setup.members - 1, 0)
    leak["connection"] = 2**20
    return np.concatenate([events, leak])


def read_goes_back(events: Events, _: SyntheticSetup) -> Events:
    rows = np.flatnonzero((events["kind"] == EventKind.ROW) & (events["sequence"] > 0))
    events["sequence"][rows[3]] = events["sequence"][rows[1]]
    return events


def read_was_lost(events: Events, _: SyntheticSetup) -> Events:
    rows = np.flatnonzero((events["kind"] == EventKind.ROW) & (events["sequence"] > 0))
    events["sequence"][rows[0]] = 0
    return events


def refused_and_there(events: Events, setup: SyntheticSetup) -> Events:
    refused = events[
        (events["kind"] == EventKind.SENT) & (events["outcome"] == Outcome.FAILED) & (events["chat"] == 0)
    ][0]
    return _appended(events, setup, int(refused["message"]))


def sent_by_nobody(events: Events, setup: SyntheticSetup) -> Events:
    return _appended(events, setup, 3 << 40 | 7)


def _appended(events: Events, setup: SyntheticSetup, message: int) -> Events:
    """Append an entry to the first chat, deliver it to all members and count it in their chat rows."""
    last = events[
        (events["kind"] == EventKind.GIVEN) & (events["chat"] == 0) & (events["sequence"] == setup.entries)
    ].copy()
    last["sequence"] += 1
    last["message"] = message
    last["sort"] = EntryCategory.MESSAGE
    return np.concatenate([events, last])


def one_unread_too_many(events: Events, _: SyntheticSetup) -> Events:
    events["message"][np.flatnonzero(events["kind"] == EventKind.ROW)[-1]] += 1
    return events


def own_message_unread(events: Events, _: SyntheticSetup) -> Events:
    rows = np.flatnonzero(
        (events["kind"] == EventKind.ROW) & (events["message"] == 0) & (events["at_ns"] > 10**11)
    )
    events["message"][rows[0]] = 1
    return events


def a_muted_member_speaks(events: Events, setup: SyntheticSetup) -> Events:
    """Attribute a message during a mute to the muted member."""
    late, _, _ = moves(setup)
    message = events["message"][_given(events, setup, 0, late + 1)[0]]
    is_send = (events["kind"] == EventKind.SEND) & (events["message"] == message)
    events["device"][is_send] = device_id(setup, 0, 2, 0)
    return events


def a_banned_user_is_added(events: Events, setup: SyntheticSetup) -> Events:
    """Add a banned user again before the ban ends, as an addition would that ignores it."""
    _, gone, _ = moves(setup)
    banned = events[(events["kind"] == EventKind.BANNED) & (events["chat"] == 0)].copy()
    banned["kind"] = EventKind.IN
    banned["sequence"] = gone + 2
    return np.concatenate([events, banned])


def erased_and_readable(events: Events, setup: SyntheticSetup) -> Events:
    """Show a message of the erased user, as a server would that kept a copy with its key."""
    place = _reread(events, setup.chats - 1, 5)
    events["message"][place] = entries_of(setup, setup.chats - 1)[4]
    return events


def erased_and_named(events: Events, setup: SyntheticSetup) -> Events:
    events["value"][_reread(events, setup.chats - 1, 5)] = user_id(setup, setup.chats - 1, 0)
    return events


def emptied_for_another_user(events: Events, _: SyntheticSetup) -> Events:
    events["message"][_reread(events, 0, 5)] = ERASED_ENTRY
    return events


def lost_by_an_erasure(events: Events, setup: SyntheticSetup) -> Events:
    """Delete an erased message from the log, so that it has a hole."""
    return np.delete(events, _reread(events, setup.chats - 1, 5))


def admitted_after_the_erasure(events: Events, _: SyntheticSetup) -> Events:
    events["outcome"][events["kind"] == EventKind.ADMITTED] = Outcome.OK
    return events


def _reread(events: Events, chat: int, sequence: int) -> Numbers:
    wanted = (events["kind"] == EventKind.REREAD) & (events["chat"] == chat)
    return np.flatnonzero(wanted & (events["sequence"] == sequence))


MUTANTS: Final = {
    change.__name__: HistoryMutant(rule, change)
    for rule, changes in {
        Rule.ONE_ENTRY: (another_entry_for_one_device, acked_where_another_stands),
        Rule.ONE_SEQUENCE: (twice_in_the_log, in_another_chat),
        Rule.EVERYTHING: (lost_for_one_device, lost_for_everybody),
        Rule.NO_HOLES: (a_hole_in_a_connection, two_in_the_wrong_order),
        Rule.NOTHING_TWICE: (delivered_twice,),
        Rule.NOTHING_ELSE: (delivered_after_removal, delivered_before_join),
        Rule.FORWARD: (read_goes_back, read_was_lost),
        Rule.FAILED_IS_FAILED: (refused_and_there, sent_by_nobody),
        Rule.UNREAD: (one_unread_too_many, own_message_unread),
        Rule.MUTED_IS_SILENT: (a_muted_member_speaks,),
        Rule.BANNED_IS_OUT: (a_banned_user_is_added,),
        Rule.ERASED_IS_EMPTY: (erased_and_readable, erased_and_named),
        Rule.OTHERS_STAY: (emptied_for_another_user, lost_by_an_erasure),
        Rule.ERASED_IS_OUT: (admitted_after_the_erasure,),
    }.items()
    for change in changes
}
