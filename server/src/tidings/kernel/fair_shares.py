"""Fair shares of a bounded resource. Holders are addresses, users and tenants.

A holder that wants more than its share waits or is refused, and other holders are not affected.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from math import inf
from typing import final


@final
class FairShares[H: Hashable]:
    """Count what each holder has of one resource, and refuse it more than `each`."""

    def __init__(self, each: int) -> None:
        self.each = each
        self._held: dict[H, int] = {}

    def take(self, holder: H) -> bool:
        """Take one. Returns False, and takes none, if the holder already has its share."""
        held = self._held.get(holder, 0)
        if held >= self.each:
            return False
        self._held[holder] = held + 1
        return True

    def count(self, holder: H) -> None:
        """Take one that was granted before, also above the share."""
        self._held[holder] = self._held.get(holder, 0) + 1

    def release(self, holder: H) -> None:
        held = self._held.get(holder, 0)
        if held > 1:
            self._held[holder] = held - 1
        else:
            self._held.pop(holder, None)

    def held(self, holder: H) -> int:
        return self._held.get(holder, 0)

    def __len__(self) -> int:
        """Return how many holders have something."""
        return len(self._held)


@final
class FairSlots[H: Hashable]:
    """Slots that holders wait for: `in_all` at the same time, `each` of them for one holder.

    Holders take turns: a free slot goes to the next holder that waits and is below its share, regardless of the number
    of requests that others have queued. The requests of one holder are served in order.
    """

    def __init__(self, in_all: float = inf, each: int = 1) -> None:
        self._free = in_all
        self._shares: FairShares[H] = FairShares(each)
        self._waiting: dict[H, deque[asyncio.Future[None]]] = {}
        self._next: OrderedDict[H, None] = OrderedDict()
        """Holders that wait and are below their share, in the order of their turns."""

    def held(self, holder: H) -> int:
        return self._shares.held(holder)

    async def acquire(self, holder: H) -> None:
        if self._free >= 1 and holder not in self._waiting and self._shares.take(holder):
            self._free -= 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(holder, deque()).append(granted)
        self._grant(holder)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                # Race: `release` granted the slot in the same turn of the loop in which the waiting task was cancelled.
                self.release(holder)
            raise

    def release(self, holder: H) -> None:
        self._shares.release(holder)
        self._free += 1
        self._grant(holder)

    def _grant(self, changed: H) -> None:
        if changed in self._waiting and self._shares.held(changed) < self._shares.each:
            self._next.setdefault(changed, None)
        while self._free >= 1 and self._next:
            holder, _ = self._next.popitem(last=False)
            queue = self._waiting[holder]
            granted = queue.popleft()
            if not queue:
                del self._waiting[holder]
            if not granted.done():
                self._shares.take(holder)
                self._free -= 1
                granted.set_result(None)
            if holder in self._waiting and self._shares.held(holder) < self._shares.each:
                self._next[holder] = None

    @asynccontextmanager
    async def slot(self, holder: H) -> AsyncIterator[None]:
        """Hold a slot. The work inside can give it up for a while with `release_slot`."""
        await self.acquire(holder)
        turn = SlotTurn(lambda: self.acquire(holder), lambda: self.release(holder))
        try:
            with turn:
                yield
        finally:
            if turn.is_held:
                self.release(holder)


@final
class SlotTurn:
    """One piece of work that holds a slot; the tasks that it starts belong to it."""

    def __init__(self, enter: Callable[[], Awaitable[None]], leave: Callable[[], None]) -> None:
        self._enter = enter
        self._leave = leave
        self._entering = asyncio.Lock()
        self.is_held = True

    def __enter__(self) -> None:
        self._token = _current_turn.set(self)

    def __exit__(self, *_: object) -> None:
        _current_turn.reset(self._token)

    def leave(self) -> None:
        if self.is_held:
            self.is_held = False
            self._leave()

    async def enter(self) -> None:
        """Acquire a slot again. If several tasks of this work return, the first one acquires it for all."""
        async with self._entering:
            if not self.is_held:
                await self._enter()
                self.is_held = True


_current_turn: ContextVar[SlotTurn | None] = ContextVar("turn", default=None)


@asynccontextmanager
async def release_slot() -> AsyncIterator[None]:
    """Give up the slot of the running work while it waits for something that the slot does not bound.

    Slots bound the number of concurrent reads of engines. A device that receives slowly, or a subscription that is not
    confirmed yet, must not keep others from reading.
    """
    turn = _current_turn.get()
    if turn is None:
        yield
        return
    turn.leave()
    yield
    await turn.enter()
