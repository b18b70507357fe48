"""Build the services of push notifications."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from tidings.accounts.store.sessions import DynamoSessionStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.api.services import PushServices
from tidings.app.settings import Settings
from tidings.app.settings.push import PushSettings
from tidings.app.wiring.chats import build_chat_lists, build_chat_row_reader
from tidings.app.wiring.inboxes import InboxServices
from tidings.gateway.ports import PushUseCases
from tidings.inboxes.channels.push import HasProviders
from tidings.inboxes.config_service import read_all_pages
from tidings.inboxes.model import InboxId, InboxKey
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import Epoch, TenantId, UserId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.http2.client import Http2Client, Http2Options
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.push.badge import BadgeReader, ReadInboxUnread
from tidings.push.dispatcher import PushDispatcher
from tidings.push.inbox_alerts import InboxAlertSender
from tidings.push.model import PushKind
from tidings.push.ports import PushSender
from tidings.push.preferences import PushPreferencesService
from tidings.push.providers.apns import ApnsSender
from tidings.push.providers.fcm import FcmSender
from tidings.push.providers.signed_http import SignedHttpSender
from tidings.push.providers.web_push import WebPushSender
from tidings.push.providers_cache import PushProviders
from tidings.push.registrations import PushRegistrations
from tidings.push.rules import RetryDelays
from tidings.push.sending import DispatcherDeps, PushStats
from tidings.push.state import PushStateReader
from tidings.push.store.alerts import DynamoAlertStore
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.push.store.results import DynamoResultStore
from tidings.push.store.tasks import KafkaTaskPublisher
from tidings.push.withdrawals import PushWithdrawals
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing
from tidings.webhooks.producer import EventProducer

_HEADERS = {"Accept-Encoding": "identity"}
_MAX_CONNECTIONS = 200
_INBOX_NAMES = CachePolicy(fresh_s=30.0, outage_s=600.0)

type Senders = dict[PushKind, PushSender]


@asynccontextmanager
async def open_senders(settings: Settings, clock: Clock) -> AsyncIterator[Senders]:
    """Open the clients of all kinds of providers. Tenants choose some of the addresses; those are checked."""
    wanted = settings.push
    network = NetworkPolicy(wanted.network)
    # The addresses of Apple and Google come from the settings of the operator, who may use a proxy in their network.
    own = Http2Client(Http2Options(network=NetworkPolicy.LOCAL, timeout_s=wanted.timeout_s))
    chosen = Http2Client(Http2Options(network=network, timeout_s=wanted.timeout_s))
    async with open_guarded_session(
        network,
        max_connections=_MAX_CONNECTIONS,
        timeout_s=wanted.timeout_s,
        headers=_HEADERS,
        keeps_connections=True,
    ) as session:
        try:
            yield {
                PushKind.APNS: ApnsSender(
                    own, clock, {"production": wanted.apns_url, "sandbox": wanted.apns_sandbox_url}
                ),
                PushKind.WEB_PUSH: WebPushSender(chosen, session, network, clock),
                PushKind.FCM: FcmSender(own, session, clock, wanted.fcm_url),
                PushKind.HTTP: SignedHttpSender(session, network, clock),
            }
        finally:
            await own.close()
            await chosen.close()


def make_inbox_unread(inboxes: InboxServices, clock: Clock) -> ReadInboxUnread:
    async def names(tenant: TenantId) -> tuple[InboxId, ...]:
        return tuple(each.id for each in await read_all_pages(inboxes.inboxes.listed, tenant))

    known: Cache[TenantId, tuple[InboxId, ...]] = Cache(names, clock, _INBOX_NAMES)

    async def unread(tenant: TenantId, user: UserId) -> int:
        keys = [InboxKey(tenant, user, inbox) for inbox in await known.get(tenant) or ()]
        return sum(each.total for each in await gather_limited(inboxes.queries.counts(key) for key in keys))

    return unread


def build_badge(
    client: DynamoClient, keys: UserKeyRing, clock: Clock, inboxes: InboxServices, *, epoch: Epoch
) -> BadgeReader:
    lists = build_chat_lists(client, keys, clock, epoch=epoch)
    return BadgeReader(
        lists.chat_list.unread_totals, make_inbox_unread(inboxes, clock), _tenants(client, keys, clock)
    )


def _tenants(client: DynamoClient, keys: UserKeyRing, clock: Clock) -> TenantReader:
    return TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys.tenants)), clock)


def build_push_services(
    wanted: PushSettings,
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    inboxes: InboxServices,
    *,
    epoch: Epoch,
) -> PushServices:
    """Build the services of the REST API."""
    store, network = DynamoRegistrationStore(client, keys.tenants), NetworkPolicy(wanted.network)
    return PushServices(
        registrations=PushRegistrations(store, clock, network),
        preferences=PushPreferencesService(DynamoAlertStore(client), clock),
        providers=PushProviders(DynamoProviderStore(client, keys.tenants), clock),
        results=DynamoResultStore(client),
        badge=build_badge(client, keys, clock, inboxes, epoch=epoch),
    )


def build_push_cases(
    wanted: PushSettings,
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    inboxes: InboxServices,
    *,
    epoch: Epoch,
) -> PushUseCases:
    """Build the services of a gateway."""
    services = build_push_services(wanted, client, keys, clock, inboxes, epoch=epoch)
    return PushUseCases(services.registrations, services.preferences, services.providers, services.badge)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushWiring:
    """Everything that the dispatcher needs of its process."""

    client: DynamoClient
    keys: UserKeyRing
    clock: Clock
    publisher: KafkaPublisher
    senders: Senders
    inboxes: InboxServices
    failpoints: Failpoints
    events: EventProducer
    epoch: Epoch
    delays: RetryDelays


def make_has_providers(client: DynamoClient, keys: KeyRing, clock: Clock) -> HasProviders:
    providers = PushProviders(DynamoProviderStore(client, keys), clock)

    async def has_providers(tenant: TenantId) -> bool:
        return bool(await providers.of(tenant))

    return has_providers


class PushHandlers(NamedTuple):
    dispatcher: PushDispatcher
    withdrawals: PushWithdrawals
    alerts: InboxAlertSender


def build_handlers(given: PushWiring, stats: PushStats) -> PushHandlers:
    client, keys, clock = given.client, given.keys, given.clock
    registrations = DynamoRegistrationStore(client, keys.tenants)
    alerts, users = DynamoAlertStore(client), DynamoUserStore(client, keys.tenants, keys)
    state = PushStateReader(
        rows=build_chat_row_reader(client, given.epoch),
        log=DynamoLogReader(client),
        users=users,
        registrations=registrations,
        alerts=alerts,
        sessions=DynamoSessionStore(client, AuthenticatedRows(keys.tenants)),
        clock=clock,
    )
    deps = DispatcherDeps(
        state=state,
        registrations=registrations,
        alerts=alerts,
        results=DynamoResultStore(client),
        providers=PushProviders(DynamoProviderStore(client, keys.tenants), clock),
        senders=given.senders,
        users=users,
        tenants=_tenants(client, keys, clock),
        tasks=KafkaTaskPublisher(given.publisher, given.delays),
        badge=build_badge(client, keys, clock, given.inboxes, epoch=given.epoch).total,
        clock=clock,
        failpoints=given.failpoints,
        on_finished=given.events.push_finished,
        delays=given.delays,
    )
    dispatcher = PushDispatcher(deps, stats)
    return PushHandlers(
        dispatcher, PushWithdrawals(deps, stats), InboxAlertSender(deps, stats, dispatcher.outages)
    )
