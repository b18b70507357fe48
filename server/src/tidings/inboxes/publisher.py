"""Tells gateways that a log of broadcasts has moved, or that what one of them says was changed: a word per log.

Off the path of whoever appended. A gateway reads the log when it hears the word, so that a word that comes late, twice or
never tells nothing wrong; never means that its devices learn of it when they next ask.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import batched

from tidings.bus.model import BroadcastLogAdvanced, InboxChanged, encode_messages
from tidings.connections.model import GatewayId, RegistryUnavailableError
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.inboxes.broadcasts.ports import BroadcastBus
from tidings.inboxes.model import InboxKey, NotificationId
from tidings.inboxes.ports import BusPublisher, InboxEvent, RouteLookup
from tidings.kernel.ids import TenantId

MAX_PENDING_LOGS = 1_000
"""Logs that may wait while Redis is away."""


@dataclass(slots=True)
class _PendingAdvance:
    sequence: int = 0
    amended: dict[str, None] = field(default_factory=dict)


class BroadcastLogPublisher:
    """Belongs to the loop that it is used in. `lost` counts words that nobody was told."""

    def __init__(self, bus: BroadcastBus) -> None:
        self._bus = bus
        self._waiting: dict[BroadcastLogId, _PendingAdvance] = {}
        self._task: asyncio.Task[None] | None = None
        self.lost = 0

    def moved(self, log: BroadcastLogId, sequence: int, /) -> None:
        if (word := self._message(log)) is not None:
            word.sequence = max(word.sequence, sequence)

    def amended(self, log: BroadcastLogId, notification: str, /) -> None:
        if (word := self._message(log)) is not None:
            word.amended[notification] = None

    async def wait_idle(self, within_s: float) -> None:
        """What was told of is said, or it took too long."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=within_s)
            self._task.cancel()

    def _message(self, log: BroadcastLogId) -> _PendingAdvance | None:
        if log not in self._waiting and len(self._waiting) >= MAX_PENDING_LOGS:
            self.lost += 1
            return None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return self._waiting.setdefault(log, _PendingAdvance())

    async def _run(self) -> None:
        while self._waiting:
            log = next(iter(self._waiting))
            word = self._waiting.pop(log)
            said = BroadcastLogAdvanced(word.sequence, tuple(word.amended))
            try:
                await self._bus.publish_broadcasts(log.tenant, log.inbox, encode_messages((said,)))
            except RegistryUnavailableError as error:
                _log.warning("nobody is told of broadcasts for a moment: %s", error)
                self._retry(log, word)
                await asyncio.sleep(_RETRY_S)

    def _retry(self, log: BroadcastLogId, word: _PendingAdvance) -> None:
        later = self._waiting.setdefault(log, word)
        later.sequence = max(later.sequence, word.sequence)
        later.amended = word.amended | later.amended


FLUSH_S = 0.2
"""So long the first news of an inbox waits for others of it."""
NAMED = 10
"""Notifications of each kind in one word; who has more to hear of reads the list."""
MAX_PENDING_INBOXES = 20_000
"""Inboxes that may wait while Redis is away. The devices behind it then hear of nothing, and read anew when it is back."""
_MAX_CONCURRENT_WORDS = 200
_RETRY_S = 1.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _PendingChange:
    """What happened to one inbox since it was last told of. Each notification stands where it was last seen."""

    named: dict[NotificationId, InboxEvent] = field(default_factory=dict)

    def add(self, event: InboxEvent, notification: NotificationId | None) -> None:
        if notification is None:
            return
        if self.named.get(notification) is InboxEvent.GIVEN and event is InboxEvent.AMENDED:
            return
        self.named[notification] = event

    def message(self, inbox_key: InboxKey) -> InboxChanged:
        added, amended, gone = (
            [notification for notification, each in self.named.items() if each is news]
            for news in (InboxEvent.GIVEN, InboxEvent.AMENDED, InboxEvent.REDACTED)
        )
        return InboxChanged(
            inbox_key.tenant,
            inbox_key.user,
            inbox_key.inbox,
            added=tuple(added[-NAMED:]),
            amended=tuple(amended[-NAMED:]),
            removed=tuple(gone[-NAMED:]),
            has_more=max(map(len, (added, amended, gone))) > NAMED,
        )


class InboxChangePublisher:
    """Belongs to the loop that it is used in. `lost` counts inboxes of which nobody was told.

    `logs`: what concerns all who look at an inbox goes that way.
    """

    def __init__(
        self,
        routes: RouteLookup,
        bus: BusPublisher,
        logs: BroadcastLogPublisher | None = None,
        *,
        within_s: float = FLUSH_S,
    ) -> None:
        self.logs = logs
        self._routes = routes
        self._bus = bus
        self._within_s = within_s
        self._waiting: dict[InboxKey, _PendingChange] = {}
        self._task: asyncio.Task[None] | None = None
        self.lost = 0

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        told = self._waiting.get(inbox_key)
        if told is None:
            if len(self._waiting) >= MAX_PENDING_INBOXES:
                self.lost += 1
                return
            told = self._waiting[inbox_key] = _PendingChange()
        told.add(event, notification)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait_idle(self, within_s: float) -> None:
        """What was told of is said, or it took too long."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=within_s)
            self._task.cancel()
        if self.logs is not None:
            await self.logs.wait_idle(within_s)

    async def _run(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._within_s)
            waiting, self._waiting = self._waiting, {}
            untold, why = await self._publish(waiting)
            if untold:
                _log.warning("changes in %d inboxes could not be announced yet: %s", len(untold), why)
                # What arrived meanwhile is newer: whoever hears of it reads the inbox anew.
                self._waiting = untold | self._waiting
                await asyncio.sleep(_RETRY_S)

    async def _publish(
        self, waiting: dict[InboxKey, _PendingChange]
    ) -> tuple[dict[InboxKey, _PendingChange], str]:
        """Tell whoever can be found. Return the rest, whose routes or gateways could not be asked, and why."""
        words: dict[GatewayId, list[tuple[InboxKey, InboxChanged]]] = {}
        untold: dict[InboxKey, _PendingChange] = {}
        why = ""
        for tenant, owners in _by_tenant(waiting).items():
            routes = await self._routes.look_up(tenant, list({owner.user: None for owner in owners}))
            why = routes.failure or why
            for owner in owners:
                if owner.user in routes.unknown:
                    untold[owner] = waiting[owner]
                for gateway in {route.gateway for route in routes.found.get(owner.user, ())}:
                    words.setdefault(gateway, []).append((owner, waiting[owner].message(owner)))
        for gateway, mine in words.items():
            try:
                for some in batched(mine, _MAX_CONCURRENT_WORDS):
                    await self._bus.publish_to_gateway(
                        gateway, encode_messages(tuple(word for _, word in some))
                    )
            except RegistryUnavailableError as error:
                why = str(error)
                untold |= {owner: waiting[owner] for owner, _ in mine}
        return untold, why


def _by_tenant(owners: Sequence[InboxKey] | dict[InboxKey, _PendingChange]) -> dict[TenantId, list[InboxKey]]:
    found: dict[TenantId, list[InboxKey]] = {}
    for owner in owners:
        found.setdefault(owner.tenant, []).append(owner)
    return found
