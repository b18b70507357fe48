"""Rules for the log as seen by all devices: one entry per sequence, one sequence per message, no rejected message."""

from collections.abc import Iterable

import numpy as np

from tidings_harness.checking.history_index import HistoryIndex, column
from tidings_harness.checking.verdict import Rule, Violation, violations
from tidings_harness.history.events import ERASED_ENTRY, EventKind


def one_entry_per_sequence(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """All devices receive the same entry for a sequence, and it matches the acknowledgement of its sender."""
    given = facts.deliveries
    yield from violations(
        Rule.ONE_ENTRY,
        (facts.log[facts.delivered_positions] != given.message) & (given.message != ERASED_ENTRY),
        lambda at: (
            f"{facts.names[given.device[at]]} received another entry at "
            f"{facts.chat_and_sequence(int(facts.delivered_positions[at]))} than other devices"
        ),
    )
    yield from violations(
        Rule.ONE_ENTRY,
        facts.log[facts.acked_positions] != column(facts.acked, "message"),
        lambda at: (
            f"{facts.names[facts.acked['device'][at]]} got the acknowledgement "
            f"{facts.chat_and_sequence(int(facts.acked_positions[at]))}, which has another entry"
        ),
    )


def one_sequence_per_message(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """Each message has one sequence, in the chat that it was sent to."""
    places = facts.message_positions
    messages = facts.message_index(facts.log[places])
    known = messages >= 0
    places, messages = places[known], messages[known]
    first = np.zeros(facts.message_count, np.int64)
    first[messages[::-1]] = places[::-1]
    yield from violations(
        Rule.ONE_SEQUENCE,
        first[messages] != places,
        lambda at: (
            f"a message is at {facts.chat_and_sequence(int(first[messages[at]]))} "
            f"and again at {facts.chat_and_sequence(int(places[at]))}"
        ),
    )
    meant = np.zeros(facts.message_count, np.int64)
    meant[facts.message_index(column(facts.sends, "message"))] = column(facts.sends, "chat")
    yield from violations(
        Rule.ONE_SEQUENCE,
        meant[messages] != facts.chat_at[places],
        lambda at: (
            f"{facts.chat_and_sequence(int(places[at]))} holds a message that was sent to another chat"
        ),
    )


def what_failed_never_appears(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """No rejected message and no unknown message is in the log. One rejection is final, whatever other attempts returned."""
    places = facts.message_positions
    messages = facts.message_index(facts.log[places])
    was_sent = np.zeros(facts.message_count + 1, np.bool_)
    was_sent[facts.message_index(column(facts.sends, "message"))] = True
    was_sent[facts.message_index(column(facts.failed, "message"))] = False
    was_sent[-1] = False
    yield from violations(
        Rule.FAILED_IS_FAILED,
        ~was_sent[messages],
        lambda at: (
            f"{facts.chat_and_sequence(int(places[at]))} has a message that was rejected or never sent"
        ),
    )


def muted_members_are_silent(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """No message of a muted member is in the log between the entries of the mute and of its end."""
    places = np.flatnonzero(facts.author_at >= 0)
    sequences = places - facts.chat_starts[facts.chat_at[places]]
    is_muted = np.zeros(len(places), np.bool_)
    for user, chat, begin, end, _ in facts.restrictions(EventKind.MUTED, EventKind.UNMUTED):
        is_own = (facts.author_at[places] == user) & (facts.chat_at[places] == chat)
        is_muted |= is_own & (sequences > begin) & (sequences < end)
    yield from violations(
        Rule.MUTED_IS_SILENT,
        is_muted,
        lambda at: f"{facts.chat_and_sequence(int(places[at]))} has a message of a muted member",
    )


def banned_users_do_not_join(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """No entry adds a banned user before the entry that ends the ban."""
    joins = facts.events(EventKind.IN)
    users, chats, sequences = (column(joins, name) for name in ("value", "chat", "sequence"))
    is_banned = np.zeros(len(joins), np.bool_)
    for user, chat, begin, end, _ in facts.restrictions(EventKind.BANNED, EventKind.UNBANNED):
        is_banned |= (users == user) & (chats == chat) & (sequences > begin) & (sequences < end)
    yield from violations(
        Rule.BANNED_IS_OUT,
        is_banned,
        lambda at: (
            f"{facts.names[users[at]]} joined {facts.names[chats[at]]} at {sequences[at]} while banned"
        ),
    )
