"""Wire exports: what a user can read, on the tables and the bucket of the installation, and the jobs that export it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tidings.accounts.sessions import SessionService
from tidings.accounts.store.users import DynamoUserReader, DynamoUserStore
from tidings.accounts.users import PARTS, UserService
from tidings.api.user_data import UserDataDeps, UserDataReader
from tidings.app.settings import Settings
from tidings.app.wiring.accounts import build_login_services, build_process_login
from tidings.app.wiring.chats import build_chat_lists, build_chat_store
from tidings.app.wiring.engine_clients import (
    EngineComponents,
    key_policy,
    make_kms,
    make_user_key_ring,
    open_key_ring,
    open_tables,
    read_epoch,
    read_existing_tenant,
)
from tidings.app.wiring.inboxes import InboxServices, build_inboxes
from tidings.app.wiring.media import build_media_service, media_options, open_bucket
from tidings.app.wiring.webhook_events import make_event_producer
from tidings.chats.queries import ChatQueries
from tidings.chats.store import DynamoInviteStore
from tidings.erasure.store import DynamoErasureStore
from tidings.exports.exporter import Exporter
from tidings.exports.service import ExportService
from tidings.exports.store.exports import DynamoExportStore
from tidings.exports.store.local_parts import LocalPartStore, open_local_parts
from tidings.exports.worker import ExportWorker
from tidings.imports.store.export_directory import open_export_directory
from tidings.imports.tenant_export import TenantExportDeps, TenantExporter
from tidings.jobs.chunk_topic import KafkaChunkPublisher
from tidings.jobs.ports import JobStarter
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import Epoch, TenantId, UserId, initial_epoch
from tidings.media.ports import ObjectStore
from tidings.media.rules import disposition, sanitize_name
from tidings.media.service import MediaOptions, MediaService
from tidings.media.store.uploads import DynamoUploadStore
from tidings.messages.history import History
from tidings.messages.store import DynamoEditStore, DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.s3.client import S3Client
from tidings.push.preferences import PushPreferencesService
from tidings.push.registrations import PushRegistrations
from tidings.push.store.alerts import DynamoAlertStore
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoKeyStore, DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing


class _NoChunks:
    """An export reads. It starts no job."""

    def publish(self, refs: object) -> None:
        raise AssertionError(f"an export published {refs}")


class _NoTasks:
    """An export reads. It gives the media worker no task."""

    async def publish(self, task: object) -> None:
        raise AssertionError(f"an export published {task}")

    def publish_soon(self, task: object) -> None:
        raise AssertionError(f"an export published {task}")


def build_user_data(
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    *,
    users: UserService,
    sessions: SessionService,
    inboxes: InboxServices,
    media: MediaService | None,
    epoch: Epoch,
) -> UserDataReader:
    """Build the reader. `media` is None without a bucket."""
    rows = build_chat_store(client, clock, epoch)
    history = History(DynamoLogReader(client), rows.intervals, keys, clock)
    lists = build_chat_lists(client, keys, clock, epoch=epoch)
    return UserDataReader(
        UserDataDeps(
            users=users,
            sessions=sessions,
            registrations=PushRegistrations(DynamoRegistrationStore(client, keys.tenants), clock),
            push_preferences=PushPreferencesService(DynamoAlertStore(client), clock),
            list_chats=rows.chats_of,
            chats=rows,
            invites=DynamoInviteStore(client),
            queries=ChatQueries(rows, clock),
            chat_list=lists.chat_list,
            statuses=lists.statuses,
            history=history,
            inboxes=inboxes.inboxes,
            known_inboxes=inboxes.configs,
            notifications=inboxes.queries,
            preferences=inboxes.preferences,
            media=media,
        )
    )


def _build_media(
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    objects: ObjectStore,
    options: MediaOptions,
    *,
    epoch: Epoch,
) -> MediaService:
    rows = build_chat_store(client, clock, epoch)
    return build_media_service(
        client,
        objects,
        clock,
        rows=rows,
        history=History(DynamoLogReader(client), rows.intervals, keys, clock),
        tasks=_NoTasks(),
        tenants=TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys.tenants)), clock),
        options=options,
    )


class LocalExport(NamedTuple):
    exporter: Exporter
    parts: LocalPartStore


@asynccontextmanager
async def open_local_export(
    settings: Settings,
    client: DynamoClient,
    clock: Clock,
    directory: Path,
    failpoints: Failpoints = NO_FAILPOINTS,
) -> AsyncIterator[LocalExport]:
    """Open an export whose parts are in a directory, for a command."""
    epoch = await read_epoch(client, clock)
    async with open_bucket(settings) as objects, make_kms(settings) as kms:
        ring = KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))
        keys = make_user_key_ring(settings, client, ring, clock)
        events = make_event_producer(client, ring, clock)
        login = build_login_services(settings, client, clock, kms, keys, events=events)
        options = media_options(settings)
        media = None if objects is None else _build_media(client, keys, clock, objects, options, epoch=epoch)
        data = build_user_data(
            client,
            keys,
            clock,
            users=login.users,
            sessions=login.sessions,
            inboxes=build_inboxes(client, ring, clock, _NoChunks()),
            media=media,
            epoch=epoch,
        )
        with open_local_parts(directory) as parts:
            yield LocalExport(Exporter(data, parts, objects, clock, failpoints), parts)


def build_export_service(
    client: DynamoClient,
    jobs: JobStarter,
    objects: ObjectStore,
    clock: Clock,
    url_life_s: int,
) -> ExportService:
    # The store is only asked whether the user has a row.
    users, chats = DynamoUserReader(client), build_chat_store(client, clock, initial_epoch)
    erasures = DynamoErasureStore(client)

    async def is_exportable(tenant: TenantId, user: UserId) -> bool:
        found = await users.confirm(tenant, user)
        erasure = await erasures.read(tenant, user)
        if (found is not None and found.is_erased) or (erasure is not None and erasure.may_run):
            return False
        return found is not None or bool(await chats.chats_of(tenant, user, None, 1))

    return ExportService(
        DynamoExportStore(client),
        is_exportable,
        jobs,
        objects,
        clock,
        download_header=partial(disposition, is_inline=False),
        url_life_s=url_life_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWiring:
    """Everything that the worker needs from its process."""

    settings: Settings
    host: ProcessContext
    engines: EngineComponents
    publisher: KafkaPublisher
    inboxes: InboxServices
    s3: S3Client

    def worker(self) -> ExportWorker:
        return ExportWorker(
            DynamoExportStore(self.engines.dynamo.value),
            self.s3,
            self._open_data,
            jobs=self.inboxes.job_store,
            chunks=KafkaChunkPublisher(self.publisher),
            clock=self.host.clock,
            failpoints=self.host.failpoints,
        )

    def _open_data(self) -> UserDataReader:
        client, keys, clock = self.engines.dynamo.value, self.engines.user_keys.value, self.host.clock
        login = build_process_login(self.settings, self.engines, clock)
        return build_user_data(
            client,
            keys,
            clock,
            users=login.users,
            sessions=login.sessions,
            inboxes=self.inboxes,
            media=_build_media(
                client, keys, clock, self.s3, media_options(self.settings), epoch=self.engines.epoch
            ),
            epoch=self.engines.epoch,
        )


@asynccontextmanager
async def open_tenant_export(
    settings: Settings,
    directory: Path,
    tenant: TenantId,
    on_progress: Callable[[TenantExporter], None],
    failpoints: Failpoints = NO_FAILPOINTS,
) -> AsyncIterator[TenantExporter]:
    """Open the export of a tenant to a directory. It is complete when the block ends without an error."""
    clock = SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as ring,
        open_bucket(settings) as objects,
    ):
        await read_existing_tenant(client, ring, tenant)
        keys = make_user_key_ring(settings, client, ring, clock)
        epoch = await read_epoch(client, clock)
        deps = build_tenant_export(
            client, ring, keys, clock, objects=objects, epoch=epoch, failpoints=failpoints
        )
        with open_export_directory(directory) as target:
            exporter = TenantExporter(deps, target, target.load(tenant), lambda: on_progress(exporter))
            yield exporter
            target.finish()


def build_tenant_export(
    client: DynamoClient,
    ring: KeyRing,
    keys: UserKeyRing,
    clock: Clock,
    *,
    objects: ObjectStore | None,
    epoch: Epoch,
    failpoints: Failpoints = NO_FAILPOINTS,
) -> TenantExportDeps:
    rows, log = build_chat_store(client, clock, epoch), DynamoLogReader(client)
    return TenantExportDeps(
        users=DynamoUserStore(client, ring, keys),
        parts=PARTS,
        chats=rows,
        log=log,
        texts=History(log, rows.intervals, keys, clock),
        reactions=DynamoEditStore(client).reactions,
        uploads=None if objects is None else DynamoUploadStore(client),
        objects=objects,
        sanitize_name=sanitize_name,
        failpoints=failpoints,
    )
