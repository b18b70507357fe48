"""Gains, debounced: of each chat one word in a while, however many members acked; and to a user's own devices his `read`.

Step 2 of the flow "a receipt". Work does not grow with members: nobody looks up who would like to know.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final, final

from tidings.delivery.model import Gain
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.routing.model import GatewayId, OwnRead, RoutesAwayError, by_gateway
from tidings.routing.model import encode as encode_words
from tidings.signs import rules
from tidings.signs.model import Got, Receipts, encode
from tidings.signs.ports import Line, Routes

MOST_CHATS: Final = 20_000
"""Of which gains wait to be told. Beyond that they are not: whoever looks again sees them."""
_AT_ONCE: Final = 64

type Report = Callable[[str, BaseException], None]
type _Reads = dict[UserId, dict[ChatId, int]]


@dataclass(slots=True)
class Told:
    """`words`: one for each chat and window. `own`: to users' own devices. `lost`: Redis did not answer."""

    gains: int = 0
    words: int = 0
    own: int = 0
    lost: int = 0


@final
class Telling:
    def __init__(self, line: Line, routes: Routes, *, within_s: float, report: Report) -> None:
        self._line = line
        self._routes = routes
        self._within_s = within_s
        self._report = report
        self._chats: dict[ChatKey, dict[UserId, Got]] = {}
        self._reads: dict[TenantId, _Reads] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.told = Told()

    def __call__(self, gain: Gain) -> None:
        """Of a large chat nobody is told but the user himself: ticks are not counted there."""
        self.told.gains += 1
        if gain.is_read:
            his = self._reads.setdefault(gain.chat.tenant, {}).setdefault(gain.user, {})
            his[gain.chat.chat] = max(gain.read, his.get(gain.chat.chat, 0))
        if not gain.is_large and (gain.chat in self._chats or len(self._chats) < MOST_CHATS):
            waiting = self._chats.setdefault(gain.chat, {})
            rules.merge(waiting, [Got(gain.user, gain.delivered, gain.read)])
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._within_s, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._tasks and self._within_s:
            # Redis has not taken the last window yet: this one waits with the next
            self._timer = asyncio.get_running_loop().call_later(self._within_s, self.flush)
            return
        chats, self._chats = self._chats, {}
        reads, self._reads = self._reads, {}
        if chats or reads:
            task = asyncio.get_running_loop().create_task(self._tell(chats, reads))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    async def settled(self, within_s: float) -> None:
        """What is not told by then is not told."""
        deadline = asyncio.get_running_loop().time() + within_s
        for _ in range(2):
            if self._tasks:
                left_s = max(0.0, deadline - asyncio.get_running_loop().time())
                await asyncio.wait(list(self._tasks), timeout=left_s)
            self.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("receipts could not be told", error)

    async def _tell(self, chats: dict[ChatKey, dict[UserId, Got]], reads: dict[TenantId, _Reads]) -> None:
        for tenant, users in reads.items():
            await self._tell_own(tenant, users)
        for some in batched(chats.items(), _AT_ONCE):
            done = await asyncio.gather(
                *(self._line.to_signs(chat, encode(Receipts(tuple(got.values())))) for chat, got in some),
                return_exceptions=True,
            )
            self._count(done)

    async def _tell_own(self, tenant: TenantId, users: _Reads) -> None:
        """By routes: a device need not have the chat on its screen for its badge to be right."""
        found = await self._routes.of(tenant, list(users))
        self.told.lost += len(found.unknown)
        words: dict[GatewayId, list[OwnRead]] = {}
        for user, routes in found.found.items():
            for gateway, devices in by_gateway(user, routes).items():
                mine = [OwnRead(tenant, user, chat, read, devices) for chat, read in users[user].items()]
                words.setdefault(gateway, []).extend(mine)
        sending = (self._line.to_gateway(to, encode_words(tuple(those))) for to, those in words.items())
        done = await asyncio.gather(*sending, return_exceptions=True)
        self.told.own += sum(map(len, words.values()))
        self._count(done, words=0)

    def _count(self, done: Sequence[object], words: int = 1) -> None:
        for outcome in done:
            if isinstance(outcome, RoutesAwayError):
                self.told.lost += 1
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                self.told.words += words
