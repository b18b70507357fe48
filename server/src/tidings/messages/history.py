"""The flow "history": what a user may see of a chat, page by page. Every answer says which range it covers."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from itertools import batched
from typing import NamedTuple

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages import sender as contents
from tidings.messages.model import NO_SUCH_CHAT, Entry, EntryKind, Interval, may_see, visible_ranges
from tidings.messages.ports import Keys, LogReader, MembershipIntervals, ReadingKeys
from tidings.messages.sender import Content

MAX_LIMIT = 200
_NO_END = 10**15 - 1
_MAX_CONCURRENT_ONES = 8


class ContentState(StrEnum):
    ACTIVE = "active"
    REDACTED = "redacted"
    EXPIRED = "expired"
    UNREADABLE = "unreadable"
    """Its key is gone, or it was altered in the table. The others of its page are not affected."""


class VisibleEntry(NamedTuple):
    """An entry as a reader gets it. `content` only for messages whose state is `there`."""

    entry: Entry
    state: ContentState
    content: Content | None


class HistorySlice(NamedTuple):
    """Newest first. Complete for this reader in `(after, up_to]`: what is not here in that range is not his to see."""

    entries: tuple[VisibleEntry, ...]
    after: int
    up_to: int
    has_older: bool
    has_newer: bool


class History:
    def __init__(self, reader: LogReader, intervals: MembershipIntervals, keys: Keys, clock: Clock) -> None:
        self._reader = reader
        self._interval_reader = intervals
        self._keys = keys
        self._clock = clock

    async def before(self, chat: ChatKey, user: UserId, before: int | None, limit: int) -> HistorySlice:
        """The newest entries below `before`, or of all."""
        intervals = await self._intervals(chat, user)
        top = _NO_END if before is None else before - 1
        found = await self._backward(chat, intervals, top, _bounded(limit))
        if found and await self._has_gone(chat, user, intervals):
            return await self.before(chat, user, before, limit)
        after = found[-1].sequence - 1 if len(found) == _bounded(limit) else 0
        up_to = min(top, _known_to(found, intervals))
        is_cut = up_to == top and bool(visible_ranges(intervals, up_to, _NO_END))
        return await self._page(chat, found, (after, up_to), intervals, has_newer=is_cut)

    async def after(self, chat: ChatKey, user: UserId, after: int, limit: int) -> HistorySlice:
        """The oldest entries above `after`: how a reader catches up."""
        intervals = await self._intervals(chat, user)
        size = _bounded(limit)
        found = await self._forward(chat, intervals, after, size + 1)
        if found and await self._has_gone(chat, user, intervals):
            return await self.after(chat, user, after, limit)
        more, found = len(found) > size, found[:size]
        up_to = found[-1].sequence if found else after
        return await self._page(chat, found[::-1], (after, up_to), intervals, has_newer=more)

    async def within(self, chat: ChatKey, after: int, up_to: int, limit: int) -> HistorySlice:
        """As `after`, for a reader of whom it is known that all of `(after, up_to]` is his to see."""
        found = await self._read(chat, after, up_to, _bounded(limit), newest_first=False)
        top = found[-1].sequence if found else after
        return HistorySlice(
            tuple(await self.show(chat, found[::-1])), after, top, has_older=True, has_newer=top < up_to
        )

    async def around(self, chat: ChatKey, user: UserId, sequence: int, limit: int) -> HistorySlice:
        """Entries on both sides of one, for a link into a chat."""
        half = max(1, _bounded(limit) // 2)
        older = await self.before(chat, user, sequence + 1, half)
        newer = await self.after(chat, user, sequence, half)
        return HistorySlice(
            newer.entries + older.entries, older.after, newer.up_to, older.has_older, newer.has_newer
        )

    async def one(self, chat: ChatKey, user: UserId, sequence: int) -> VisibleEntry:
        intervals = await self._interval_reader.intervals(chat, user)
        entry = await self._reader.one(chat, sequence) if may_see(intervals, sequence) else None
        if entry is None:
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message for this user.")
        return (await self.show(chat, [entry]))[0]

    async def left(self, chat: ChatKey, user: UserId) -> int | None:
        """The sequence of the user's leave; None while he is in."""
        return (await self._intervals(chat, user))[-1].removed

    async def now(
        self, chat: ChatKey, sequences: Collection[int], user: UserId | None = None
    ) -> Mapping[int, VisibleEntry]:
        """Messages as they are now. With a user: those that he may see; without, who asks sees to that."""
        if user is not None and sequences:
            intervals = await self._interval_reader.intervals(chat, user)
            sequences = [sequence for sequence in sequences if may_see(intervals, sequence)]
        found: list[Entry] = []
        for some in batched(sorted(sequences), _MAX_CONCURRENT_ONES):
            read = await asyncio.gather(*(self._reader.one(chat, sequence) for sequence in some))
            found += [entry for entry in read if entry is not None]
        return {shown.entry.sequence: shown for shown in await self.show(chat, found)}

    async def _intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        intervals = await self._interval_reader.intervals(chat, user)
        if not intervals:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        return intervals

    async def _has_gone(self, chat: ChatKey, user: UserId, intervals: Sequence[Interval]) -> bool:
        """Between the read of his stays and that of the log he may have been taken out, and more been said.

        A read that begins after the log's knows of every leave below what was found. A stay that is over stays so.
        """
        return (
            intervals[-1].removed is None and await self._interval_reader.intervals(chat, user) != intervals
        )

    async def _backward(
        self, chat: ChatKey, intervals: Sequence[Interval], up_to: int, limit: int
    ) -> list[Entry]:
        found: list[Entry] = []
        for low, high in reversed(visible_ranges(intervals, 0, up_to)):
            found += await self._read(chat, low, high, limit - len(found), newest_first=True)
            if len(found) >= limit:
                break
        return found

    async def _forward(
        self, chat: ChatKey, intervals: Sequence[Interval], after: int, limit: int
    ) -> list[Entry]:
        found: list[Entry] = []
        for low, high in visible_ranges(intervals, after, _NO_END):
            found += await self._read(chat, low, high, limit - len(found), newest_first=False)
            if len(found) >= limit:
                break
        return found

    async def _read(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> list[Entry]:
        """A read may give less than there is; the log is dense, so the next one goes on where it stopped."""
        found: list[Entry] = []
        while len(found) < limit and after < up_to:
            part = await self._reader.range(chat, after, up_to, limit - len(found), newest_first=newest_first)
            if not part:
                break
            found += part
            last = part[-1].sequence
            after, up_to = (after, last - 1) if newest_first else (last, up_to)
        return found

    async def _page(
        self,
        chat: ChatKey,
        found: list[Entry],
        covers: tuple[int, int],
        intervals: Sequence[Interval],
        *,
        has_newer: bool,
    ) -> HistorySlice:
        shown = await self.show(chat, found)
        after, up_to = covers
        return HistorySlice(tuple(shown), after, up_to, bool(visible_ranges(intervals, 0, after)), has_newer)

    async def show(self, chat: ChatKey, entries: Sequence[Entry]) -> list[VisibleEntry]:
        """Opened, for whoever may see them. Ephemeral content stands apart; it is asked for only where there is some."""
        if not entries:
            return []
        now_ms = self._clock.now_ms()
        alive = [
            e.sequence
            for e in entries
            if e.visible_until_ms is not None and content_state(e, now_ms) is ContentState.ACTIVE
        ]
        apart = await self._reader.ephemeral(chat, min(alive) - 1, max(alive)) if alive else {}
        sealed = [e.content or apart.get(e.sequence) for e in entries]
        keys = await self._keys.to_read(chat.tenant, [content for content in sealed if content is not None])
        return [
            self._shown(chat, e, content, keys, now_ms) for e, content in zip(entries, sealed, strict=True)
        ]

    def _shown(
        self, chat: ChatKey, entry: Entry, sealed: bytes | None, keys: ReadingKeys, now_ms: int
    ) -> VisibleEntry:
        now = content_state(entry, now_ms)
        if now is not ContentState.ACTIVE or sealed is None:
            is_gone = entry.kind is EntryKind.MESSAGE and now is ContentState.ACTIVE
            return VisibleEntry(entry, ContentState.EXPIRED if is_gone else now, None)
        try:
            return VisibleEntry(
                entry, now, contents.decode_content(keys.unseal(chat, entry.sequence, sealed))
            )
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            return VisibleEntry(entry, ContentState.UNREADABLE, None)


def content_state(entry: Entry, now_ms: int) -> ContentState:
    """Hidden at once, whatever the store has deleted by now."""
    if entry.redacted_at_ms is not None:
        return ContentState.REDACTED
    if entry.visible_until_ms is not None and entry.visible_until_ms <= now_ms:
        return ContentState.EXPIRED
    return ContentState.ACTIVE


def _known_to(found: Sequence[Entry], intervals: Sequence[Interval]) -> int:
    """Up to where the log is known to reach: its newest entry found, and the entries that let the user in or out."""
    newest, last = (found[0].sequence if found else 0), intervals[-1]
    return max(newest, last.joined, last.removed or 0)


def _bounded(limit: int) -> int:
    return min(max(limit, 1), MAX_LIMIT)
