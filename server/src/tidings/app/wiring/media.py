"""Build the services of attachments."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec

from tidings.app.settings import Settings
from tidings.app.wiring.chats import ChatServices
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.chats.rules import ChatAction, check_permission
from tidings.chats.store import DynamoChatStore
from tidings.delivery.ports import DeleteUploads
from tidings.exports.bucket import ExportObjects
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.media.attachments import UploadCheck
from tidings.media.model import MediaTask
from tidings.media.ports import FileScanner, MediaTaskPublisher, ObjectStore, ReadAttachments, SweepLease
from tidings.media.sandbox import run_decoder
from tidings.media.service import MediaDeps, MediaOptions, MediaService
from tidings.media.store.clamd import ClamdScanner
from tidings.media.store.sweep_lease import DynamoSweepLease
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.media.store.uploads import DynamoUploadStore
from tidings.media.sweeper import IsErased, MediaSweeper, SweeperDeps
from tidings.media.worker import MediaStats, MediaWorker, MediaWorkerDeps, StripsMetadata
from tidings.messages.history import History
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.credentials import AWS, AwsKeys
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import ManagedResource
from tidings.platform.lifecycle.run import ProcessContext
from tidings.platform.s3.client import S3Client, S3Options, open_s3
from tidings.platform.telemetry import logs
from tidings.tenants.key_ring import KeyRing
from tidings.tenants.model import TenantLookup
from tidings.tenants.settings import TenantReader, TenantService
from tidings.tenants.store import DynamoTenantStore, DynamoUserKeyStore

log = logs.get_logger(__name__)


def s3_options(settings: Settings) -> S3Options | None:
    """Return where the bucket is, or None without attachments. Raises `ValueError`, which names the setting."""
    wanted = settings.media
    if wanted.endpoint is None:
        return None
    if (wanted.access_key is None) != (wanted.secret_key is None):
        raise ValueError("media.access_key and media.secret_key: set both or none")
    if wanted.access_key is None and wanted.endpoint != AWS:
        raise ValueError("media.access_key: is not set; only `aws` finds credentials elsewhere")
    keys = None
    if wanted.access_key is not None and wanted.secret_key is not None:
        keys = AwsKeys(wanted.access_key, wanted.secret_key)
    return S3Options(
        endpoint=wanted.endpoint,
        public_endpoint=wanted.public_endpoint,
        region=wanted.region,
        bucket=wanted.bucket,
        keys=keys,
    )


def s3_component(settings: Settings) -> ManagedResource[S3Client | None]:
    return ManagedResource("s3", lambda: open_bucket(settings))


@asynccontextmanager
async def open_bucket(settings: Settings) -> AsyncIterator[S3Client | None]:
    """Open the bucket of the installation; None without attachments."""
    options = s3_options(settings)
    if options is None:
        yield None
        return
    async with open_s3(options) as client:
        yield client


def upload_check(settings: Settings, client: DynamoClient) -> UploadCheck | None:
    """Return the check of messages with attachments, or None without attachments."""
    return None if settings.media.endpoint is None else UploadCheck(DynamoUploadStore(client))


def media_options(settings: Settings) -> MediaOptions:
    wanted = settings.media
    return MediaOptions(
        url_life_s=wanted.url_life_s, upload_life_s=wanted.upload_life_s, has_scanner=wanted.clamd is not None
    )


def read_attachments(history: History) -> ReadAttachments:
    async def read(chat: ChatKey, user: UserId, sequence: int) -> Sequence[str]:
        shown = await history.one(chat, user, sequence)
        return shown.attachments

    return read


def build_media_service(
    client: DynamoClient,
    objects: ObjectStore,
    clock: Clock,
    *,
    rows: DynamoChatStore,
    history: History,
    tasks: MediaTaskPublisher,
    tenants: TenantLookup,
    options: MediaOptions,
    failpoints: Failpoints = NO_FAILPOINTS,
) -> MediaService:
    """Build the service of the REST API."""

    async def may_send(chat: ChatKey, user: UserId) -> Code | None:
        return check_permission(ChatAction.SEND, await rows.member_status(chat, user), None)

    return MediaService(
        MediaDeps(
            uploads=DynamoUploadStore(client),
            objects=objects,
            tasks=tasks,
            tenants=tenants,
            may_send=may_send,
            attachments=read_attachments(history),
            clock=clock,
            options=options,
            failpoints=failpoints,
        )
    )


def api_media(
    settings: Settings,
    engines: EngineComponents,
    host: ProcessContext,
    *,
    cases: ChatServices,
    publisher: KafkaPublisher,
    s3: S3Client,
) -> MediaService:
    client, keys = engines.dynamo.value, engines.keys.value
    return build_media_service(
        client,
        s3,
        host.clock,
        rows=cases.rows,
        history=cases.history,
        tasks=KafkaMediaTasks(publisher),
        tenants=TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys)), host.clock),
        options=media_options(settings),
        failpoints=host.failpoints,
    )


def has_decoder() -> bool:
    """Return whether the libraries of the extra `media` are installed."""
    return find_spec("PIL") is not None and find_spec("tinytag") is not None


def require_decoder() -> None:
    """Raise `settings_invalid` if the libraries of the extra `media` are not installed."""
    if not has_decoder():
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "The libraries that decode files are not installed.",
            hint="Run `pip install 'tidings[media]'`.",
        )


class MediaWorkerParts:
    """The worker and the sweeper of a process."""

    def __init__(
        self,
        settings: Settings,
        host: ProcessContext,
        engines: EngineComponents,
        publisher: KafkaPublisher,
        s3: S3Client,
    ) -> None:
        client, keys = engines.dynamo.value, engines.keys.value
        self.worker, self.sweeper = build_sweeper(
            client,
            keys,
            s3,
            KafkaMediaTasks(publisher),
            clock=host.clock,
            interval_s=settings.media.sweep_interval_s,
            scanner=_scanner(settings),
            lease=DynamoSweepLease(client, host.clock, host.identity.instance),
            failpoints=host.failpoints,
        )


def _scanner(settings: Settings) -> FileScanner | None:
    wanted = settings.media
    return None if wanted.clamd is None else ClamdScanner(wanted.clamd, max_mb=wanted.clamd_max_mb)


def build_sweeper(
    client: DynamoClient,
    keys: KeyRing,
    s3: S3Client,
    tasks: MediaTaskPublisher,
    *,
    clock: Clock,
    interval_s: float,
    scanner: FileScanner | None = None,
    lease: SweepLease | None = None,
    failpoints: Failpoints = NO_FAILPOINTS,
) -> tuple[MediaWorker, MediaSweeper]:
    """Build the worker and the sweeper. Without `lease`, it sweeps even if another process does."""
    uploads, tenants = DynamoUploadStore(client), DynamoTenantStore(client, AuthenticatedRows(keys))
    given = MediaWorkerDeps(
        uploads=uploads,
        objects=s3,
        decode=run_decoder,
        strips_metadata=_strips_metadata(TenantReader(tenants, clock)),
        scanner=scanner,
        failpoints=failpoints,
    )
    worker = MediaWorker(given, MediaStats())
    deps = SweeperDeps(
        uploads=uploads,
        objects=s3,
        tasks=tasks,
        worker=worker,
        clock=clock,
        list_tenants=TenantService(tenants, clock).list,
        is_erased=(is_erased := _is_erased(DynamoUserKeyStore(client))),
        sweep_exports=lambda tenant: ExportObjects(s3).sweep(tenant, clock.now_ms(), is_erased),
        on_error=_report,
        lease=lease,
        failpoints=failpoints,
    )
    return worker, MediaSweeper(deps, interval_s=interval_s)


def _is_erased(user_keys: DynamoUserKeyStore) -> IsErased:
    async def is_erased(tenant: TenantId, user: UserId) -> bool:
        rows = await user_keys.read(tenant, [user], is_strong=False)
        return user in rows and rows[user].is_destroyed

    return is_erased


def _strips_metadata(tenants: TenantLookup) -> StripsMetadata:
    async def strips_metadata(tenant: TenantId) -> bool:
        found = await tenants.find(tenant)
        return found is None or found.settings.media.strips_metadata

    return strips_metadata


def make_delete_uploads(settings: Settings, publisher: KafkaPublisher) -> DeleteUploads | None:
    """Return what publishes the uploads of a redacted message for deletion, or None without attachments."""
    if settings.media.endpoint is None:
        return None
    tasks = KafkaMediaTasks(publisher)

    async def delete_uploads(tenant: TenantId, uploads: Sequence[str]) -> None:
        for upload in uploads:
            await tasks.publish(MediaTask(tenant=tenant, upload=upload, action="delete"))

    return delete_uploads


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)
