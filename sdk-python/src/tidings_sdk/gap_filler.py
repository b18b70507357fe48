"""Fill gaps: read missed entries of a chat from its log, page by page, while the event queue has space."""

import asyncio
import random
from collections.abc import Callable
from typing import Final, final

from tidings_sdk.backoff import Backoff
from tidings_sdk.errors import RequestTimeout
from tidings_sdk.event_queue import EventQueue
from tidings_sdk.positions import Positions
from tidings_sdk.send_queues import RequestSender
from tidings_wire.frames.history import Entry, GetHistory, HistoryPage
from tidings_wire.frames.structs import Body, ErrorBody

_PAGE: Final = 200
_MAX_STALLS: Final = 5
"""How often history may return nothing new although an entry was pushed. Then the next push tries again."""


@final
class GapFiller:
    def __init__(
        self,
        asking: RequestSender,
        positions: Positions,
        events: EventQueue,
        deliver: Callable[[str, list[Entry]], None],
        start: Callable[..., object],
    ) -> None:
        self._asking = asking
        self._positions = positions
        self._events = events
        self._deliver = deliver
        self._start = start
        self._running: set[str] = set()

    def wake(self, chat: str) -> None:
        if chat not in self._running and self._positions.is_behind(chat):
            self._running.add(chat)
            self._start(self._run(chat))

    async def _run(self, chat: str) -> None:
        backoff, stalls = Backoff(random.random), 0
        try:
            while self._positions.is_behind(chat) and stalls < _MAX_STALLS:
                if not await self._step(chat):
                    stalls += 1
                    await asyncio.sleep(backoff.wait_s(asyncio.get_running_loop().time()))
            self._positions.abandon_gap(chat)
        finally:
            self._running.discard(chat)

    async def _step(self, chat: str) -> bool:
        """Read one page. Return False if the position did not move although the server answered."""
        limit = min(_PAGE, self._events.capacity)
        await self._events.wait_until_free(limit)
        await self._asking.let_in()
        position, epoch = self._positions.of(chat), self._asking.epoch
        try:
            answer = await self._asking.ask(GetHistory(chat=chat, after=position, limit=limit), epoch=epoch)
        except RequestTimeout:
            return True
        return self._on_answer(chat, answer)

    def _on_answer(self, chat: str, answer: Body) -> bool:
        if isinstance(answer, ErrorBody) and not answer.retryable:
            self._positions.abandon_gap(chat)
        if not isinstance(answer, HistoryPage):
            return False
        if len(answer.entries) > self._events.free:
            return True
        before = self._positions.of(chat)
        self._deliver(chat, self._positions.take(chat, answer.after, answer.up_to, answer.entries))
        return self._positions.of(chat) != before
