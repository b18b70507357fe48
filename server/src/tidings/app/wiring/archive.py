"""Wire the archive: the sweeper that moves old messages to the bucket, and the reader of operators."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import NamedTuple

from msgspec.structs import replace

from tidings.accounts.store.users import DynamoUserStore
from tidings.app.settings import Settings
from tidings.app.wiring.chats import build_chat_store
from tidings.app.wiring.engine_clients import (
    EngineComponents,
    make_user_key_ring,
    open_key_ring,
    open_tables,
    read_epoch,
)
from tidings.app.wiring.media import open_bucket
from tidings.app.wiring.search import UserDirectory
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import Epoch
from tidings.media.ports import ObjectStore, SweepLease
from tidings.media.store.sweep_lease import DynamoSweepLease
from tidings.messages.history import ContentState, History, VisibleEntry, content_state
from tidings.messages.store import DynamoLogExpiry, DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.s3.client import S3Client
from tidings.retention.archive.bucket import ArchiveObjects
from tidings.retention.archive.model import ArchiveStats
from tidings.retention.archive.ports import PartFormat
from tidings.retention.archive.reader import ArchivedEntry, ArchiveReader
from tidings.retention.archive.sweeper import ArchiveDeps, ArchiveSweeper
from tidings.retention.store import DynamoRetentionStore
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing

LEASE = "archive_sweep"


def require_archive(settings: Settings) -> None:
    """Raise `settings_invalid` without a bucket, or if the library of the extra `archive` is not installed."""
    if settings.media.endpoint is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "media.endpoint is not set.",
            hint="Name the store of attachments: the archive is in the same bucket.",
        )
    if find_spec("pyarrow") is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "The library that writes Parquet is not installed.",
            hint="Run `pip install 'tidings[archive]'`.",
        )


def parquet_format() -> PartFormat:
    from tidings.retention.archive.parquet import decode_rows, encode_rows  # noqa: PLC0415 - an optional extra

    return PartFormat(encode_rows, decode_rows)


def archive_deps(
    client: DynamoClient,
    keys: UserKeyRing,
    bucket: ObjectStore,
    clock: Clock,
    *,
    epoch: Epoch,
    lease: SweepLease | None = None,
    failpoints: Failpoints = NO_FAILPOINTS,
) -> ArchiveDeps:
    """Return what a sweeper needs. Without `lease`, it sweeps even if another process does."""
    tenants = DynamoTenantStore(client, AuthenticatedRows(keys.tenants))
    return ArchiveDeps(
        store=DynamoRetentionStore(client),
        log=DynamoLogReader(client),
        expiry=DynamoLogExpiry(client),
        tenants=tenants,
        list_tenants=TenantService(tenants, clock).list,
        users=UserDirectory(DynamoUserStore(client, keys.tenants, keys)),
        chats=build_chat_store(client, clock, epoch),
        clock=clock,
        lease=lease,
        failpoints=failpoints,
        objects=ArchiveObjects(bucket, parquet_format(), failpoints),
    )


def build_archive_reader(client: DynamoClient, bucket: ObjectStore) -> ArchiveReader:
    return ArchiveReader(ArchiveObjects(bucket, parquet_format()), DynamoLogReader(client))


class ArchiveView:
    """Shows archived messages to operators, with the keys of users that exist."""

    def __init__(self, client: DynamoClient, keys: UserKeyRing, clock: Clock, epoch: Epoch) -> None:
        intervals = build_chat_store(client, clock, epoch, is_read_only=True).intervals
        self._history = History(DynamoLogReader(client), intervals, keys, clock)
        self._clock = clock

    async def show(self, found: ArchivedEntry) -> VisibleEntry:
        """Return the message with its present state. The content of `archived` ones is that of the archive."""
        state = content_state(found.entry, self._clock.now_ms())
        if state is not ContentState.ARCHIVED:
            return VisibleEntry(found.entry, state, None)
        if found.content is None:
            return VisibleEntry(found.entry, ContentState.UNREADABLE, None)
        whole = replace(found.entry, content=found.content, archived_in=None)
        [shown] = await self._history.show(found.chat, [whole])
        has_content = shown.content is not None
        return VisibleEntry(found.entry, state if has_content else shown.state, shown.content)


def build_process_archive(
    host: ProcessContext, engines: EngineComponents, bucket: ObjectStore
) -> ArchiveSweeper:
    """Build the sweeper of a process, and export what it has done."""
    client = engines.dynamo.value
    lease = DynamoSweepLease(client, host.clock, host.identity.instance, name=LEASE)
    deps = archive_deps(
        client,
        engines.user_keys.value,
        bucket,
        host.clock,
        epoch=engines.epoch,
        lease=lease,
        failpoints=host.failpoints,
    )
    sweeper = ArchiveSweeper(deps)
    host.metrics.counter_callbacks(
        "archive_swept_total",
        "What sweeps of messages to archive did: chats whose position was compared, chats whose log was read, messages whose "
        "content was moved, parts that were stored, chats that failed and are tried again.",
        "what",
        lambda: {name: getattr(sweeper.stats, name) for name in ArchiveStats.__slots__},
    )
    host.metrics.gauge(
        "archive_sweep_age_seconds", "Time since the last sweep of messages to archive was finished."
    ).set_function(lambda: (host.clock.now_ms() - sweeper.finished_at_ms) / 1000)
    return sweeper


class LocalArchive(NamedTuple):
    client: DynamoClient
    keys: UserKeyRing
    bucket: S3Client
    epoch: Epoch


@asynccontextmanager
async def open_local_archive(settings: Settings, clock: Clock) -> AsyncIterator[LocalArchive]:
    """Open what the commands need."""
    require_archive(settings)
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as keys,
        open_bucket(settings) as bucket,
    ):
        if bucket is None:
            raise RuntimeError("media.endpoint was checked")
        user_keys, epoch = make_user_key_ring(settings, client, keys, clock), await read_epoch(client, clock)
        yield LocalArchive(client, user_keys, bucket, epoch)
