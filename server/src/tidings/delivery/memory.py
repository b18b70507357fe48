"""What a worker remembers of chats: how far it has brought them. Bounded; who is forgotten is asked of the marks."""

from collections import OrderedDict
from dataclasses import dataclass

from tidings.kernel.ids import ChatKey

LATE_ENTRIES = 200
"""Late entries of a chat that are tried again with each new one: about a page of the log."""


@dataclass(slots=True)
class Brought:
    """Without holes, each. 0: not known.

    `written`: the truth was written up to here. `handled`: and so was everything after it done. They differ for as
    long as Redis does not answer. `late`: the first of which nothing but the truth is known to be written; that tells
    where to begin again in a chat of which neither this worker nor a mark knows how far it was handled.
    """

    written: int = 0
    handled: int = 0
    late: int = 0
    failed: int = 0
    """How many late entries were last tried in vain."""

    @property
    def is_blank(self) -> bool:
        """Nothing is known: neither by what this worker did, nor by a mark."""
        return not (self.written or self.handled or self.late)

    def reaches(self, sequence: int) -> bool:
        """Everything before it was handled, and that is known."""
        return self.handled > 0 and self.handled >= sequence - 1

    def is_far(self, sequence: int) -> bool:
        """Whether so much was left late before it that trying all of it again now would cost too much.

        A try that failed is repeated with each entry while it is short, and then each time it has doubled.
        """
        length = sequence - self.late
        return self.late > 0 and LATE_ENTRIES < length < 2 * self.failed

    def wrote(self, last: int) -> None:
        self.written = max(self.written, last)

    def left_late(self, first: int, tried_to: int = 0) -> None:
        """`tried_to`: the last of them, if pushing them was tried."""
        self.late = min(self.late or first, first)
        if tried_to:
            self.failed = tried_to - self.late + 1

    def finished(self, last: int) -> None:
        self.handled = max(self.handled, last)
        self.wrote(self.handled)
        if self.handled >= self.late:
            self.late = self.failed = 0

    def begins(self, first: int, *, is_known: bool) -> int:
        """What lies behind this and before `first` comes before it: it was not written, or it was left late.

        Who was taken out by a late one may still listen to the channel that carries what follows. While Redis does not
        tell what is known, late ones stay so: an outage would be worked off again with each entry.
        """
        return min(self.written or first - 1, self.before(first) if is_known else first - 1)

    def before(self, first: int) -> int:
        """Up to where all is handled, if it is from `first` on: below that, or what was left late lies between."""
        handled = self.handled or self.late - 1
        return handled if 0 <= handled < first - 1 else first - 1


class Memory:
    def __init__(self, max_chats: int = 100_000) -> None:
        self._max_chats = max_chats
        self._chats: OrderedDict[ChatKey, Brought] = OrderedDict()

    def of(self, chat: ChatKey) -> Brought:
        brought = self._chats.get(chat)
        if brought is None:
            brought = self._chats[chat] = Brought()
            if len(self._chats) > self._max_chats:
                self._chats.popitem(last=False)
        else:
            self._chats.move_to_end(chat)
        return brought
