"""Copies of logs, in this process. A log is read when somebody asks for it and the copy is too old: never for nobody.

A copy is at most `fresh_s` old when a reader takes it, and a log is read at most once in that time, however many readers
there are; who asks for a sequence that the copy does not have yet makes it move at once.
"""

from collections import OrderedDict
from functools import partial

from tidings.inboxes.broadcasts import rules
from tidings.inboxes.broadcasts.model import (
    DAY_MS,
    LONGEST_MS,
    STALE_MS,
    BroadcastDraft,
    BroadcastEntry,
    BroadcastIndex,
    BroadcastLogId,
    BroadcastLogView,
    RolloutStatus,
)
from tidings.inboxes.broadcasts.ports import BroadcastLog, BroadcastLogNotifier, Snapshots
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import new_ulid

FRESH_S = STALE_MS / 1000
SNAPSHOT_EVERY = 25
"""Entries: who finds himself so far ahead of what he last saw in Redis writes it anew."""


class _CachedLog:
    """`checked_at`: when the read began that made it."""

    __slots__ = ("checked_at", "index", "snapshot_head")

    def __init__(self, view: BroadcastLogView, looked_at: float, snapshot_head: int) -> None:
        self.index = BroadcastIndex(view)
        self.checked_at = looked_at
        self.snapshot_head = snapshot_head


class BroadcastLogCache:
    """Belongs to the event loop that it is used in. The copy that was used least recently goes first."""

    def __init__(
        self,
        log: BroadcastLog,
        snapshots: Snapshots,
        clock: Clock,
        *,
        fresh_s: float = FRESH_S,
        count: int = 2_000,
    ) -> None:
        self._log = log
        self._snapshots = snapshots
        self._clock = clock
        self._fresh_s = fresh_s
        self._count = count
        self._copies: OrderedDict[BroadcastLogId, _CachedLog] = OrderedDict()
        self._reads: SingleFlight[BroadcastLogId, _CachedLog] = SingleFlight()

    async def index(self, log: BroadcastLogId, at_least: int = 0) -> BroadcastIndex:
        """At most `fresh_s` old, and with `at_least` in it. Raises `position_ahead` if there is no such sequence."""
        copy = self._copies.get(log)
        if copy is None or self._clock.monotonic() >= copy.checked_at + self._fresh_s:
            copy = await self._moved(log)
        if copy.index.head < at_least:
            copy = await self._caught_up(log)
        if copy.index.head < at_least:
            raise TidingsError(Code.POSITION_AHEAD, f"The broadcasts end at {copy.index.head}.")
        return copy.index

    async def now(self, log: BroadcastLogId) -> BroadcastLogView:
        """With everything that was appended before this call."""
        return (await self._caught_up(log)).index.view

    def append(self, log: BroadcastLogId, entry: BroadcastEntry) -> None:
        """Of what this process has appended itself, if nothing is missing before it."""
        copy = self._copies.get(log)
        if copy is not None and copy.index.head + 1 == entry.sequence:
            copy.index = BroadcastIndex(rules.apply_entries(copy.index.view, [entry], self._clock.now_ms()))

    def evict(self) -> None:
        """All copies: as after a start."""
        self._copies.clear()

    async def _caught_up(self, log: BroadcastLogId) -> _CachedLog:
        """A read that was under way may have begun too early: then one more."""
        asked_at = self._clock.monotonic()
        copy = await self._moved(log)
        return copy if copy.checked_at >= asked_at else await self._moved(log)

    async def _moved(self, log: BroadcastLogId) -> _CachedLog:
        return await self._reads(log, partial(self._read, log))

    async def _read(self, log: BroadcastLogId) -> _CachedLog:
        looked_at = self._clock.monotonic()
        copy = self._copies.get(log)
        if copy is None:
            return await self._opened(log, looked_at)
        self._copies.move_to_end(log)
        entries = await self._log.after(log, copy.index.head)
        copy.checked_at = looked_at
        # meanwhile the copy may have moved by what this process appended
        if news := [each for each in entries if each.sequence > copy.index.head]:
            copy.index = BroadcastIndex(rules.apply_entries(copy.index.view, news, self._clock.now_ms()))
            self._snap(log, copy)
        return copy

    async def _opened(self, log: BroadcastLogId, looked_at: float) -> _CachedLog:
        kept, now_ms = await self._snapshots.read(log), self._clock.now_ms()
        if kept is None:
            entries = await self._log.since(log, now_ms - LONGEST_MS - DAY_MS)
        else:
            entries = await self._log.after(log, kept.head)
        copy = _CachedLog(
            rules.apply_entries(kept or BroadcastLogView(), entries, now_ms),
            looked_at,
            kept.head if kept else 0,
        )
        self._copies[log] = copy
        while len(self._copies) > self._count:
            self._copies.popitem(last=False)
        self._snap(log, copy)
        return copy

    def _snap(self, log: BroadcastLogId, copy: _CachedLog) -> None:
        if copy.index.head >= copy.snapshot_head + SNAPSHOT_EVERY:
            copy.snapshot_head = copy.index.head
            self._snapshots.write(log, copy.index.view)


_TRIES = 50
"""Each time somebody else got the place."""


class LogAppender:
    def __init__(
        self, log: BroadcastLog, followers: BroadcastLogCache, clock: Clock, notifier: BroadcastLogNotifier
    ) -> None:
        self._log = log
        self._followers = followers
        self._clock = clock
        self._publisher = notifier

    async def __call__(self, log: BroadcastLogId, decide: rules.AppendRule) -> BroadcastEntry | None:
        """None: nothing was to be done. May be repeated at will if `decide` knows a repeat."""
        for _ in range(_TRIES):
            view, now_ms = await self._followers.now(log), self._clock.now_ms()
            draft = decide(view, now_ms)
            if draft is None:
                return None
            entry = rules.entry_from_draft(draft, view, new_ulid(), now_ms)
            if await self._is_appended(log, entry):
                self._followers.append(log, entry)
                self._publisher.moved(log, entry.sequence)
                return entry
        raise TidingsError(Code.OVERLOADED, "Too many write to this inbox's log at once.")

    async def view(self, log: BroadcastLogId) -> BroadcastLogView:
        """As it is now."""
        return await self._followers.now(log)

    async def _is_appended(self, log: BroadcastLogId, entry: BroadcastEntry) -> bool:
        there = await self._log.put(log, entry)
        return there is None or there.id == entry.id


class BroadcastRollout:
    def __init__(self, append: LogAppender) -> None:
        self._append = append

    async def step(self, log: BroadcastLogId, draft: BroadcastDraft, up_to: int, /) -> RolloutStatus:
        """To so many parts of its users; nothing where they have it already, or it is over. May be repeated at will."""
        return await self._done(log, draft.notification, rules.decide_step(draft, up_to))

    async def halt(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Who has it keeps it. Raises `no_change` if it is not live."""
        return await self._done(log, notification, rules.decide_halt(notification))

    async def redact(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Hidden from everybody, if it is shown to anybody. May be repeated at will."""
        return await self._done(log, notification, rules.decide_redact(notification))

    async def status(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        return rules.rollout_status(await self._append.view(log), notification)

    async def _done(self, log: BroadcastLogId, notification: str, decide: rules.AppendRule) -> RolloutStatus:
        await self._append(log, decide)
        return await self.status(log, notification)
