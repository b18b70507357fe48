"""What a worker remembers of chats: how far it has brought them. Bounded; who is forgotten is asked of the marks."""

from collections import OrderedDict
from dataclasses import dataclass

from tidings.kernel.ids import ChatKey


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

    @property
    def is_blank(self) -> bool:
        """Nothing is known: neither by what this worker did, nor by a mark."""
        return not (self.written or self.handled or self.late)

    def reaches(self, sequence: int) -> bool:
        """Everything before it was handled, and that is known."""
        return self.handled > 0 and self.handled >= sequence - 1

    def wrote(self, last: int) -> None:
        self.written = max(self.written, last)

    def left_late(self, first: int) -> None:
        self.late = min(self.late or first, first)

    def finished(self, last: int) -> None:
        self.handled = max(self.handled, last)
        self.wrote(self.handled)
        if self.handled >= self.late:
            self.late = 0

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
