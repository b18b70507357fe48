"""Cache, append to and roll out broadcast logs, and notify gateways of their changes.

A cached log is read again on demand: when a reader needs it and it is older than `fresh_s`, at most once in that time
for all readers. A reader that needs a later sequence than the cached head causes a read at once.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial

from tidings.bus.model import BroadcastLogAdvanced, encode_messages
from tidings.bus.ports import BusPublisher
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
from tidings.inboxes.broadcasts.ports import BroadcastLog, Snapshots
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import SingleFlight
from tidings.kernel.debouncer import Debouncer
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import new_ulid

FRESH_S = STALE_MS / 1000
SNAPSHOT_EVERY = 25
"""A process writes a snapshot when its view is this number of entries ahead of the last snapshot."""
MAX_PENDING_LOGS = 1_000
"""Broadcast logs whose message can wait while Redis is unavailable."""
_RETRY_S = 1.0

_log = logging.getLogger(__name__)


class _CachedLog:
    """`checked_at`: when the last read of the log began."""

    __slots__ = ("checked_at", "index", "snapshot_head")

    def __init__(self, view: BroadcastLogView, checked_at: float, snapshot_head: int) -> None:
        self.index = BroadcastIndex(view)
        self.checked_at = checked_at
        self.snapshot_head = snapshot_head


class BroadcastLogCache:
    """An LRU cache of log views. Belongs to one event loop."""

    def __init__(
        self,
        log: BroadcastLog,
        snapshots: Snapshots,
        clock: Clock,
        *,
        fresh_s: float = FRESH_S,
        capacity: int = 2_000,
    ) -> None:
        self._log = log
        self._snapshots = snapshots
        self._clock = clock
        self._fresh_s = fresh_s
        self._capacity = capacity
        self._copies: OrderedDict[BroadcastLogId, _CachedLog] = OrderedDict()
        self._reads: SingleFlight[BroadcastLogId, _CachedLog] = SingleFlight()

    async def index(self, log: BroadcastLogId, at_least: int = 0) -> BroadcastIndex:
        """Return a log that is at most `fresh_s` old and contains `at_least`.

        Raises `position_ahead` if the log does not have this sequence.
        """
        copy = self._copies.get(log)
        if copy is None or self._clock.monotonic() >= copy.checked_at + self._fresh_s:
            copy = await self._refresh(log)
        if copy.index.head < at_least:
            copy = await self._caught_up(log)
        if copy.index.head < at_least:
            raise TidingsError(Code.POSITION_AHEAD, f"The last broadcast has sequence {copy.index.head}.")
        return copy.index

    async def now(self, log: BroadcastLogId) -> BroadcastLogView:
        """Return a view with everything that was appended before this call."""
        return (await self._caught_up(log)).index.view

    def append(self, log: BroadcastLogId, entry: BroadcastEntry) -> None:
        """Apply an entry that this process appended, if it directly follows the cached head."""
        copy = self._copies.get(log)
        if copy is not None and copy.index.head + 1 == entry.sequence:
            copy.index = BroadcastIndex(rules.apply_entries(copy.index.view, [entry], self._clock.now_ms()))

    def evict(self) -> None:
        """Drop all cached logs."""
        self._copies.clear()

    async def _caught_up(self, log: BroadcastLogId) -> _CachedLog:
        """Read the log. A shared read that began before this call may miss entries: then read once more."""
        called_at = self._clock.monotonic()
        copy = await self._refresh(log)
        return copy if copy.checked_at >= called_at else await self._refresh(log)

    async def _refresh(self, log: BroadcastLogId) -> _CachedLog:
        return await self._reads.run(log, partial(self._read, log))

    async def _read(self, log: BroadcastLogId) -> _CachedLog:
        checked_at = self._clock.monotonic()
        copy = self._copies.get(log)
        if copy is None:
            return await self._load(log, checked_at)
        self._copies.move_to_end(log)
        entries = await self._log.after(log, copy.index.head)
        copy.checked_at = checked_at
        # Race: while we read, this process appended entries and applied them to the cached view. Skip those.
        if new := [each for each in entries if each.sequence > copy.index.head]:
            copy.index = BroadcastIndex(rules.apply_entries(copy.index.view, new, self._clock.now_ms()))
            self._write_snapshot(log, copy)
        return copy

    async def _load(self, log: BroadcastLogId, checked_at: float) -> _CachedLog:
        snapshot, now_ms = await self._snapshots.read(log), self._clock.now_ms()
        if snapshot is None:
            entries = await self._log.since(log, now_ms - LONGEST_MS - DAY_MS)
        else:
            entries = await self._log.after(log, snapshot.head)
        copy = _CachedLog(
            rules.apply_entries(snapshot or BroadcastLogView(), entries, now_ms),
            checked_at,
            snapshot.head if snapshot else 0,
        )
        self._copies[log] = copy
        while len(self._copies) > self._capacity:
            self._copies.popitem(last=False)
        self._write_snapshot(log, copy)
        return copy

    def _write_snapshot(self, log: BroadcastLogId, copy: _CachedLog) -> None:
        if copy.index.head >= copy.snapshot_head + SNAPSHOT_EVERY:
            copy.snapshot_head = copy.index.head
            self._snapshots.write(log, copy.index.view)


@dataclass(slots=True)
class _PendingAdvance:
    sequence: int = 0
    amended: dict[str, None] = field(default_factory=dict)


class BroadcastLogPublisher:
    """Notifies gateways of changed logs, in the background and with one message per log. Belongs to one event loop.

    Calls return at once and never fail. A gateway reads the log when it receives a message, so a late or repeated
    message does no harm. If a message is lost, the devices of the gateway learn of the change at their next request.
    `lost` counts dropped messages.
    """

    def __init__(self, bus: BusPublisher) -> None:
        self._bus = bus
        self._pending: dict[BroadcastLogId, _PendingAdvance] = {}
        self._debouncer = Debouncer(self._flush, 0, _report)
        self.lost = 0

    def log_advanced(self, log: BroadcastLogId, sequence: int) -> None:
        """Report that the log has reached `sequence`."""
        if (change := self._change(log)) is not None:
            change.sequence = max(change.sequence, sequence)

    def broadcast_amended(self, log: BroadcastLogId, notification: str) -> None:
        """Report that the content of a broadcast has changed."""
        if (change := self._change(log)) is not None:
            change.amended[notification] = None

    async def wait_idle(self, within_s: float) -> None:
        """Publish everything that is pending, or drop it after `within_s`."""
        await self._debouncer.wait_idle(within_s)

    def _change(self, log: BroadcastLogId) -> _PendingAdvance | None:
        if log not in self._pending and len(self._pending) >= MAX_PENDING_LOGS:
            self.lost += 1
            return None
        self._debouncer.schedule()
        return self._pending.setdefault(log, _PendingAdvance())

    async def _flush(self) -> None:
        while self._pending:
            log = next(iter(self._pending))
            change = self._pending.pop(log)
            message = BroadcastLogAdvanced(change.sequence, tuple(change.amended))
            try:
                await self._bus.publish_broadcasts(log.tenant, log.inbox, encode_messages((message,)))
            except UnavailableError as error:
                _log.warning("broadcast log change not published yet: %s", error)
                self._retry(log, change)
                await asyncio.sleep(_RETRY_S)

    def _retry(self, log: BroadcastLogId, change: _PendingAdvance) -> None:
        later = self._pending.setdefault(log, change)
        later.sequence = max(later.sequence, change.sequence)
        later.amended = change.amended | later.amended


def _report(what: str, error: BaseException) -> None:
    _log.error(what, exc_info=error)


_MAX_ATTEMPTS = 50
"""An attempt fails when another process wrote this sequence first."""


class LogAppender:
    """Appends entries. Without a publisher, gateways are not notified."""

    def __init__(
        self,
        log: BroadcastLog,
        cache: BroadcastLogCache,
        clock: Clock,
        publisher: BroadcastLogPublisher | None,
    ) -> None:
        self._log = log
        self._cache = cache
        self._clock = clock
        self._publisher = publisher

    async def append(self, log: BroadcastLogId, decide: rules.AppendRule) -> BroadcastEntry | None:
        """Append the entry that `decide` returns for the current view. None: nothing is to be appended.

        Idempotent if `decide` returns None for an entry that the view already contains. Raises `overloaded` if too
        many processes append at the same time; then nothing was appended.
        """
        for _ in range(_MAX_ATTEMPTS):
            view, now_ms = await self._cache.now(log), self._clock.now_ms()
            draft = decide(view, now_ms)
            if draft is None:
                return None
            entry = rules.entry_from_draft(draft, view, new_ulid(), now_ms)
            if await self._is_appended(log, entry):
                self._cache.append(log, entry)
                if self._publisher is not None:
                    self._publisher.log_advanced(log, entry.sequence)
                return entry
        raise TidingsError(Code.OVERLOADED, "Too many concurrent broadcasts in this inbox. Try again.")

    def notify_amended(self, log: BroadcastLogId, notification: str) -> None:
        """Notify gateways that the content of a broadcast has changed. The log has no entry of that."""
        if self._publisher is not None:
            self._publisher.broadcast_amended(log, notification)

    async def view(self, log: BroadcastLogId) -> BroadcastLogView:
        return await self._cache.now(log)

    async def _is_appended(self, log: BroadcastLogId, entry: BroadcastEntry) -> bool:
        stored = await self._log.put(log, entry)
        # The id shows that an unanswered attempt of this call wrote it.
        return stored is None or stored.id == entry.id


class BroadcastRollout:
    def __init__(self, appender: LogAppender) -> None:
        self._appender = appender

    async def step(self, log: BroadcastLogId, draft: BroadcastDraft, up_to: int, /) -> RolloutStatus:
        """Release to the first `up_to` of `PARTS` parts of the users. Idempotent.

        Changes nothing if these users have it already, or if it was halted, redacted or has expired.
        """
        return await self._append(log, draft.notification, rules.decide_step(draft, up_to))

    async def halt(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Stop further steps. Users who have it keep it. Raises `no_change` if it is not live."""
        return await self._append(log, notification, rules.decide_halt(notification))

    async def redact(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Hide it from all users, if it was released. Idempotent."""
        return await self._append(log, notification, rules.decide_redact(notification))

    def notify_amended(self, log: BroadcastLogId, notification: str, /) -> None:
        self._appender.notify_amended(log, notification)

    async def status(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        return rules.rollout_status(await self._appender.view(log), notification)

    async def _append(
        self, log: BroadcastLogId, notification: str, decide: rules.AppendRule
    ) -> RolloutStatus:
        await self._appender.append(log, decide)
        return await self.status(log, notification)
