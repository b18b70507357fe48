"""Appends to a log: at the place after its head, on condition that nothing is there.

Whoever appends at n + 1 has seen everything up to n, so what was decided on the view holds, or the put fails.
"""

from tidings.broadcasts import rules
from tidings.broadcasts.follow import BroadcastLogCache
from tidings.broadcasts.model import BroadcastEntry, BroadcastLogId, BroadcastLogView
from tidings.broadcasts.ports import BroadcastLog, BroadcastLogNotifier
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import new_ulid

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
