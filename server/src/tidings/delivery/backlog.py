"""Read the entries of a chat that a worker must push before new ones."""

from collections.abc import Sequence
from itertools import dropwhile

from tidings.delivery.model import DeliveryStats
from tidings.delivery.progress import MAX_DEFERRED_RETRY
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.messages.ports import LogReader

LOOK_BACK_ENTRIES = 20
_LOOK_BACK_MS = 120_000
"""Longer than another worker needs to take over a dead worker's partitions, or the relay to republish."""


def recent_entries(page: Sequence[Entry], first: Entry) -> list[Entry]:
    """Return the end of a page: entries that are at most two minutes older than `first`."""
    return list(dropwhile(lambda each: each.created_at_ms < first.created_at_ms - _LOOK_BACK_MS, page))


class BacklogReader:
    def __init__(self, log: LogReader, stats: DeliveryStats) -> None:
        self._log = log
        self._stats = stats

    async def left_by_previous_worker(self, chat: ChatKey, first: Entry) -> Sequence[Entry]:
        """Read the recent entries before `first`, in a chat without a checkpoint.

        Reads pages of 20 until entries are older than two minutes, at most `MAX_DEFERRED_RETRY` entries.
        """
        # Race: the previous worker deferred entries and died, and this worker took over the partition. A checkpoint
        # for `first` would also cover those entries, and no device would receive them. Older entries were processed,
        # or the relay has created a checkpoint below them.
        found: list[Entry] = []
        end = first.sequence - 1
        while end > 0 and len(found) < MAX_DEFERRED_RETRY:
            page = await self._log.between(chat, max(0, end - LOOK_BACK_ENTRIES), end)
            recent = recent_entries(page, first)
            found = [*recent, *found]
            if not page or len(recent) < len(page):
                break
            end = page[0].sequence - 1
        return found

    async def deferred(self, chat: ChatKey, after: int, first: int) -> Sequence[Entry]:
        """Read the deferred entries before `first`, so that they are pushed together with the following ones.

        Reads pages, at most one page beyond `MAX_DEFERRED_RETRY` entries.
        """
        # Race: the worker pushes deferred entries, then new ones, in two pushes, while a Redis shard recovers. The
        # look-up of the first push misses a user of the shard and the second finds them, so their device would
        # receive the later entries first.
        found: list[Entry] = []
        while after + 1 < first and len(found) < MAX_DEFERRED_RETRY:
            page = await self._log.between(chat, after, first - 1)
            if not page:
                break
            found += page
            after = page[-1].sequence
        self._stats.backfilled += len(found)
        return found
