"""Rules for chat rows: watermarks only move forward, and unread counts match the log and the watermarks.

The rules sort rows and reads, which are few compared with deliveries. One writer records all reads and rows of a user,
so clocks of different machines are never compared.
"""

from collections.abc import Iterable

import numpy as np

from tidings_harness.checking.history_index import OPEN, HistoryIndex, column
from tidings_harness.checking.pair_index import PairIndex
from tidings_harness.checking.verdict import Rule, Violation, violations
from tidings_harness.history.events import EventKind, Numbers, Outcome


def watermarks_go_forward(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """Check that a row requested after an acknowledged read, or after an earlier row, shows at least that watermark."""
    rows, done = facts.events(EventKind.ROW), facts.events(EventKind.READ_DONE)
    done = done[done["outcome"] == Outcome.OK]
    users = np.concatenate([column(rows, "value"), facts.users[column(done, "device")]])
    chats = np.concatenate([column(rows, "chat"), column(done, "chat")])
    if not len(rows):
        return
    cell = PairIndex(users, chats).known(users, chats)
    at = np.concatenate([column(rows, "at_ns"), column(done, "at_ns")])
    read = np.concatenate([column(rows, "sequence"), column(done, "sequence")])
    order = np.lexsort((at, cell))
    furthest = _furthest_so_far(cell[order], read[order])
    is_row = order < len(rows)
    behind = order[is_row & (read[order] < furthest)]
    yield from violations(
        Rule.FORWARD,
        behind,
        lambda place: (
            f"{facts.names[users[place]]} had read further in {facts.names[chats[place]]} "
            f"than {read[place]}, which the chat list says"
        ),
    )


def _furthest_so_far(cell: Numbers, read: Numbers) -> Numbers:
    """Return the running maximum within each group of equal cells.

    Later cells get larger offsets, so that one running maximum is enough.
    """
    high = 2**32
    found: Numbers = np.maximum.accumulate(cell * high + read) - cell * high
    return found


def unread_adds_up(facts: HistoryIndex) -> Iterable[Violation[Rule]]:
    """Check the unread counts of rows that were requested at the end of the run.

    Unread are messages above the highest of the watermark, the user's own last message and the join. A lost entry above
    it may have been a message.
    """
    quiet = facts.events(EventKind.QUIET)
    rows = facts.events(EventKind.ROW)
    rows = rows[rows["at_ns"] >= quiet["at_ns"].max(initial=0)] if len(quiet) else rows[:0]
    joined = {(i.user, i.chat): i.joined for i in facts.intervals if i.removed == OPEN}
    users, chats = column(rows, "value"), column(rows, "chat")
    since = np.array(
        [joined.get(pair, -1) for pair in zip(users.tolist(), chats.tolist(), strict=True)], np.int64
    )
    member = since >= 0
    rows, users, chats, since = rows[member], users[member], chats[member], since[member]
    own = _own_last(facts, users, chats)
    above = np.maximum(np.maximum(column(rows, "sequence"), own), since)
    wanted = _entries_above(facts, facts.message_positions, chats, above)
    lost = _entries_above(facts, facts.lost_positions, chats, above)
    shown = column(rows, "message")
    yield from violations(
        Rule.UNREAD,
        (shown < wanted) | (shown > wanted + lost),
        lambda at: (
            f"{facts.names[users[at]]} has {shown[at]} unread in {facts.names[chats[at]]}, not {wanted[at]}"
        ),
    )


def _entries_above(facts: HistoryIndex, positions: Numbers, chats: Numbers, sequences: Numbers) -> Numbers:
    """Return how many of the entries at these positions each chat has above a sequence."""
    is_counted = np.zeros(facts.chat_starts[-1] + 1, np.int64)
    is_counted[positions] = 1
    up_to = np.cumsum(is_counted)
    begin = facts.chat_starts[chats]
    heads = facts.heads[chats]
    found: Numbers = up_to[begin + heads] - up_to[begin + np.minimum(sequences, heads)]
    return found


def _own_last(facts: HistoryIndex, users: Numbers, chats: Numbers) -> Numbers:
    """Return the sequence of the last message of the user in the chat; 0 if there is none."""
    places = facts.message_positions
    messages = facts.message_index(facts.log[places])
    places, messages = places[messages >= 0], messages[messages >= 0]
    sender = np.full(facts.message_count, -1, np.int64)
    sender[facts.message_index(column(facts.sends, "message"))] = facts.users[column(facts.sends, "device")]
    by = sender[messages]
    chat_of = facts.chat_at[places]
    sent = by >= 0
    if not len(users):
        return users
    cells = PairIndex(users, chats)
    cell = cells.find(by[sent], chat_of[sent])
    last = np.zeros(len(cells), np.int64)
    np.maximum.at(last, cell[cell >= 0], (places - facts.chat_starts[chat_of])[sent][cell >= 0])
    return last[cells.known(users, chats)]
