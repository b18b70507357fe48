"""Manage webhook endpoints: create, change, rotate secrets, send a test, retry and replay."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, new_ulid
from tidings.kernel.security import Secret
from tidings.webhooks import rules
from tidings.webhooks.endpoints import change_endpoint, delivery_of, make_event
from tidings.webhooks.model import (
    MAX_ENDPOINTS,
    Attempt,
    DeliveryPage,
    Endpoint,
    EndpointId,
    EndpointName,
    EndpointSettings,
    EndpointStatus,
    EventType,
    QueuedItem,
    QueueKind,
    SigningSecret,
    WebhookEvent,
)
from tidings.webhooks.ports import (
    DeliveryLog,
    DisabledEndpoints,
    EndpointStore,
    WebhookQueue,
    WebhookTransport,
)

OVERLAP_S: Final = 24 * 3600
MAX_OVERLAP_S: Final = 7 * 86_400
MAX_SECRETS: Final = 3
REPLAY_MAX_S: Final = 48 * 3600
"""How far back a replay can start: the retention of the topic `messages`."""


class WebhookService:
    """The endpoints of tenants, for REST and the command line. Reads from the table, without a cache."""

    def __init__(
        self,
        store: EndpointStore,
        queue: WebhookQueue,
        log: DeliveryLog,
        disabled: DisabledEndpoints,
        *,
        transport: WebhookTransport,
        clock: Clock,
    ) -> None:
        self._store = store
        self._queue = queue
        self._log = log
        self._disabled = disabled
        self._transport = transport
        self._clock = clock

    async def create(self, tenant: TenantId, settings: EndpointSettings) -> Endpoint:
        """Create an endpoint. Its secret is shown only here and by `rotate`."""
        self._check_url(settings.url)
        if len(await self._store.list(tenant)) >= MAX_ENDPOINTS:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"The tenant has {MAX_ENDPOINTS} endpoints, which is the maximum.",
                hint="Delete an endpoint, or let one endpoint receive more event types.",
            )
        now_ms = self._clock.now_ms()
        endpoint = Endpoint(
            name=EndpointName(tenant, EndpointId(new_ulid())),
            settings=settings,
            secrets=(SigningSecret(Secret(rules.new_secret())),),
            version=1,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        await self._store.put(endpoint)
        note_change(None, _noted(endpoint))
        return endpoint

    async def list(self, tenant: TenantId) -> Sequence[Endpoint]:
        """Return all endpoints, oldest first: at most `MAX_ENDPOINTS`."""
        return await self._store.list(tenant)

    async def read(self, name: EndpointName) -> Endpoint:
        """Read an endpoint. Raises `webhook_not_found`."""
        found = await self._store.read(name)
        if found is None:
            raise TidingsError(
                Code.WEBHOOK_NOT_FOUND,
                f"There is no webhook endpoint {name.id}.",
                hint="List the endpoints with `tidings webhook list`.",
            )
        return found

    async def update(
        self,
        name: EndpointName,
        *,
        url: str | None = None,
        events: tuple[EventType, ...] | None = None,
        description: str | None = None,
        status: EndpointStatus | None = None,
    ) -> Endpoint:
        """Change the given settings. An endpoint that is enabled again receives events from now on."""
        if url is not None:
            self._check_url(url)

        async def step() -> Endpoint:
            found = await self.read(name)
            before = found.settings
            settings = replace(
                before,
                url=before.url if url is None else url,
                events=before.events if events is None else events,
                description=before.description if description is None else description,
            )
            if status is not None and status is not before.status:
                is_off = status is EndpointStatus.DISABLED
                settings = replace(
                    settings,
                    status=status,
                    disabled_reason="",
                    disabled_at_ms=self._clock.now_ms() if is_off else None,
                )
            return await self._change(found, settings, found.secrets)

        changed = await retry_on_conflict(step)
        if status is EndpointStatus.ENABLED:
            await self._disabled.remove(name)
        return changed

    async def rotate(self, name: EndpointName, overlap_s: int = OVERLAP_S) -> Endpoint:
        """Create a new secret. The former one signs too, for `overlap_s`, so that receivers can change over."""
        if not 0 <= overlap_s <= MAX_OVERLAP_S:
            raise TidingsError(
                Code.REQUEST_INVALID, f"The overlap is {overlap_s} s; allowed are 0 to {MAX_OVERLAP_S}."
            )
        secret = SigningSecret(Secret(rules.new_secret()))

        async def step() -> Endpoint:
            found, now_ms = await self.read(name), self._clock.now_ms()
            until_ms = now_ms + overlap_s * 1000
            former = [
                replace(each, expires_at_ms=min(each.expires_at_ms or until_ms, until_ms))
                for each in rules.valid_secrets(found, now_ms)
            ]
            kept = [each for each in former if (each.expires_at_ms or 0) > now_ms]
            return await self._change(found, found.settings, (secret, *kept[: MAX_SECRETS - 1]))

        return await retry_on_conflict(step)

    async def delete(self, name: EndpointName) -> None:
        """Delete an endpoint. Events that wait for it are dropped."""
        found = await self.read(name)
        await self._store.delete(name)
        await self._queue.drop(name)
        await self._disabled.remove(name)
        note_change(_noted(found), None)

    async def test(self, name: EndpointName) -> tuple[WebhookEvent, Attempt]:
        """Send a `test` event at once and return the answer. It is not repeated."""
        endpoint, now_ms = await self.read(name), self._clock.now_ms()
        event = make_event(
            f"evt_{new_ulid().lower()}", EventType.TEST, now_ms, {"endpoint": endpoint.name.id}
        )
        headers = rules.signed_headers(rules.valid_secrets(endpoint, now_ms), event.id, now_ms, event.body)
        attempt = await self._transport.post(endpoint.settings.url, event.body, headers, timeout_s=10.0)
        await self._log.add([delivery_of(name, event, attempt, now_ms, attempts=1, next_ms=None)])
        return event, attempt

    async def deliveries(self, name: EndpointName, limit: int, start: str | None = None) -> DeliveryPage:
        await self.read(name)
        return await self._log.page(name, limit, start)

    async def waiting(self, name: EndpointName, limit: int = 1_000) -> Sequence[QueuedItem]:
        """Return what waits for the endpoint: runs of chats, events and replays."""
        await self.read(name)
        return await self._queue.items(name, limit)

    async def retry(self, name: EndpointName) -> None:
        """Make the next attempt of everything that waits for the endpoint now."""
        await self.read(name)
        await self._queue.retry_all(name, self._clock.now_ms())

    async def replay(self, name: EndpointName, since_ms: int) -> None:
        """Send the events since a time again, in the order of each chat. A worker does so soon after."""
        await self._require_enabled(name)
        now_ms = self._clock.now_ms()
        if not now_ms - REPLAY_MAX_S * 1000 <= since_ms <= now_ms:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"A replay cannot start at {format_ms(since_ms)}.",
                hint="Events are kept for 48 hours. Choose a time since then, and not in the future.",
            )
        item = QueuedItem(
            endpoint=name, kind=QueueKind.REPLAY, key=new_ulid(), due_ms=now_ms, since_ms=since_ms
        )
        await self._queue.add_items([item])
        note_change(None, {"replay_since": format_ms(since_ms)})

    async def _require_enabled(self, name: EndpointName) -> None:
        if not (await self.read(name)).is_enabled:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"The webhook endpoint {name.id} is disabled.",
                hint="Enable it with `tidings webhook set --status enabled`.",
            )

    def _check_url(self, url: str) -> None:
        if fault := self._transport.check(url):
            raise TidingsError(Code.REQUEST_INVALID, f"The URL of the endpoint is refused: {fault}.")

    async def _change(
        self, found: Endpoint, settings: EndpointSettings, secrets: tuple[SigningSecret, ...]
    ) -> Endpoint:
        changed = await change_endpoint(self._store, found, settings, secrets, self._clock.now_ms())
        note_change(_noted(found), _noted(changed))
        return changed


def _noted(endpoint: Endpoint) -> dict[str, object]:
    return {
        "endpoint": endpoint.name.id,
        "settings": msgspec.to_builtins(endpoint.settings),
        "secrets": len(endpoint.secrets),
    }
