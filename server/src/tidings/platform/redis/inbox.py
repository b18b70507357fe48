"""A sink to iterate over, for whoever would rather await events than be called: `async for event in inbox`.

It holds so much and no more. A reader that falls behind is told `ChannelLost`, like everyone who misses messages.
"""

import asyncio
from collections import deque

from tidings.platform.redis.events import ChannelEvent, ChannelLost, ChannelMessage, ChannelSubscribed


class EventQueue:
    def __init__(self, max_events: int = 10_000, max_bytes: int = 8 * 2**20) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._events: deque[ChannelEvent] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._is_standing = False
        self._overrun_at: float | None = None

    def put(self, event: ChannelEvent) -> None:
        """The sink."""
        if not isinstance(event, ChannelMessage):
            self._is_standing = isinstance(event, ChannelSubscribed)
        if self._overrun_at is not None:
            return
        if self._is_full:
            self._overrun(event)
            return
        self._append(event)

    def __aiter__(self) -> "EventQueue":
        return self

    async def __anext__(self) -> ChannelEvent:
        while not self._events:
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        if isinstance(event, ChannelMessage):
            self._bytes -= len(event.payload)
        if not self._events and self._overrun_at is not None:
            self._caught_up(self._overrun_at)
        return event

    @property
    def _is_full(self) -> bool:
        return len(self._events) >= self._max_events or self._bytes >= self._max_bytes

    def _overrun(self, event: ChannelEvent) -> None:
        """The one event beyond the bound, and it is the signal; unless the reader has it already."""
        now = self._loop.time()
        if isinstance(event, ChannelSubscribed):
            self._overrun_at = now if event.lost_since is None else event.lost_since
            return
        signal = event if isinstance(event, ChannelLost) else ChannelLost(now, "the reader has fallen behind")
        self._overrun_at = signal.since
        self._append(signal)

    def _caught_up(self, lost_since: float) -> None:
        """Nothing waits any more: from here on nothing is missing, if the subscription stands."""
        self._overrun_at = None
        if self._is_standing:
            self._append(ChannelSubscribed(self._loop.time(), lost_since))

    def _append(self, event: ChannelEvent) -> None:
        self._events.append(event)
        if isinstance(event, ChannelMessage):
            self._bytes += len(event.payload)
        self._arrived.set()
