"""Wire webhooks: the worker, the sweeper of queues, and the service for REST and commands."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import msgspec

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import AccountServices
from tidings.app.wiring.engine_clients import EngineComponents, open_key_ring, open_tables
from tidings.app.wiring.options import kafka_config
from tidings.app.wiring.webhook_events import make_endpoint_store
from tidings.delivery.log_follower import LogFollower
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.messages import sender
from tidings.messages.entry_json import entry_fields
from tidings.messages.history import History
from tidings.messages.model import Entry, Interval
from tidings.messages.ports import BeforeSend
from tidings.messages.store import DynamoLogReader
from tidings.moderation.content_filter import ContentFilter, ContentRulesService
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.lifecycle.component import ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.store import DynamoTenantStore
from tidings.webhooks.before_send import BeforeSendHook, BeforeSendService, BeforeSendStats
from tidings.webhooks.endpoints import EndpointDirectory, EndpointSwitch
from tidings.webhooks.events import LogEvents
from tidings.webhooks.ports import WebhookTransport
from tidings.webhooks.sender import DeliveryRecorder, EventSender, SendOptions, WebhookStats
from tidings.webhooks.service import WebhookService
from tidings.webhooks.store import (
    DynamoDeliveryLog,
    DynamoDisabledEndpoints,
    DynamoWebhookQueue,
)
from tidings.webhooks.store.http import HttpWebhookTransport, TransportOptions, open_webhook_transport
from tidings.webhooks.store.replays import KafkaReplaySource
from tidings.webhooks.sweeper import QueueSweeper, SweeperDeps
from tidings.webhooks.worker import WebhookWorker, WebhookWorkerDeps, WorkerOptions

CHECKPOINTS = "webhooks"


class HistoryView:
    """Entries as the REST API shows them, without the reader's own fields."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def show(self, chat: ChatKey, entries: Sequence[Entry], /) -> Sequence[dict[str, Any]]:
        return [entry_fields(chat, shown) for shown in await self._history.show(chat, entries)]

    async def now(self, chat: ChatKey, sequences: Collection[int], /) -> Mapping[int, dict[str, Any]]:
        found = await self._history.now(chat, sequences)
        return {sequence: entry_fields(chat, shown) for sequence, shown in found.items()}


async def _no_intervals(_chat: ChatKey, _user: UserId) -> Sequence[Interval]:
    """Events are for the tenant, not for a member."""
    return ()


def transport_options(settings: Settings) -> TransportOptions:
    default = "local" if settings.installation == "development" else "public"
    return TransportOptions(network=NetworkPolicy(settings.webhooks.network or default))


class WebhookWorkerParts:
    """The parts of a webhook worker, which share the endpoints, the queue and the slots of requests."""

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: EngineComponents,
        transport: WebhookTransport,
    ) -> None:
        client, clock, given = engines.dynamo.value, host.clock, settings.webhooks
        log = DynamoLogReader(client)
        view = HistoryView(History(log, _no_intervals, engines.user_keys.value, clock))
        endpoints, queue = make_endpoint_store(client, engines.keys.value), DynamoWebhookQueue(client, clock)
        self.stats = WebhookStats()
        self.recorder = DeliveryRecorder(DynamoDeliveryLog(client), self.stats)
        options = SendOptions(timeout_s=given.timeout_s, max_concurrent=given.max_concurrent)
        event_sender = EventSender(transport, self.recorder, clock, self.stats, options)
        directory, events = EndpointDirectory(endpoints, clock), LogEvents(log, view)
        deps = WebhookWorkerDeps(
            directory=directory,
            events=events,
            followed=LogFollower(log, RedisDeliveryCheckpoints(engines.redis.value, CHECKPOINTS)),
            queue=queue,
            sender=event_sender,
            clock=clock,
            failpoints=host.failpoints,
        )
        self.worker = WebhookWorker(deps, self.stats, WorkerOptions(live_s=given.live_s))
        sweeping = SweeperDeps(
            directory=directory,
            switch=EndpointSwitch(endpoints, queue, DynamoDisabledEndpoints(client), clock, directory),
            events=events,
            replays=KafkaReplaySource(kafka_config(settings)),
            queue=queue,
            sender=event_sender,
            clock=clock,
            failpoints=host.failpoints,
        )
        self.sweeper = QueueSweeper(sweeping, self.stats, given.disable_after_h * 3600)


def before_send_component(
    host: ProcessContext,
    engines: EngineComponents,
    accounts: ManagedResource[AccountServices],
    transport: ManagedResource[HttpWebhookTransport],
) -> ManagedResource[BeforeSend]:
    """Build the deciders on content of an edge, lists and hooks: every process that sends messages needs them."""
    stats = BeforeSendStats()
    host.metrics.counter_callbacks(
        "before_send_total",
        "Messages and edits that a before-send hook allowed, changed or refused, and those without an answer.",
        "outcome",
        lambda: {name: getattr(stats, name) for name in BeforeSendStats.__slots__},
    )

    def make() -> BeforeSend:
        hook = BeforeSendHook(
            accounts.value.tenants,
            engines.events.value.directory,
            transport.value,
            encode_content=normalize_content,
            clock=host.clock,
            stats=stats,
        )
        return ContentFilter(accounts.value.tenants, hook)

    return ManagedResource("before_send", lambda: nullcontext(make()))


def transport_component(settings: Settings) -> ManagedResource[HttpWebhookTransport]:
    return ManagedResource("webhook_http", lambda: open_webhook_transport(transport_options(settings)))


def normalize_content(body: bytes) -> bytes | None:
    """Return content of a before-send hook as a message stores it. None: a sender could not send it either."""
    try:
        return sender.encode_content(sender.decode_content(body))
    except (msgspec.DecodeError, UnicodeDecodeError, TidingsError):
        return None


def make_webhook_service(
    client: DynamoClient, keys: KeyRing, clock: Clock, transport: WebhookTransport
) -> WebhookService:
    return WebhookService(
        make_endpoint_store(client, keys),
        DynamoWebhookQueue(client, clock),
        DynamoDeliveryLog(client),
        DynamoDisabledEndpoints(client),
        transport=transport,
        clock=clock,
    )


def make_before_send_service(
    webhooks: WebhookService, client: DynamoClient, keys: KeyRing, clock: Clock
) -> BeforeSendService:
    return BeforeSendService(webhooks, DynamoTenantStore(client, AuthenticatedRows(keys)), clock)


def make_content_rules_service(client: DynamoClient, keys: KeyRing, clock: Clock) -> ContentRulesService:
    return ContentRulesService(DynamoTenantStore(client, AuthenticatedRows(keys)), clock)


@asynccontextmanager
async def open_webhook_service() -> AsyncIterator[tuple[WebhookService, BeforeSendService]]:
    """Open the services for a command."""
    settings, clock = load().settings, SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as keys,
        open_webhook_transport(transport_options(settings)) as transport,
    ):
        webhooks = make_webhook_service(client, keys, clock, transport)
        yield webhooks, make_before_send_service(webhooks, client, keys, clock)
