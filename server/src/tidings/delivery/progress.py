"""What a worker remembers of chats: how far it has brought them. Bounded; who is forgotten is asked of the marks."""

from collections import OrderedDict
from dataclasses import dataclass

from tidings.kernel.ids import ChatKey

LATE_ENTRIES = 200
"""Late entries of a chat that are tried again with each new one: about a page of the log."""


@dataclass(slots=True)
class ChatProgress:
    """Without holes, each. 0: not known.

    `rows_written`: the truth was written up to here. `processed`: and so was everything after it done. They differ for as
    long as Redis does not answer. `first_deferred`: the first of which nothing but the truth is known to be written; that tells
    where to begin again in a chat of which neither this worker nor a mark knows how far it was handled.
    """

    rows_written: int = 0
    processed: int = 0
    first_deferred: int = 0
    deferred_tried: int = 0
    """How many late entries were last tried in vain."""
    consecutive_refusals: int = 0
    """How often in a row a store refused this chat."""
    chats_processed_before: int = 0
    """How many chats had got through when it was first refused."""

    @property
    def is_unknown(self) -> bool:
        """Nothing is known: neither by what this worker did, nor by a mark."""
        return not (self.rows_written or self.processed or self.first_deferred)

    def covers(self, sequence: int) -> bool:
        """Everything before it was handled, and that is known."""
        return self.processed > 0 and self.processed >= sequence - 1

    def is_retry_too_large(self, sequence: int) -> bool:
        """Whether so much was left late before it that trying all of it again now would cost too much.

        A try that failed is repeated with each entry while it is short, and then each time it has doubled.
        """
        length = sequence - self.first_deferred
        return self.first_deferred > 0 and LATE_ENTRIES < length < 2 * self.deferred_tried

    def mark_rows_written(self, last: int) -> None:
        self.rows_written = max(self.rows_written, last)

    def defer(self, first: int, tried_to: int = 0) -> None:
        """`tried_to`: the last of them, if pushing them was tried."""
        self.first_deferred = min(self.first_deferred or first, first)
        if tried_to:
            self.deferred_tried = tried_to - self.first_deferred + 1

    def mark_processed(self, last: int) -> None:
        if last > self.processed:
            self.consecutive_refusals = 0
        self.processed = max(self.processed, last)
        self.mark_rows_written(self.processed)
        if self.processed >= self.first_deferred:
            self.first_deferred = self.deferred_tried = 0

    def start_after(self, first: int, *, checkpoint_known: bool) -> int:
        """What lies behind this and before `first` comes before it: it was not written, or it was left late.

        Who was taken out by a late one may still listen to the channel that carries what follows. While Redis does not
        tell what is known, late ones stay so: an outage would be worked off again with each entry.
        """
        return min(
            self.rows_written or first - 1, self.processed_before(first) if checkpoint_known else first - 1
        )

    def processed_before(self, first: int) -> int:
        """Up to where all is handled, if it is from `first` on: below that, or what was left late lies between."""
        handled = self.processed or self.first_deferred - 1
        return handled if 0 <= handled < first - 1 else first - 1


class ProgressCache:
    def __init__(self, max_chats: int = 100_000) -> None:
        self._max_chats = max_chats
        self._chats: OrderedDict[ChatKey, ChatProgress] = OrderedDict()

    def get(self, chat: ChatKey) -> ChatProgress:
        brought = self._chats.get(chat)
        if brought is None:
            brought = self._chats[chat] = ChatProgress()
            if len(self._chats) > self._max_chats:
                self._chats.popitem(last=False)
        else:
            self._chats.move_to_end(chat)
        return brought
