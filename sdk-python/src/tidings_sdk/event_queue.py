"""The bounded queue between the connection and the reader of events. The connection never waits for it.

If the queue is full, entries are read from the log later, when there is space. Other events are dropped and counted:
they are available elsewhere (`QueuedSend`, `client.state`), or are ephemeral (typing, presence).
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
        self._changed = asyncio.Event()
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
        self._notify_waiters()

    async def take(self) -> Event | None:
        """Wait for the next event. Returns None at the end; raises the error that stopped the client."""
        while not self._events and not self._is_ended:
            await self._changed.wait()
        if self._events:
            event = self._events.popleft()
            self._notify_waiters()
            return event
        if self._error is not None:
            raise self._error
        return None

    async def wait_until_free(self, entries: int) -> None:
        while self.free < entries and not self._is_ended:
            await self._changed.wait()

    def drop_entries(self) -> None:
        """Drop the entries of an earlier epoch: their sequences belong to other entries now."""
        self._events = deque(event for event in self._events if not isinstance(event, LOG_EVENTS))
        self._notify_waiters()

    def end(self, error: Exception | None = None) -> None:
        self._is_ended, self._error = True, self._error or error
        self._notify_waiters()

    def _notify_waiters(self) -> None:
        """Wake all waiting tasks. Each checks its own condition again."""
        self._changed.set()
        self._changed = asyncio.Event()
