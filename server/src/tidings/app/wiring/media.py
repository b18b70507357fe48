"""Build the services of attachments."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.app.settings import Settings
from tidings.app.wiring.chats import ChatServices
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.chats.rules import ChatAction, check_permission
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId
from tidings.media.attachments import UploadCheck
from tidings.media.ports import MediaTaskPublisher
from tidings.media.service import MediaDeps, MediaOptions, MediaService
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.media.store.uploads import DynamoUploadStore
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.credentials import AWS, AwsKeys
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import ManagedResource
from tidings.platform.s3.client import S3Client, S3Options, open_s3
from tidings.tenants.model import TenantLookup
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore


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
    return ManagedResource("s3", lambda: _opened(s3_options(settings)))


@asynccontextmanager
async def _opened(options: S3Options | None) -> AsyncIterator[S3Client | None]:
    if options is None:
        yield None
        return
    async with open_s3(options) as client:
        yield client


def upload_check(settings: Settings, client: DynamoClient) -> UploadCheck | None:
    """Return the check of messages with attachments, or None without attachments."""
    return None if settings.media.endpoint is None else UploadCheck(DynamoUploadStore(client))


def media_options(settings: Settings) -> MediaOptions:
    return MediaOptions(url_life_s=settings.media.url_life_s, upload_life_s=settings.media.upload_life_s)


def build_media_service(
    client: DynamoClient,
    s3: S3Client,
    clock: Clock,
    *,
    cases: ChatServices,
    tasks: MediaTaskPublisher,
    tenants: TenantLookup,
    options: MediaOptions,
) -> MediaService:
    """Build the service of the REST API."""

    async def may_send(chat: ChatKey, user: UserId) -> Code | None:
        return check_permission(ChatAction.SEND, await cases.rows.member_status(chat, user), None)

    return MediaService(
        MediaDeps(
            uploads=DynamoUploadStore(client),
            objects=s3,
            tasks=tasks,
            tenants=tenants,
            may_send=may_send,
            history=cases.history,
            clock=clock,
            options=options,
        )
    )


def api_media(
    settings: Settings,
    engines: EngineComponents,
    clock: Clock,
    *,
    cases: ChatServices,
    publisher: KafkaPublisher,
    s3: S3Client | None,
) -> MediaService | None:
    if s3 is None:
        return None
    client, keys = engines.dynamo.value, engines.keys.value
    return build_media_service(
        client,
        s3,
        clock,
        cases=cases,
        tasks=KafkaMediaTasks(publisher),
        tenants=TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys)), clock),
        options=media_options(settings),
    )
