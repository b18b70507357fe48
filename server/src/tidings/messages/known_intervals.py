"""Intervals of readers that this process knows, so that most pages of a group need no read of the membership."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import STATUS_CHANGING_KINDS, Entry, Interval

MAX_KNOWN = 20_000


class KnownIntervals(NamedTuple):
    """Intervals of a current member, complete for all entries up to `up_to`. Later entries may have ended the last one."""

    intervals: Sequence[Interval]
    up_to: int

    def covers(self, sequence: int) -> bool:
        return sequence <= self.up_to

    def extended_by(self, found: Sequence[Entry]) -> "KnownIntervals | None":
        """Return the intervals as of the newest of these entries, which follow each other. None: they are not known.

        The log is dense and each change of a membership is an entry of it. So the intervals are the same if the entries
        after `up_to` are all there, and none of them changes a membership.
        """
        later = [entry for entry in found if entry.sequence > self.up_to]
        if not later:
            return self
        sequences = [entry.sequence for entry in later]
        is_complete = min(sequences) == self.up_to + 1
        if not is_complete or any(entry.kind in STATUS_CHANGING_KINDS for entry in later):
            return None
        return KnownIntervals(self.intervals, max(sequences))


class IntervalCache:
    """Never stale: what it returns is complete up to the sequence that it states."""

    def __init__(self, *, max_known: int = MAX_KNOWN) -> None:
        self._max_known = max_known
        self._known: OrderedDict[tuple[ChatKey, UserId], KnownIntervals] = OrderedDict()

    def find(self, chat: ChatKey, user: UserId) -> KnownIntervals | None:
        found = self._known.get((chat, user))
        if found is not None:
            self._known.move_to_end((chat, user))
        return found

    def put(self, chat: ChatKey, user: UserId, known: KnownIntervals) -> None:
        """Remember the intervals of a current member. Those of others are seldom needed."""
        if not known.intervals or known.intervals[-1].removed is not None:
            self._known.pop((chat, user), None)
            return
        self._known[chat, user] = known
        if len(self._known) > self._max_known:
            self._known.popitem(last=False)
