"""Wire webhooks: the worker, the sweeper of queues, and the service for REST and commands."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import open_tables
from tidings.app.wiring.engine_clients import EngineComponents, open_key_ring
from tidings.app.wiring.options import kafka_config
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.ids import ChatKey, UserId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.messages.entry_json import entry_fields
from tidings.messages.history import History
from tidings.messages.model import Entry, Interval
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.lifecycle.run import ProcessContext
from tidings.tenants.key_ring import KeyRing
from tidings.webhooks.endpoints import EndpointDirectory, EndpointSwitch
from tidings.webhooks.events import LogEvents
from tidings.webhooks.ports import WebhookTransport
from tidings.webhooks.sender import DeliveryRecorder, EventSender, SendOptions, WebhookStats
from tidings.webhooks.service import WebhookService
from tidings.webhooks.store import (
    DynamoDeliveryLog,
    DynamoDisabledEndpoints,
    DynamoEndpointStore,
    DynamoWebhookQueue,
)
from tidings.webhooks.store.http import TransportOptions, open_webhook_transport
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


def make_endpoint_store(client: DynamoClient, keys: KeyRing) -> DynamoEndpointStore:
    return DynamoEndpointStore(client, keys, AuthenticatedRows(keys))


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
        sender = EventSender(transport, self.recorder, clock, self.stats, options)
        directory, events = EndpointDirectory(endpoints, clock), LogEvents(log, view)
        deps = WebhookWorkerDeps(
            directory=directory,
            events=events,
            log=log,
            queue=queue,
            sender=sender,
            checkpoints=RedisDeliveryCheckpoints(engines.redis.value, CHECKPOINTS),
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
            sender=sender,
            clock=clock,
            failpoints=host.failpoints,
        )
        self.sweeper = QueueSweeper(sweeping, self.stats, given.disable_after_h * 3600)


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


@asynccontextmanager
async def open_webhook_service() -> AsyncIterator[WebhookService]:
    """Open the service for a command."""
    settings, clock = load().settings, SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as keys,
        open_webhook_transport(transport_options(settings)) as transport,
    ):
        yield make_webhook_service(client, keys, clock, transport)
