"""Notify gateways that inboxes have changed.

Runs in the background of the process that made the change. A gateway reads the current state when it receives a
message, so a late or repeated message does no harm. If a message is lost, the devices of the gateway learn of the
change at their next request.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import batched

from tidings.bus.model import InboxChanged, encode_messages
from tidings.bus.ports import BusPublisher
from tidings.connections.model import GatewayId, RouteLookup
from tidings.inboxes.broadcasts.log import BroadcastLogPublisher
from tidings.inboxes.model import InboxKey, NotificationId
from tidings.inboxes.ports import InboxEvent
from tidings.kernel.debouncer import Debouncer
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import TenantId

MAX_PENDING_INBOXES = 20_000
"""Inboxes whose message can wait while Redis is unavailable."""
FLUSH_S = 0.2
"""How long the first change of an inbox waits for further changes."""
MAX_NAMED = 10
"""Notifications of each kind in one message. A gateway reads the list if there are more."""
_MAX_MESSAGES_PER_PAYLOAD = 200
_RETRY_S = 1.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _PendingChange:
    """Changes of one inbox since the last message. Each notification has its latest event."""

    named: dict[NotificationId, InboxEvent] = field(default_factory=dict)
    is_filtered: bool = False

    def add(self, event: InboxEvent, notification: NotificationId | None) -> None:
        self.is_filtered = self.is_filtered or event is InboxEvent.FILTERED
        if notification is None:
            return
        if self.named.get(notification) is InboxEvent.DELIVERED and event is InboxEvent.AMENDED:
            return
        self.named[notification] = event

    def message(self, inbox_key: InboxKey) -> InboxChanged:
        added, amended, removed = (
            [notification for notification, each in self.named.items() if each is event]
            for event in (InboxEvent.DELIVERED, InboxEvent.AMENDED, InboxEvent.REDACTED)
        )
        return InboxChanged(
            inbox_key.tenant,
            inbox_key.user,
            inbox_key.inbox,
            added=tuple(added[-MAX_NAMED:]),
            amended=tuple(amended[-MAX_NAMED:]),
            removed=tuple(removed[-MAX_NAMED:]),
            has_more=self.is_filtered or max(map(len, (added, amended, removed))) > MAX_NAMED,
        )


class InboxChangePublisher:
    """Publishes changes of inboxes to the gateways of their users.

    Belongs to one event loop. `lost` counts inboxes whose message was dropped. `logs` publishes changes of broadcast logs.
    """

    def __init__(self, routes: RouteLookup, bus: BusPublisher, *, within_s: float = FLUSH_S) -> None:
        self.logs = BroadcastLogPublisher(bus)
        self._routes = routes
        self._bus = bus
        self._pending: dict[InboxKey, _PendingChange] = {}
        self._debouncer = Debouncer(self._flush, within_s, _report)
        self.lost = 0

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        change = self._pending.get(inbox_key)
        if change is None:
            if len(self._pending) >= MAX_PENDING_INBOXES:
                self.lost += 1
                return
            change = self._pending[inbox_key] = _PendingChange()
        change.add(event, notification)
        self._debouncer.schedule()

    async def wait_idle(self, within_s: float) -> None:
        """Publish everything that is pending, or drop it after `within_s`."""
        await self._debouncer.wait_idle(within_s)
        await self.logs.wait_idle(within_s)

    async def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        unpublished, why = await self._publish(pending)
        if unpublished:
            _log.warning("changes of %d inboxes not published yet: %s", len(unpublished), why)
            # A change that arrived meanwhile replaces the older one: a gateway reads the inbox for either.
            self._pending = unpublished | self._pending
            await asyncio.sleep(_RETRY_S)
            self._debouncer.schedule()

    async def _publish(
        self, pending: dict[InboxKey, _PendingChange]
    ) -> tuple[dict[InboxKey, _PendingChange], str]:
        """Publish to all gateways that can be found. Returns the changes that failed, and why."""
        messages: dict[GatewayId, list[tuple[InboxKey, InboxChanged]]] = {}
        unpublished: dict[InboxKey, _PendingChange] = {}
        why = ""
        for tenant, inbox_keys in _by_tenant(pending).items():
            routes = await self._routes.look_up(tenant, list({key.user: None for key in inbox_keys}))
            why = routes.failure or why
            for inbox_key in inbox_keys:
                if inbox_key.user in routes.unknown:
                    unpublished[inbox_key] = pending[inbox_key]
                for gateway in {route.gateway for route in routes.found.get(inbox_key.user, ())}:
                    messages.setdefault(gateway, []).append(
                        (inbox_key, pending[inbox_key].message(inbox_key))
                    )
        for gateway, addressed in messages.items():
            try:
                for some in batched(addressed, _MAX_MESSAGES_PER_PAYLOAD):
                    payload = encode_messages(tuple(message for _, message in some))
                    await self._bus.publish_to_gateway(gateway, payload)
            except UnavailableError as error:
                why = str(error)
                unpublished |= {inbox_key: pending[inbox_key] for inbox_key, _ in addressed}
        return unpublished, why


def _report(what: str, error: BaseException) -> None:
    _log.error(what, exc_info=error)


def _by_tenant(inbox_keys: Iterable[InboxKey]) -> dict[TenantId, list[InboxKey]]:
    found: dict[TenantId, list[InboxKey]] = {}
    for inbox_key in inbox_keys:
        found.setdefault(inbox_key.tenant, []).append(inbox_key)
    return found
