"""Track how far this worker has processed each chat.

The cache is bounded. For an evicted chat the worker falls back to the delivery checkpoint in Redis.
"""

from collections import OrderedDict
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tidings.delivery.fanout_plan import ReachedUsers
from tidings.kernel.ids import ChatKey, UserId

MAX_DEFERRED_RETRY = 200
"""Deferred entries of a chat that are retried with each new entry: about one page of the log."""


@dataclass(slots=True)
class ChatProgress:
    """Contiguous progress of one chat, as sequences. 0 means unknown.

    rows_written: chat rows and heads are written up to here.
    processed: pushes and offline events are done up to here as well. Lags behind `rows_written` while Redis is
        unavailable.
    first_deferred: the first entry whose pushes were deferred, or 0. The worker starts again from here in a chat
        without a checkpoint.
    """

    rows_written: int = 0
    processed: int = 0
    first_deferred: int = 0
    last_retry_size: int = 0
    """Number of deferred entries in the longest failed retry."""
    reached: ReachedUsers | None = None
    """The users of a group who have received the deferred entries already. None: unknown."""
    consecutive_refusals: int = 0
    """How often in a row a store refused this chat."""
    chats_processed_before: int = 0
    """The worker's count of processed chats at the first of these refusals."""

    @property
    def is_unknown(self) -> bool:
        """Whether neither this worker nor a checkpoint has any progress of the chat."""
        return not (self.rows_written or self.processed or self.first_deferred)

    @property
    def backlog_start(self) -> int:
        """The first entry whose pushes are deferred; without any, the next one."""
        return self.first_deferred or self.processed + 1

    def covers(self, sequence: int) -> bool:
        """Return whether everything below `sequence` is known to be processed."""
        return self.processed > 0 and self.processed >= sequence - 1

    def is_retry_too_large(self, sequence: int) -> bool:
        """Return whether there are too many deferred entries before `sequence` to retry all of them now.

        A short backlog is retried with each new entry, a long one each time its length has doubled. Meanwhile users who
        lack few entries or none receive new ones, so a long backlog is also retried if its end was not pushed.
        """
        length = sequence - self.first_deferred
        if not self.first_deferred or not MAX_DEFERRED_RETRY < length < 2 * self.last_retry_size:
            return False
        reached = self.reached_from(self.processed_before(sequence) + 1)
        return reached is None or reached.up_to >= min(self.rows_written, sequence - 1)

    def reached_from(self, first: int) -> ReachedUsers | None:
        """Return which users have the deferred entries from `first` on. None: unknown."""
        # Race: this worker starts in a chat without a checkpoint and defers entries; then the relay creates a checkpoint
        # further back. The attempts of this worker pushed none of the entries between the two.
        return self.reached if first >= self.backlog_start else None

    def short_backlog_after(self, first: int) -> int:
        """Return the sequence after which entries are missing of users who lack few entries before `first`."""
        missed_by = self.reached.missed_by if self.reached else {}
        few = [lacked - 1 for lacked in missed_by.values() if first - lacked <= MAX_DEFERRED_RETRY]
        return min([first - 1, *few])

    def has_reached_others(self, first: int) -> bool:
        """Return whether all users have the entries before `first`, except the users in `reached.missed_by`."""
        reached = self.reached_from(self.processed_before(first) + 1)
        return reached is not None and reached.up_to >= first - 1

    def mark_rows_written(self, last: int) -> None:
        self.rows_written = max(self.rows_written, last)

    def defer(self, first: int, tried_to: int = 0) -> None:
        """Record that entries from `first` on are deferred. tried_to: the last entry of a failed retry of all of them."""
        if first < self.first_deferred:
            self.reached = None
        self.first_deferred = min(self.first_deferred or first, first)
        if tried_to:
            self.last_retry_size = max(self.last_retry_size, tried_to - self.first_deferred + 1)

    def mark_reached(self, first: int, last: int, missed_by: AbstractSet[UserId]) -> None:
        """Record that the deferred entries from `first` to `last` were pushed to all users but `missed_by`."""
        known = self.reached or ReachedUsers(self.first_deferred - 1, {})
        if first <= known.up_to + 1:
            self.reached = known.after_attempt(first, last, missed_by)

    def mark_processed(self, last: int) -> None:
        if last > self.processed:
            self.consecutive_refusals = 0
        self.processed = max(self.processed, last)
        self.mark_rows_written(self.processed)
        if self.processed >= self.first_deferred:
            self.first_deferred = self.last_retry_size = 0
        if self.reached is not None:
            left = self.reached.after_attempt(0, self.processed, frozenset())
            self.reached = left if left.missed_by else None

    def start_after(self, first: int, *, checkpoint_known: bool) -> int:
        """Return the sequence after which processing must start so that `first` is not pushed out of order.

        Entries between the result and `first` have missing rows or deferred pushes. A deferred entry may remove a
        member who is still subscribed to the chat's channel, so it must be pushed before later entries. While the
        checkpoint is unknown, deferred entries stay deferred: otherwise every new entry during an outage would process
        the whole backlog again.
        """
        return min(
            self.rows_written or first - 1, self.processed_before(first) if checkpoint_known else first - 1
        )

    def processed_before(self, first: int) -> int:
        """Return the sequence up to which everything is processed, at most `first - 1`.

        It is lower than `first - 1` if entries in between are not processed or were deferred.
        """
        processed = self.processed or self.first_deferred - 1
        return processed if 0 <= processed < first - 1 else first - 1


class ProgressCache:
    def __init__(self, max_chats: int = 100_000, max_missed_by: int = 100_000) -> None:
        self._max_chats = max_chats
        self._max_missed_by = max_missed_by
        self._chats: OrderedDict[ChatKey, ChatProgress] = OrderedDict()
        self._missed_by: OrderedDict[ChatKey, int] = OrderedDict()
        """The number of users in `missed_by` of each chat when it was last marked, oldest first."""
        self._total_missed_by = 0

    def get(self, chat: ChatKey) -> ChatProgress:
        progress = self._chats.get(chat)
        if progress is None:
            progress = self._chats[chat] = ChatProgress()
            if len(self._chats) > self._max_chats:
                self._chats.popitem(last=False)
        else:
            self._chats.move_to_end(chat)
        return progress

    def mark_reached(self, chat: ChatKey, first: int, last: int, missed_by: AbstractSet[UserId]) -> None:
        """Call `mark_reached` of the chat's progress. The total number of users in `missed_by` is bounded.

        Beyond the limit, forget which users the oldest attempts reached. All members of these chats receive the deferred
        entries again.
        """
        progress = self.get(chat)
        progress.mark_reached(first, last, missed_by)
        size = len(progress.reached.missed_by) if progress.reached else 0
        self._total_missed_by += size - self._missed_by.pop(chat, 0)
        self._missed_by[chat] = size
        while self._total_missed_by > self._max_missed_by:
            oldest, forgotten = self._missed_by.popitem(last=False)
            self._total_missed_by -= forgotten
            if oldest in self._chats:
                self._chats[oldest].reached = None
