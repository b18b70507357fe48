"""A sink to iterate over, for whoever would rather await events than be called: `async for event in inbox`.

It holds so much and no more. A reader that falls behind is told `Lost`, like everyone who misses messages.
"""

import asyncio
from collections import deque

from tidings.platform.redis.events import Event, Lost, Message, Standing


class Inbox:
    def __init__(self, max_events: int = 10_000, max_bytes: int = 8 * 2**20) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._is_standing = False
        self._overrun_at: float | None = None

    def put(self, event: Event) -> None:
        """The sink."""
        if not isinstance(event, Message):
            self._is_standing = isinstance(event, Standing)
        if self._overrun_at is not None:
            return
        if self._is_full:
            self._overrun(event)
            return
        self._append(event)

    def __aiter__(self) -> "Inbox":
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        if isinstance(event, Message):
            self._bytes -= len(event.payload)
        if not self._events and self._overrun_at is not None:
            self._caught_up(self._overrun_at)
        return event

    @property
    def _is_full(self) -> bool:
        return len(self._events) >= self._max_events or self._bytes >= self._max_bytes

    def _overrun(self, event: Event) -> None:
        """The one event beyond the bound, and it is the signal; unless the reader has it already."""
        now = self._loop.time()
        if isinstance(event, Standing):
            self._overrun_at = now if event.lost_since is None else event.lost_since
            return
        signal = event if isinstance(event, Lost) else Lost(now, "the reader has fallen behind")
        self._overrun_at = signal.since
        self._append(signal)

    def _caught_up(self, lost_since: float) -> None:
        """Nothing waits any more: from here on nothing is missing, if the subscription stands."""
        self._overrun_at = None
        if self._is_standing:
            self._append(Standing(self._loop.time(), lost_since))

    def _append(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, Message):
            self._bytes += len(event.payload)
        self._arrived.set()
