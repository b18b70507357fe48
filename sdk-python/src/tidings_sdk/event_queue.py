"""The queue between the connection and whoever reads events. Bounded, and the connection never waits for it.

What finds no room: an entry is fetched again later, from the log, when there is room; anything else is dropped and
counted, because it is told elsewhere (handles, `client.state`) or may be lost by nature (typing, presence).
"""

import asyncio
from collections import deque
from typing import final

from tidings_sdk.events import LOG_EVENTS, Event


@final
class EventQueue:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.dropped = 0
        self._events: deque[Event] = deque()
        self._moved = asyncio.Event()
        self._is_ended = False
        self._error: Exception | None = None

    @property
    def free(self) -> int:
        return self.capacity - len(self._events)

    def offer(self, event: Event) -> None:
        if self.free <= 0 or self._is_ended:
            self.dropped += 1
            return
        self._events.append(event)
        self._move()

    async def take(self) -> Event | None:
        """The next one, or None at the end; raises what the client was stopped by."""
        while not self._events and not self._is_ended:
            await self._moved.wait()
        if self._events:
            event = self._events.popleft()
            self._move()
            return event
        if self._error is not None:
            raise self._error
        return None

    async def wait_until_free(self, entries: int) -> None:
        while self.free < entries and not self._is_ended:
            await self._moved.wait()

    def drop_entries(self) -> None:
        """Of an epoch that is over: their sequences mean other entries now."""
        self._events = deque(event for event in self._events if not isinstance(event, LOG_EVENTS))
        self._move()

    def end(self, error: Exception | None = None) -> None:
        self._is_ended, self._error = True, self._error or error
        self._move()

    def _move(self) -> None:
        """Wakes all who wait now; each looks for himself."""
        self._moved.set()
        self._moved = asyncio.Event()
