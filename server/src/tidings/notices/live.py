"""Tells devices that are connected of what changed in their users' inboxes: news of one window, a word per gateway.

Off the path of whoever changed something, and nothing is kept of it: a gateway reads the inbox anew when it hears the
word, so that a word that comes late, twice or in another order tells nothing wrong.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import batched

from tidings.kernel.ids import TenantId
from tidings.notices.live_logs import LiveLogs
from tidings.notices.model import NoticeId, Owner
from tidings.notices.ports import Line, News, Routes
from tidings.routing.model import GatewayId, Noticed, RoutesAwayError, encode

WITHIN_S = 0.2
"""So long the first news of an inbox waits for others of it."""
NAMED = 10
"""Notices of each kind in one word; who has more to hear of reads the list."""
MOST = 20_000
"""Inboxes that may wait while Redis is away. The devices behind it then hear of nothing, and read anew when it is back."""
_WORDS_AT_ONCE = 200
_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Told:
    """What happened to one inbox since it was last told of. Each notice stands where it was last seen."""

    named: dict[NoticeId, News] = field(default_factory=dict)

    def add(self, news: News, notice: NoticeId | None) -> None:
        if notice is None:
            return
        if self.named.get(notice) is News.GIVEN and news is News.AMENDED:
            return
        self.named[notice] = news

    def word(self, owner: Owner) -> Noticed:
        added, amended, gone = (
            [notice for notice, each in self.named.items() if each is news]
            for news in (News.GIVEN, News.AMENDED, News.REDACTED)
        )
        return Noticed(
            owner.tenant,
            owner.user,
            owner.inbox,
            added=tuple(added[-NAMED:]),
            amended=tuple(amended[-NAMED:]),
            gone=tuple(gone[-NAMED:]),
            has_more=max(map(len, (added, amended, gone))) > NAMED,
        )


class LiveNews:
    """Belongs to the loop that it is used in. `lost` counts inboxes of which nobody was told.

    `logs`: what concerns all who look at an inbox goes that way.
    """

    def __init__(
        self, routes: Routes, line: Line, logs: LiveLogs | None = None, *, within_s: float = WITHIN_S
    ) -> None:
        self.logs = logs
        self._routes = routes
        self._line = line
        self._within_s = within_s
        self._waiting: dict[Owner, _Told] = {}
        self._task: asyncio.Task[None] | None = None
        self.lost = 0

    def tell(self, owner: Owner, news: News, notice: NoticeId | None = None, /) -> None:
        told = self._waiting.get(owner)
        if told is None:
            if len(self._waiting) >= MOST:
                self.lost += 1
                return
            told = self._waiting[owner] = _Told()
        told.add(news, notice)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def settled(self, within_s: float) -> None:
        """What was told of is said, or it took too long."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=within_s)
            self._task.cancel()
        if self.logs is not None:
            await self.logs.settled(within_s)

    async def _run(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._within_s)
            waiting, self._waiting = self._waiting, {}
            untold, why = await self._say(waiting)
            if untold:
                _log.warning("changes in %d inboxes could not be announced yet: %s", len(untold), why)
                # What arrived meanwhile is newer: whoever hears of it reads the inbox anew.
                self._waiting = untold | self._waiting
                await asyncio.sleep(_AGAIN_S)

    async def _say(self, waiting: dict[Owner, _Told]) -> tuple[dict[Owner, _Told], str]:
        """Tell whoever can be found. Return the rest, whose routes or gateways could not be asked, and why."""
        words: dict[GatewayId, list[tuple[Owner, Noticed]]] = {}
        untold: dict[Owner, _Told] = {}
        why = ""
        for tenant, owners in _by_tenant(waiting).items():
            routes = await self._routes.of(tenant, list({owner.user: None for owner in owners}))
            why = routes.why or why
            for owner in owners:
                if owner.user in routes.unknown:
                    untold[owner] = waiting[owner]
                for gateway in {route.gateway for route in routes.found.get(owner.user, ())}:
                    words.setdefault(gateway, []).append((owner, waiting[owner].word(owner)))
        for gateway, mine in words.items():
            try:
                for some in batched(mine, _WORDS_AT_ONCE):
                    await self._line.to_gateway(gateway, encode(tuple(word for _, word in some)))
            except RoutesAwayError as error:
                why = str(error)
                untold |= {owner: waiting[owner] for owner, _ in mine}
        return untold, why


def _by_tenant(owners: Sequence[Owner] | dict[Owner, _Told]) -> dict[TenantId, list[Owner]]:
    found: dict[TenantId, list[Owner]] = {}
    for owner in owners:
        found.setdefault(owner.tenant, []).append(owner)
    return found
