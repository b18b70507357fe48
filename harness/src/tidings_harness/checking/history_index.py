"""Index a history for all rules: its columns, the log of each chat as devices saw it, and membership intervals."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, final

import numpy as np

from tidings_harness.checking.pair_index import starts
from tidings_harness.history.events import (
    ERASED_ENTRY,
    NUMBER_BITS,
    EntryCategory,
    EventKind,
    Events,
    Flags,
    Numbers,
    Outcome,
)
from tidings_harness.history.loader import History

OPEN: Final = 2**32
"""The end of an open membership interval."""


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Every entry that a device received, in the order of receipt."""

    device: Numbers
    chat: Numbers
    connection: Numbers
    sequence: Numbers
    message: Numbers
    is_message: Flags
    is_lost: Flags
    is_asked: Flags

    def __len__(self) -> int:
        return len(self.device)


class Interval(NamedTuple):
    """A membership interval: the user may read `joined < sequence <= removed` of the chat.

    latest: the last sequence at which it may have ended. It is above `removed` only if the leave is one of several lost
    entries.
    """

    user: int
    chat: int
    joined: int
    removed: int = OPEN
    latest: int = OPEN


def column(events: Events, name: str) -> Numbers:
    found: Numbers = events[name].astype(np.int64)
    return found


@final
class HistoryIndex:
    def __init__(self, history: History) -> None:
        self.names = history.names
        self._history = history
        given = history.of(EventKind.GIVEN)
        self.deliveries = Deliveries(
            device=column(given, "device"),
            chat=column(given, "chat"),
            connection=column(given, "connection"),
            sequence=column(given, "sequence"),
            message=column(given, "message"),
            is_message=given["sort"] == EntryCategory.MESSAGE,
            is_lost=given["sort"] == EntryCategory.LOST,
            is_asked=given["is_asked"] != 0,
        )
        sent = history.of(EventKind.SENT)
        self.sends = history.of(EventKind.SEND)
        self.acked = sent[sent["outcome"] == Outcome.OK]
        self.failed = sent[sent["outcome"] == Outcome.FAILED]
        self.quiet = column(history.of(EventKind.QUIET), "device")

    @cached_property
    def heads(self) -> Numbers:
        """The highest sequence of each chat that a device received or a sender got as an answer."""
        heads = np.zeros(len(self.names), np.int64)
        np.maximum.at(heads, self.deliveries.chat, self.deliveries.sequence)
        np.maximum.at(heads, column(self.acked, "chat"), column(self.acked, "sequence"))
        return heads

    @cached_property
    def chat_starts(self) -> Numbers:
        return starts(self.heads + 1)

    @cached_property
    def delivered_positions(self) -> Numbers:
        return self.chat_starts[self.deliveries.chat] + self.deliveries.sequence

    @cached_property
    def acked_positions(self) -> Numbers:
        return self.chat_starts[column(self.acked, "chat")] + column(self.acked, "sequence")

    @cached_property
    def log(self) -> Numbers:
        """The message or other entry at each position, from the first device that received it; 0 if no device did."""
        log = np.zeros(self.chat_starts[-1], np.int64)
        log[self.acked_positions[::-1]] = column(self.acked, "message")[::-1]
        is_shown = self.deliveries.message != ERASED_ENTRY
        log[self.delivered_positions[is_shown][::-1]] = self.deliveries.message[is_shown][::-1]
        return log

    @cached_property
    def message_positions(self) -> Numbers:
        """The positions of messages, from deliveries and acknowledgements."""
        is_message = np.zeros(self.chat_starts[-1], np.bool_)
        is_message[self.delivered_positions[self.deliveries.is_message]] = True
        is_message[self.acked_positions] = True
        return np.flatnonzero(is_message)

    @cached_property
    def lost_positions(self) -> Numbers:
        return np.unique(self.delivered_positions[self.deliveries.is_lost])

    @cached_property
    def author_at(self) -> Numbers:
        """The user who sent the message at each position; -1 for other entries."""
        places = self.message_positions
        messages = self.message_index(self.log[places])
        by = np.full(self.message_count, -1, np.int64)
        by[self.message_index(column(self.sends, "message"))] = self.users[column(self.sends, "device")]
        found = np.full(self.chat_starts[-1], -1, np.int64)
        found[places[messages >= 0]] = by[messages[messages >= 0]]
        return found

    @cached_property
    def erased(self) -> Numbers:
        """The users whose erasure the server has confirmed."""
        return np.unique(column(self._history.of(EventKind.ERASED), "value"))

    @cached_property
    def is_of_erased(self) -> Flags:
        """Whether an erased user sent the message at each position."""
        return np.isin(self.author_at, self.erased)

    @cached_property
    def chat_at(self) -> Numbers:
        """The chat of each position."""
        return np.repeat(np.arange(len(self.names)), self.heads + 1)

    @cached_property
    def _number_starts(self) -> Numbers:
        """The first message number of each writer, with the numbers of all writers in one range."""
        sent = column(self.sends, "message")
        most = np.zeros(int((sent >> NUMBER_BITS).max(initial=0)) + 1, np.int64)
        np.maximum.at(most, sent >> NUMBER_BITS, sent & (1 << NUMBER_BITS) - 1)
        return starts(most + 1)

    @property
    def message_count(self) -> int:
        return int(self._number_starts[-1])

    def message_index(self, messages: Numbers) -> Numbers:
        """Return a dense number for each sent message; -1 for a message that no writer sent."""
        at, number = messages >> NUMBER_BITS, messages & (1 << NUMBER_BITS) - 1
        begin = self._number_starts
        inside = (at >= 0) & (at < len(begin) - 1)
        at = np.where(inside, at, 0)
        return np.where(inside & (number < begin[at + 1] - begin[at]), begin[at] + number, -1)

    @cached_property
    def users(self) -> Numbers:
        """The user of each device; -1 if the name is not a device."""
        devices = self._history.of(EventKind.DEVICE)
        users = np.full(len(self.names), -1, np.int64)
        users[column(devices, "device")] = column(devices, "value")
        return users

    @cached_property
    def devices(self) -> dict[int, list[int]]:
        """The devices of each user."""
        found = defaultdict[int, list[int]](list)
        for device in np.flatnonzero(self.users >= 0):
            found[int(self.users[device])].append(int(device))
        return found

    @cached_property
    def intervals(self) -> list[Interval]:
        """The membership intervals, from entries. The added user receives the join, and the removed user the leave.

        A member who joins again has left before: the leave is one of the lost entries in between.
        """
        kinds = self._history.events["kind"]
        moves = self._history.events[(kinds == EventKind.IN) | (kinds == EventKind.OUT)]
        columns = (column(moves, name).tolist() for name in ("value", "chat", "sequence", "kind"))
        found: list[Interval] = []
        for user, chat, sequence, kind in sorted(set(zip(*columns, strict=True))):
            last = found[-1] if found and found[-1][:2] == (user, chat) else None
            is_in = last is not None and last.removed == OPEN
            if kind == EventKind.IN:
                if last and is_in:
                    between = self._lost_between(chat, last.joined + 1, sequence)
                    if not len(between):
                        continue
                    found[-1] = last._replace(removed=int(between[0]), latest=int(between[-1]))
                found.append(Interval(user, chat, sequence - 1))
            elif is_in and last:
                found[-1] = last._replace(removed=sequence, latest=sequence)
        return found

    def _lost_between(self, chat: int, after: int, before: int) -> Numbers:
        lost = self.lost_positions - self.chat_starts[chat]
        found: Numbers = lost[(lost > after) & (lost < before)]
        return found

    def restrictions(self, begins: EventKind, ends: EventKind) -> list[Interval]:
        """Return the times of a mute or ban: it holds for `joined < sequence <= removed` of the chat."""
        kinds = self._history.events["kind"]
        changes = self._history.events[(kinds == begins) | (kinds == ends)]
        columns = (column(changes, name).tolist() for name in ("value", "chat", "sequence", "kind"))
        found: list[Interval] = []
        for user, chat, sequence, kind in sorted(set(zip(*columns, strict=True))):
            is_open = bool(found) and found[-1][:2] == (user, chat) and found[-1].removed == OPEN
            if kind == begins and not is_open:
                found.append(Interval(user, chat, sequence))
            elif kind == ends and is_open:
                found[-1] = found[-1]._replace(removed=sequence)
        return found

    def events(self, kind: EventKind) -> Events:
        return self._history.of(kind)

    def chat_and_sequence(self, place: int) -> str:
        chat = int(self.chat_at[place])
        return f"{self.names[chat]} at {place - self.chat_starts[chat]}"
