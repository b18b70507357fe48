"""The endpoints that workers send to: cached, and disabled if they fail for too long."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.webhooks.model import (
    Attempt,
    Delivery,
    DeliveryOutcome,
    Endpoint,
    EndpointName,
    EndpointSettings,
    EndpointStatus,
    EventType,
    QueuedItem,
    QueueKind,
    SigningSecret,
    WebhookEvent,
)
from tidings.webhooks.ports import DisabledEndpoints, EndpointStore, WebhookQueue

CACHE_POLICY: Final = CachePolicy(fresh_s=10.0, outage_s=600.0)

_encode = msgspec.json.Encoder().encode


class EndpointDirectory:
    """The endpoints of tenants through a cache. A change is seen within `CachePolicy.fresh_s`."""

    def __init__(self, store: EndpointStore, clock: Clock, policy: CachePolicy = CACHE_POLICY) -> None:
        self._store = store
        self._cache: Cache[TenantId, Sequence[Endpoint]] = Cache(self._load, clock, policy)

    async def enabled(self, tenant: TenantId) -> Sequence[Endpoint]:
        return await self._cache.get(tenant) or ()

    async def find(self, name: EndpointName) -> Endpoint | None:
        """Return an enabled endpoint."""
        return next((each for each in await self.enabled(name.tenant) if each.name == name), None)

    def evict(self, tenant: TenantId) -> None:
        self._cache.evict(tenant)

    async def _load(self, tenant: TenantId) -> Sequence[Endpoint] | None:
        return [each for each in await self._store.list(tenant) if each.is_enabled] or None


class EndpointSwitch:
    """Disables endpoints that fail, and notifies the tenant's other endpoints."""

    def __init__(
        self,
        store: EndpointStore,
        queue: WebhookQueue,
        disabled: DisabledEndpoints,
        clock: Clock,
        directory: EndpointDirectory,
    ) -> None:
        self._store = store
        self._queue = queue
        self._disabled = disabled
        self._clock = clock
        self._directory = directory

    async def disable(self, name: EndpointName, reason: str) -> None:
        """Disable an endpoint and drop its queue. Idempotent."""

        async def step() -> Endpoint | None:
            found = await self._store.read(name)
            if found is None or not found.is_enabled:
                return None
            now_ms = self._clock.now_ms()
            settings = replace(
                found.settings,
                status=EndpointStatus.DISABLED,
                disabled_reason=reason,
                disabled_at_ms=now_ms,
            )
            return await change_endpoint(self._store, found, settings, found.secrets, now_ms)

        disabled = await retry_on_conflict(step)
        self._directory.evict(name.tenant)
        if disabled is not None:
            await self._disabled.add(name, reason, self._clock.now_ms())
            await self._notify_others(disabled, reason)
        await self._queue.drop(name)

    async def _notify_others(self, disabled: Endpoint, reason: str) -> None:
        now_ms = self._clock.now_ms()
        event = make_event(
            f"evt_{disabled.name.id.lower()}{disabled.version:06d}",
            EventType.ENDPOINT_DISABLED,
            now_ms,
            {"endpoint": disabled.name.id, "url": disabled.settings.url, "reason": reason},
        )
        others = await self._store.list(disabled.name.tenant)
        items = [
            queued_event(other.name, event) for other in others if other.is_enabled and other.wants(event)
        ]
        if items:
            await self._queue.add_items(items)


def make_event(event: str, kind: EventType, at_ms: int, data: dict[str, object]) -> WebhookEvent:
    """Return an event that is not an entry of a log."""
    body = {"id": event, "type": kind, "timestamp": format_ms(at_ms), "data": data}
    return WebhookEvent(id=event, type=kind, at_ms=at_ms, body=_encode(body))


def queued_event(
    endpoint: EndpointName,
    event: WebhookEvent,
    *,
    key: str | None = None,
    order: int = 0,
    due_ms: int | None = None,
) -> QueuedItem:
    """Return the queued item of an event. Without `key`, it is the id of the event; without `due_ms`, it is due now."""
    return QueuedItem(
        endpoint=endpoint,
        kind=QueueKind.EVENT,
        key=key or event.id,
        first=1,
        last=1,
        order=order,
        due_ms=event.at_ms if due_ms is None else due_ms,
        body=event.body,
    )


async def change_endpoint(
    store: EndpointStore,
    found: Endpoint,
    settings: EndpointSettings,
    secrets: tuple[SigningSecret, ...],
    now_ms: int,
) -> Endpoint:
    changed = replace(
        found, settings=settings, secrets=secrets, version=found.version + 1, updated_at_ms=now_ms
    )
    if not await store.put(changed):
        raise TidingsError(Code.WRITE_CONFLICT, "The endpoint was changed at the same time. Try again.")
    return changed


def delivery_of(
    endpoint: EndpointName,
    event: WebhookEvent,
    attempt: Attempt,
    at_ms: int,
    *,
    attempts: int,
    next_ms: int | None,
) -> Delivery:
    """Return the entry of the delivery log. `next_ms`: when the next attempt follows a failed one."""
    failed = DeliveryOutcome.FAILED if next_ms is None else DeliveryOutcome.RETRYING
    return Delivery(
        endpoint=endpoint,
        event=event.id,
        type=event.type,
        at_ms=at_ms,
        attempt=attempts,
        outcome=DeliveryOutcome.DELIVERED if attempt.is_ok else failed,
        latency_ms=attempt.latency_ms,
        chat=event.chat,
        sequence=event.sequence,
        status=attempt.status,
        reason=attempt.reason,
        next_ms=next_ms,
    )
