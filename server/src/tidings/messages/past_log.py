"""The entries of each log that were written before the present epoch, as a restore or failover has left them.

All entries of the present epoch are above those of earlier epochs, so the last earlier entry never changes.

Global tables replicate items one by one, in no order between them. So after a failover the log can have an entry and
lack the one below it. The first reader puts an entry of the kind `lost` there, and the log is dense again.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.ids import ChatKey, ClientKey, Epoch, UserId
from tidings.messages.model import (
    NO_RULES,
    STATUS_CHANGING_KINDS,
    Entry,
    EntryKind,
)
from tidings.messages.ports import LogReader, LostEntryWriter, PastEnd

_log = logging.getLogger(__name__)

TABLES_APART_MS: Final = 3_600_000
"""The most time that may lie between the instants to which the tables were restored or replicated."""
CHANGING_KINDS: Final = STATUS_CHANGING_KINDS | {EntryKind.RENAME, EntryKind.RULES, EntryKind.REDACTION}
"""Entries of these kinds change rows of chats and memberships, or empty a message."""
UNKNOWN_SENDER: Final = UserId("/unknown")
"""The sender of lost entries. No user has this id."""
_ABOVE_ALL: Final = 10**15
_MAX_ENTRIES: Final = 10_000
_FIRST_PAGE, _LARGEST_PAGE, _GROWTH = 20, 500, 4
_MAX_CHATS: Final = 5_000


class PastLog:
    """Without a `writer`, nothing is written."""

    def __init__(self, log: LogReader, epoch: Epoch, writer: LostEntryWriter | None) -> None:
        self.epoch = epoch
        self._log = log
        self._writer = writer
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

    async def _load(self, chat: ChatKey, epoch: int) -> PastEnd:
        last = await self._last(chat, epoch)
        if last is None:
            return PastEnd(0)
        entries = await self._last_hour(chat, last)
        lost = await self._fill(chat, entries)
        oldest_ms = last.created_at_ms - TABLES_APART_MS
        changes, sent = list[Entry](), dict[UserId, Entry]()
        for entry in entries:
            if entry.created_at_ms >= oldest_ms:
                if entry.kind in CHANGING_KINDS:
                    changes.append(entry)
                if entry.kind is EntryKind.MESSAGE:
                    sent[entry.sender] = entry
        return PastEnd(last.sequence, last.ordinal, changes, sent, last.rules or NO_RULES, lost)

    async def _last(self, chat: ChatKey, epoch: int) -> Entry | None:
        """Return the last entry that was written before this epoch, by a binary search if there are later ones."""
        newest = await self._newest(chat, _ABOVE_ALL)
        if newest is None or newest.epoch != epoch:
            return newest
        low, high, last = 0, newest.sequence, None
        while high - low > 1:
            middle = (low + high) // 2
            # The log may have gaps, so the newest entry up to here is read, not the one at this sequence.
            entry = await self._newest(chat, middle)
            if entry is not None and entry.epoch == epoch:
                high = entry.sequence
            else:
                low, last = middle, entry
        return last

    async def _newest(self, chat: ChatKey, up_to: int) -> Entry | None:
        found = await self._log.range(chat, 0, up_to, 1, newest_first=True)
        return found[0] if found else None

    async def _last_hour(self, chat: ChatKey, last: Entry) -> list[Entry]:
        """Return the entries of the hour before the last entry, and some earlier ones. Oldest first."""
        oldest_ms = last.created_at_ms - TABLES_APART_MS
        found, up_to, limit = list[Entry](), last.sequence, _FIRST_PAGE
        lowest = max(0, last.sequence - _MAX_ENTRIES)
        while up_to > lowest:
            page = await self._log.range(chat, lowest, up_to, limit, newest_first=True)
            found += page
            if not page or page[-1].created_at_ms < oldest_ms:
                break
            up_to, limit = page[-1].sequence - 1, min(limit * _GROWTH, _LARGEST_PAGE)
        return found[::-1]

    async def _fill(self, chat: ChatKey, entries: list[Entry]) -> frozenset[int]:
        """Fill the gaps. Return the sequences of all lost entries, also of those that other readers have filled."""
        lost = list(lost_entries(entries))
        if lost and self._writer is not None:
            _log.warning(
                "filled %d gaps in the log of chat %s: their entries were lost", len(lost), chat.chat
            )
            await self._writer.put_lost(chat, lost)
        return frozenset(entry.sequence for entry in (*entries, *lost) if entry.kind is EntryKind.LOST)


def lost_entries(entries: list[Entry]) -> Iterator[Entry]:
    """Return entries for the gaps between these, which are sorted. Two readers of a gap return the same entries.

    The ordinals around a gap say how many of its entries counted as unread. The first ones of a gap take these.
    """
    for below, above in pairwise(entries):
        last_ordinal = above.ordinal - (above.kind is EntryKind.MESSAGE)
        for number, sequence in enumerate(range(below.sequence + 1, above.sequence), 1):
            yield Entry(
                sequence=sequence,
                ordinal=min(below.ordinal + number, last_ordinal),
                kind=EntryKind.LOST,
                sender=UNKNOWN_SENDER,
                client_key=ClientKey(f"lost-{sequence}"),
                fingerprint=b"",
                created_at_ms=below.created_at_ms,
                epoch=below.epoch,
                rules=below.rules,
            )
