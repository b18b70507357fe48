"""Read the history of a chat that a user may see, page by page. Every page states the range that it covers."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId, is_pseudonym
from tidings.messages import sender as contents
from tidings.messages.known_intervals import IntervalCache, KnownIntervals
from tidings.messages.model import NO_SUCH_CHAT, Entry, EntryKind, Interval, may_see, visible_ranges
from tidings.messages.ports import AuthorKeys, KeyProvider, LogReader, ReadIntervals
from tidings.messages.sender import Content

MAX_LIMIT = 200
_NO_END = 10**15 - 1
_MAX_CONCURRENT_ONES = 8

type ReadEntries = Callable[[Sequence[Interval]], Awaitable[list[Entry]]]
"""Read a range of the log inside these intervals."""


class ContentState(StrEnum):
    ACTIVE = "active"
    REDACTED = "redacted"
    EXPIRED = "expired"
    ARCHIVED = "archived"
    """The content is in the archive of the tenant, which only operators can read."""
    ERASED = "erased"
    """The author was erased: their keys were destroyed."""
    UNREADABLE = "unreadable"
    """The item was altered, or its key was lost. Other entries of the page are not affected."""


class VisibleEntry(NamedTuple):
    """An entry as a reader receives it. `content` is set only for messages whose state is `ACTIVE`."""

    entry: Entry
    state: ContentState
    content: Content | None

    @property
    def attachments(self) -> tuple[str, ...]:
        """The attachments that the reader may see. Those of an archived message are still in the bucket."""
        is_kept = self.content is not None or self.state is ContentState.ARCHIVED
        return self.entry.attachments if is_kept else ()


class HistorySlice(NamedTuple):
    """A page, newest first. It has every entry of `(after, up_to]` that the reader may see."""

    entries: tuple[VisibleEntry, ...]
    after: int
    up_to: int
    has_older: bool
    has_newer: bool

    @property
    def archived_up_to(self) -> int:
        """The newest archived message of the page. Messages are archived from the oldest on, so older ones are too. 0: none."""
        archived = (each.entry.sequence for each in self.entries if each.state is ContentState.ARCHIVED)
        return next(archived, 0)


class History:
    def __init__(self, reader: LogReader, intervals: ReadIntervals, keys: KeyProvider, clock: Clock) -> None:
        self._reader = reader
        self._read_intervals = intervals
        self._keys = keys
        self._clock = clock
        self._known = IntervalCache()

    async def before(self, chat: ChatKey, user: UserId, before: int | None, limit: int) -> HistorySlice:
        """Return the newest entries below `before`, or of the whole chat."""
        top = _NO_END if before is None else before - 1
        intervals, found = await self._read_visible(
            chat, user, lambda intervals: self._backward(chat, intervals, top, _bounded(limit))
        )
        after = found[-1].sequence - 1 if len(found) == _bounded(limit) else 0
        up_to = min(top, _known_head(found, intervals))
        is_cut = up_to == top and bool(visible_ranges(intervals, up_to, _NO_END))
        return await self._page(chat, found, (after, up_to), intervals, has_newer=is_cut)

    async def after(
        self, chat: ChatKey, user: UserId, after: int, limit: int, *, committed: int | None = None
    ) -> HistorySlice:
        """Return the oldest entries above `after`, to catch up.

        `committed` is the sequence of an entry that the caller knows to be in the log; no later entry is returned. Every
        leave below it is committed too, so the membership is read only once.
        """
        size, between = _bounded(limit), (after, committed or _NO_END)
        intervals, found = await self._read_visible(
            chat,
            user,
            lambda intervals: self._forward(chat, intervals, between, size + 1),
            is_committed=committed is not None,
        )
        more, found = len(found) > size, found[:size]
        up_to = found[-1].sequence if found else after
        return await self._page(chat, found[::-1], (after, up_to), intervals, has_newer=more)

    async def within(self, chat: ChatKey, after: int, up_to: int, limit: int) -> HistorySlice:
        """Return entries as `after` does, for a caller who has checked that the reader may see all of `(after, up_to]`."""
        found = await self._read(chat, after, up_to, _bounded(limit), newest_first=False)
        top = found[-1].sequence if found else after
        return HistorySlice(
            tuple(await self.show(chat, found[::-1])), after, top, has_older=True, has_newer=top < up_to
        )

    async def around(self, chat: ChatKey, user: UserId, sequence: int, limit: int) -> HistorySlice:
        """Return entries on both sides of one, for a link into a chat."""
        half = max(1, _bounded(limit) // 2)
        older = await self.before(chat, user, sequence + 1, half)
        newer = await self.after(chat, user, sequence, half)
        return HistorySlice(
            newer.entries + older.entries, older.after, newer.up_to, older.has_older, newer.has_newer
        )

    async def one(self, chat: ChatKey, user: UserId, sequence: int) -> VisibleEntry:
        intervals = await self.intervals_at(chat, user, sequence)
        entry = await self._reader.one(chat, sequence) if may_see(intervals, sequence) else None
        if entry is None:
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message for this user.")
        return (await self.show(chat, [entry]))[0]

    async def left(self, chat: ChatKey, user: UserId) -> int | None:
        """Return the sequence of the user's leave; None while they are a member."""
        return (await self._intervals(chat, user))[-1].removed

    async def now(
        self, chat: ChatKey, sequences: Collection[int], user: UserId | None = None
    ) -> Mapping[int, VisibleEntry]:
        """Return the present state of messages. With a user, only those that they may see."""
        if user is not None and sequences:
            intervals = await self.intervals_at(chat, user, max(sequences))
            sequences = [sequence for sequence in sequences if may_see(intervals, sequence)]
        reads = (self._reader.one(chat, sequence) for sequence in sorted(sequences))
        found = [entry for entry in await gather_limited(reads, _MAX_CONCURRENT_ONES) if entry is not None]
        return {shown.entry.sequence: shown for shown in await self.show(chat, found)}

    async def _intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        intervals = await self._read_intervals(chat, user)
        if not intervals:
            raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
        return intervals

    async def intervals_at(self, chat: ChatKey, user: UserId, sequence: int) -> Sequence[Interval]:
        """Return intervals that are complete up to this sequence; none for a stranger."""
        known = self._known.find(chat, user)
        if known is not None and known.covers(sequence):
            return known.intervals
        return await self._read_intervals(chat, user)

    async def _read_visible(
        self, chat: ChatKey, user: UserId, read: ReadEntries, *, is_committed: bool = False
    ) -> tuple[Sequence[Interval], list[Entry]]:
        """Read entries inside a user's intervals, and return both. The intervals are complete for these entries."""
        known = self._known.find(chat, user)
        if known is not None:
            found = await read(known.intervals)
            if (extended := known.extended_by(found)) is not None:
                self._known.put(chat, user, extended)
                return known.intervals, found
        while True:
            intervals = await self._intervals(chat, user)
            found = await read(intervals)
            if not found:
                return intervals, found
            if is_committed or not await self._was_removed(chat, user, intervals):
                newest = max(found[0].sequence, found[-1].sequence)
                self._known.put(chat, user, KnownIntervals(intervals, newest))
                return intervals, found

    async def _was_removed(self, chat: ChatKey, user: UserId, intervals: Sequence[Interval]) -> bool:
        """Return whether the membership has changed since `intervals` were read."""
        # Race: an admin removes the user after we read the intervals and before we read the log, and members send
        # more messages. A read of the intervals that starts after the log read includes every leave below the entries
        # that were found, so the caller discards the page and starts again. A closed interval does not change.
        return intervals[-1].removed is None and await self._read_intervals(chat, user) != intervals

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
        self, chat: ChatKey, intervals: Sequence[Interval], between: tuple[int, int], limit: int
    ) -> list[Entry]:
        found: list[Entry] = []
        for low, high in visible_ranges(intervals, *between):
            found += await self._read(chat, low, high, limit - len(found), newest_first=False)
            if len(found) >= limit:
                break
        return found

    async def _read(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> list[Entry]:
        """Read a range. One read may return fewer entries; the log is dense, so the next continues after the last."""
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
        """Return entries with decrypted content, without a permission check. Reads ephemeral content if there is any."""
        if not entries:
            return []
        now_ms = self._clock.now_ms()
        alive = [
            e.sequence
            for e in entries
            if e.visible_until_ms is not None and content_state(e, now_ms) is ContentState.ACTIVE
        ]
        ephemeral = await self._reader.ephemeral(chat, min(alive) - 1, max(alive)) if alive else {}
        sealed = [e.content or ephemeral.get(e.sequence) for e in entries]
        authored = [
            (e.sender, content) for e, content in zip(entries, sealed, strict=True) if content is not None
        ]
        keys = await self._keys.to_read(chat.tenant, authored)
        return [
            self._shown(chat, e, content, keys, now_ms) for e, content in zip(entries, sealed, strict=True)
        ]

    def _shown(
        self, chat: ChatKey, entry: Entry, sealed: bytes | None, keys: AuthorKeys, now_ms: int
    ) -> VisibleEntry:
        now = content_state(entry, now_ms)
        if now is not ContentState.ACTIVE or sealed is None:
            is_deleted = entry.kind is EntryKind.MESSAGE and now is ContentState.ACTIVE
            return VisibleEntry(entry, ContentState.EXPIRED if is_deleted else now, None)
        try:
            body = keys.unseal(chat, entry.sequence, entry.sender, sealed)
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            return VisibleEntry(entry, ContentState.UNREADABLE, None)
        if body is None:
            return VisibleEntry(entry, ContentState.ERASED, None)
        return VisibleEntry(entry, now, contents.decode_content(body))


def content_state(entry: Entry, now_ms: int) -> ContentState:
    """Return the state of an entry's content. Expired content is hidden at once, although TTL deletes it later."""
    if entry.redacted_at_ms is not None:
        return ContentState.REDACTED
    if entry.visible_until_ms is not None and entry.visible_until_ms <= now_ms:
        return ContentState.EXPIRED
    if entry.kind is EntryKind.MESSAGE and is_pseudonym(entry.sender):
        return ContentState.ERASED
    return ContentState.ACTIVE if entry.archived_in is None else ContentState.ARCHIVED


def _known_head(found: Sequence[Entry], intervals: Sequence[Interval]) -> int:
    """Return the highest sequence that the log is known to have: the newest entry, or the user's join or leave."""
    newest, last = (found[0].sequence if found else 0), intervals[-1]
    return max(newest, last.joined, last.removed or 0)


def _bounded(limit: int) -> int:
    return min(max(limit, 1), MAX_LIMIT)
