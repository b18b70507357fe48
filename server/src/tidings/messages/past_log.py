"""The entries of each log that were written before the present epoch, as a restore or failover has left them.

All entries of the present epoch are above those of earlier epochs, so the last earlier entry never changes.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.ids import ChatKey, Epoch, UserId
from tidings.messages.model import NO_RULES, STATUS_CHANGING_KINDS, Entry, EntryKind
from tidings.messages.ports import LogReader, PastEnd

TABLES_APART_MS: Final = 3_600_000
"""The most time that may lie between the instants to which the tables were restored or replicated."""
CHANGING_KINDS: Final = STATUS_CHANGING_KINDS | {EntryKind.RENAME, EntryKind.RULES, EntryKind.REDACTION}
"""Entries of these kinds change rows of chats and memberships, or empty a message."""
_ABOVE_ALL: Final = 10**15
_MAX_ENTRIES: Final = 10_000
_FIRST_PAGE, _LARGEST_PAGE, _GROWTH = 20, 500, 4
_MAX_CHATS: Final = 5_000


class PastLog:
    def __init__(self, log: LogReader, epoch: Epoch) -> None:
        self.epoch = epoch
        self._log = log
        self._ends: OrderedDict[tuple[ChatKey, int], PastEnd] = OrderedDict()
        self._loads: SingleFlight[tuple[ChatKey, int], PastEnd] = SingleFlight()

    async def end(self, chat: ChatKey) -> PastEnd:
        """Return the end of the earlier part. Costs reads once per chat and process."""
        key = chat, self.epoch()
        found = self._ends.get(key)
        if found is None:
            found = self._ends[key] = await self._loads.run(key, partial(self._load, *key))
            if len(self._ends) > _MAX_CHATS:
                self._ends.popitem(last=False)
        else:
            self._ends.move_to_end(key)
        return found

    async def last(self, chat: ChatKey, epoch: int, below: int) -> Entry | None:
        """Return the last entry that was written before this epoch, by a binary search; `below` is above it."""
        low, high, last = 0, below, None
        while high - low > 1:
            middle = (low + high) // 2
            entry = await self.one(chat, epoch, middle)
            if entry is None:
                high = middle
            else:
                low, last = middle, entry
        return last

    async def one(self, chat: ChatKey, epoch: int, sequence: int) -> Entry | None:
        # Race: a sender appends in the present epoch while a row is compared with the log, and the new entry takes the
        # sequence of a lost one. The row refers to the lost entry, so an entry of this epoch counts as absent.
        entry = await self._log.one(chat, sequence)
        return entry if entry is not None and entry.epoch != epoch else None

    async def _load(self, chat: ChatKey, epoch: int) -> PastEnd:
        newest = await self._log.range(chat, 0, _ABOVE_ALL, 1, newest_first=True)
        last = newest[0] if newest else None
        if last is not None and last.epoch == epoch:
            last = await self.last(chat, epoch, last.sequence)
        if last is None:
            return PastEnd(0)
        changes, sent = await self._last_hour(chat, last)
        return PastEnd(last.sequence, changes, sent, last.rules or NO_RULES)

    async def _last_hour(self, chat: ChatKey, last: Entry) -> tuple[Sequence[Entry], Mapping[UserId, Entry]]:
        """Return the changes of the hour before the last entry, and the last message of each sender."""
        oldest_ms = last.created_at_ms - TABLES_APART_MS
        changes, sent = list[Entry](), dict[UserId, Entry]()
        up_to, limit = last.sequence, _FIRST_PAGE
        lowest = max(0, last.sequence - _MAX_ENTRIES)
        while up_to > lowest:
            page = await self._log.range(chat, lowest, up_to, limit, newest_first=True)
            recent = [entry for entry in page if entry.created_at_ms >= oldest_ms]
            changes += (entry for entry in recent if entry.kind in CHANGING_KINDS)
            for entry in recent:
                if entry.kind is EntryKind.MESSAGE:
                    sent.setdefault(entry.sender, entry)
            if len(recent) < len(page) or not page:
                break
            up_to, limit = page[-1].sequence - 1, min(limit * _GROWTH, _LARGEST_PAGE)
        return changes[::-1], sent
