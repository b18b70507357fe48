"""Build the services of previews of links."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.app.settings import Settings
from tidings.app.wiring.chats import ChatServices
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.kernel.clock import Clock
from tidings.kernel.ids import ChatKey, UserId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.media.link_previews import LinkFetcher, LinkPreviewService, LinkPreviewWorker, ReadText
from tidings.media.store.links import HEADERS, TIMEOUT_S, GuardedLinkFetcher, RedisLinkCache
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.messages.history import History
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.guarded_http import open_guarded_session
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import ManagedResource
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore

_MAX_PAGES = 16
"""Pages that are fetched at the same time."""


def read_text(history: History) -> ReadText:
    async def read(chat: ChatKey, user: UserId, sequence: int) -> str:
        shown = await history.one(chat, user, sequence)
        return "" if shown.content is None else shown.content.text

    return read


def api_link_previews(
    engines: EngineComponents, clock: Clock, *, cases: ChatServices, publisher: KafkaPublisher
) -> LinkPreviewService:
    return LinkPreviewService(
        RedisLinkCache(engines.redis.value),
        KafkaMediaTasks(publisher),
        _tenants(engines, clock),
        read_text(cases.history),
    )


def link_preview_worker(engines: EngineComponents, clock: Clock, fetcher: LinkFetcher) -> LinkPreviewWorker:
    return LinkPreviewWorker(RedisLinkCache(engines.redis.value), fetcher, _tenants(engines, clock))


def _tenants(engines: EngineComponents, clock: Clock) -> TenantReader:
    rows = AuthenticatedRows(engines.keys.value)
    return TenantReader(DynamoTenantStore(engines.dynamo.value, rows), clock)


def link_fetcher_component(settings: Settings) -> ManagedResource[LinkFetcher]:
    """Return the client of pages that messages link to. Users choose them, so they are never in a private network."""
    network = NetworkPolicy.LOCAL if settings.installation == "development" else NetworkPolicy.PUBLIC
    return ManagedResource("link previews", lambda: _open_fetcher(network))


@asynccontextmanager
async def _open_fetcher(network: NetworkPolicy) -> AsyncIterator[LinkFetcher]:
    async with open_guarded_session(
        network, max_connections=_MAX_PAGES, timeout_s=TIMEOUT_S, headers=HEADERS, keeps_connections=False
    ) as session:
        yield GuardedLinkFetcher(session, network)
