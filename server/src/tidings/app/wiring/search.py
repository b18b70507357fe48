"""Wire search: the index of the installation, the indexer, the rebuild, and the search for REST."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Final, NamedTuple

from tidings.accounts.ports import UserStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import PARTS
from tidings.app.settings import Settings
from tidings.app.wiring.accounts import AccountServices
from tidings.app.wiring.chats import build_chat_row_reader, build_chat_store
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.chats.queries import DirectChatCache
from tidings.delivery.log_follower import LogFollower
from tidings.delivery.model import ChatRow
from tidings.delivery.ports import ChatRowReader
from tidings.delivery.store.checkpoints import RedisDeliveryCheckpoints
from tidings.jobs.service import JobService
from tidings.jobs.store import DynamoJobStore
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.history import ContentState, History, VisibleEntry
from tidings.messages.model import Entry, EntryKind, Interval
from tidings.messages.ports import ReadIntervals
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.lifecycle.component import ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.retention.store import DynamoRetentionStore
from tidings.search.chat_indexer import ChatIndexer
from tidings.search.erasure import IndexErasure
from tidings.search.indexer import IndexerDeps, IndexerStats, MessageIndexer
from tidings.search.model import MessageText, ReadableChats, ReadableMessage
from tidings.search.ports import SearchIndex, SearchReader
from tidings.search.query import MessageSearch
from tidings.search.rebuild import SETTINGS_S, RebuildWorker, SearchRebuild
from tidings.search.store.opensearch import OpenSearchOptions, open_opensearch
from tidings.search.sweeper import IndexSweeper
from tidings.search.switch import SearchSwitch
from tidings.tenants.settings import TenantReader, TenantService
from tidings.tenants.store import DynamoTenantStore

CHECKPOINTS = "search"
_DIRECTORY_PAGE: Final = 1_000
_CACHED_USERS: Final = 500
_CACHED_INTERVALS: Final = 10_000
_PAST_INTERVALS_S: Final = 3_600.0
_MAX_CONCURRENT_ROWS: Final = 16
_WHOLE: Final = (Interval(0),)
"""Shared by all users who are in a chat since its first entry, to save memory."""


class SearchableHistory:
    """Messages of the history, with the text that is indexed and compared."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def show(self, chat: ChatKey, entries: Sequence[Entry], /) -> Sequence[MessageText]:
        return [message_text(shown) for shown in await self._history.show(chat, entries)]

    async def now(self, chat: ChatKey, sequences: Collection[int], /) -> Mapping[int, MessageText]:
        found = await self._history.now(chat, sequences)
        return {sequence: message_text(shown) for sequence, shown in found.items()}

    async def intervals_at(self, chat: ChatKey, user: UserId, sequence: int, /) -> Sequence[Interval]:
        return await self._history.intervals_at(chat, user, sequence)

    async def readable(
        self, chat: ChatKey, sequences: Collection[int], /
    ) -> Mapping[int, ReadableMessage[VisibleEntry]]:
        found = await self._history.now(chat, sequences)
        return {n: ReadableMessage(message_text(shown), shown) for n, shown in found.items()}


def message_text(shown: VisibleEntry) -> MessageText:
    is_message = shown.entry.kind is EntryKind.MESSAGE and shown.state is ContentState.ACTIVE
    return MessageText(shown.entry, shown.content.text if is_message and shown.content is not None else None)


class ChatsFromRows:
    """The chats of a user, from their chat rows. A user who left a chat keeps the row, and may read what they received."""

    def __init__(self, rows: ChatRowReader) -> None:
        self._rows = rows

    async def chats_of(self, tenant: TenantId, user: UserId, /) -> Collection[ChatId]:
        return {row.chat for row in await self._rows.rows(tenant, user)}


class RowInterval(NamedTuple):
    """The part of a membership that a chat row has: the sequences of the last join and the last leave."""

    chat: ChatKey
    user: UserId
    joined: int | None
    removed: int | None


class CachedReadableChats:
    """What users who search may read, for some seconds: a user searches several times, and reading it costs as much as
    all their chat rows. It only narrows a search, so an old answer can miss a new chat and cannot show too much.

    A chat row has the last interval of the user. It is the only one if the user never left, so only the memberships of
    chats that the user has left are read, and again when the row changes.
    """

    def __init__(
        self, rows: ChatRowReader, intervals: ReadIntervals, clock: Clock, fresh_s: float = 10.0
    ) -> None:
        self._rows = rows
        self._intervals = intervals
        self._chats = Cache(self._load, clock, CachePolicy(fresh_s=fresh_s, count=_CACHED_USERS))
        past = CachePolicy(fresh_s=_PAST_INTERVALS_S, count=_CACHED_INTERVALS)
        self._past = Cache(self._load_past, clock, past)

    async def find(self, tenant: TenantId, user: UserId, chat: ChatId | None, /) -> ReadableChats:
        return await self._chats.get((tenant, user, chat)) or {}

    def forget(self, tenant: TenantId, user: UserId, chat: ChatId, /) -> None:
        self._chats.evict((tenant, user, chat))
        self._chats.evict((tenant, user, None))

    async def _load(self, key: tuple[TenantId, UserId, ChatId | None]) -> ReadableChats | None:
        tenant, user, chat = key
        if chat is not None:
            intervals = await self._intervals(ChatKey(tenant, chat), user)
            return {chat: intervals} if intervals else None
        rows = sorted(await self._rows.rows(tenant, user), key=lambda row: row.chat)
        found = await gather_limited((self._of_row(tenant, user, row) for row in rows), _MAX_CONCURRENT_ROWS)
        return {row.chat: intervals for row, intervals in zip(rows, found, strict=True) if intervals}

    async def _of_row(self, tenant: TenantId, user: UserId, row: ChatRow) -> Sequence[Interval]:
        joined, removed = row.known.joined, row.known.removed
        if joined is not None and removed is None:
            return _WHOLE if joined.sequence == 1 else (Interval(joined.sequence - 1),)
        last_join = None if joined is None else joined.sequence
        return await self._past.get(RowInterval(ChatKey(tenant, row.chat), user, last_join, removed)) or ()

    async def _load_past(self, row: RowInterval) -> Sequence[Interval] | None:
        return await self._intervals(row.chat, row.user) or None


class UserDirectory:
    """The users of a tenant, by part of the directory."""

    parts = PARTS

    def __init__(self, users: UserStore) -> None:
        self._users = users

    async def users_in(self, tenant: TenantId, part: int, /) -> Sequence[UserId]:
        found: list[UserId] = []
        while True:
            page = await self._users.directory(
                tenant, part, below=found[-1] if found else None, limit=_DIRECTORY_PAGE
            )
            found += page.users
            if not page.has_more or not page.users:
                return found


def search_engine(settings: Settings) -> str:
    """Check that the engine is installed or configured. Raises `ValueError`."""
    if settings.search.engine == "opensearch":
        opensearch_options(settings)
    if settings.search.engine == "tantivy" and find_spec("tantivy") is None:
        raise ValueError("search.engine: `tantivy` is not installed; run `pip install 'tidings[search]'`")
    return settings.search.engine


def opensearch_options(settings: Settings) -> OpenSearchOptions:
    """Return the options of OpenSearch. Raises `ValueError`."""
    wanted = settings.search
    if wanted.url is None:
        raise ValueError("search.url: is not set; name the OpenSearch of `search.engine`")
    if (wanted.username is None) != (wanted.password is None):
        raise ValueError("search.username, search.password: set both or none")
    return OpenSearchOptions(
        url=wanted.url,
        username=wanted.username,
        password=wanted.password,
        prefix=wanted.index_prefix,
        shards=wanted.shards,
    )


def required_engine(settings: Settings) -> str:
    """Check that the installation has an index. Raises `ValueError`."""
    if settings.search.engine == "none":
        raise ValueError("search.engine: is `none`; set `tantivy` or `opensearch`")
    return settings.search.engine


def search_component(
    settings: Settings,
    host: ProcessContext,
    engines: EngineComponents,
    accounts: ManagedResource[AccountServices],
) -> ManagedResource[MessageSearch[VisibleEntry]]:
    """Build the search of an API process."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[MessageSearch[VisibleEntry]]:
        client, clock = engines.dynamo.value, host.clock
        intervals = DirectChatCache(build_chat_store(client, clock, engines.epoch), clock=clock).intervals
        history = History(DynamoLogReader(client), intervals, engines.user_keys.value, clock)
        rows = build_chat_row_reader(client, engines.epoch)
        async with open_reader(settings, clock) as index:
            chats = CachedReadableChats(rows, intervals, clock)
            yield MessageSearch(index, SearchableHistory(history), chats, accounts.value.tenants, clock)

    return ManagedResource("search", opened)


@asynccontextmanager
async def open_reader(settings: Settings, clock: Clock) -> AsyncIterator[SearchReader | None]:
    """Open the index for searches. None in an installation without search."""
    if settings.search.engine == "none":
        yield None
    elif settings.search.engine == "opensearch":
        async with open_opensearch(opensearch_options(settings), clock) as index:
            yield index
    else:
        from tidings.search.store.tantivy import TantivySearchReader  # noqa: PLC0415 - an optional package

        yield TantivySearchReader(settings.search.directory)


@asynccontextmanager
async def open_index(settings: Settings, clock: Clock) -> AsyncIterator[SearchIndex]:
    """Open the index for the indexer."""
    if settings.search.engine == "opensearch":
        async with open_opensearch(opensearch_options(settings), clock) as opened:
            yield opened
        return
    from tidings.search.store.tantivy import TantivySearchIndex  # noqa: PLC0415 - an optional package

    index = TantivySearchIndex(settings.search.directory)
    try:
        yield index
    finally:
        await index.close()


def build_search_switch(
    settings: Settings, client: DynamoClient, tenants: TenantService, clock: Clock
) -> SearchSwitch:
    store = DynamoJobStore(client, clock, settings.inboxes.job_retention_days)
    jobs = JobService(store, UnpublishedChunks(), clock)
    return SearchSwitch(tenants, SearchRebuild(jobs, PARTS, clock))


class UnpublishedChunks:
    """For a process without Kafka: the job sweeper publishes the chunks of its jobs, some seconds later."""

    def publish(self, refs: object) -> None:
        del refs


async def _no_intervals(_chat: ChatKey, _user: UserId) -> Sequence[Interval]:
    """Return none: the indexer reads for the tenant, not for a member."""
    return ()


class SearchWorkerParts:
    """The parts of a search process, which share the index."""

    def __init__(
        self, settings: Settings, host: ProcessContext, engines: EngineComponents, index: SearchIndex
    ) -> None:
        client, clock, keys = engines.dynamo.value, host.clock, engines.keys.value
        log = DynamoLogReader(client)
        texts = SearchableHistory(History(log, _no_intervals, engines.user_keys.value, clock))
        store = DynamoTenantStore(client, AuthenticatedRows(keys))
        tenants = TenantReader(store, clock, CachePolicy(fresh_s=SETTINGS_S, outage_s=600.0))
        chats = ChatIndexer(log, texts, index, host.failpoints)
        self.stats = IndexerStats()
        self.indexer = MessageIndexer(
            IndexerDeps(
                tenants=tenants,
                texts=texts,
                followed=LogFollower(log, RedisDeliveryCheckpoints(engines.redis.value, CHECKPOINTS)),
                index=index,
                chats=chats,
                clock=clock,
                failpoints=host.failpoints,
            ),
            self.stats,
        )
        self.rebuild = RebuildWorker(
            DynamoJobStore(client, clock, settings.inboxes.job_retention_days),
            UserDirectory(DynamoUserStore(client, keys, engines.user_keys.value)),
            ChatsFromRows(build_chat_row_reader(client, engines.epoch)),
            indexer=chats,
            erasure=IndexErasure(index, host.failpoints),
            tenants=tenants,
            clock=clock,
            failpoints=host.failpoints,
        )
        self.sweeper = IndexSweeper(index, store, DynamoRetentionStore(client), clock)
