"""Wire imports to the rules and stores of users, chats and messages."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tidings.accounts.rules import check_avatar, check_display_name, check_email
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.app.settings import Settings
from tidings.app.wiring.chats import build_chat_row_writer, build_chat_store, build_watermark_store
from tidings.app.wiring.delivery import open_publisher
from tidings.app.wiring.engine_clients import (
    make_user_key_ring,
    open_key_ring,
    open_tables,
    read_epoch,
    read_existing_tenant,
)
from tidings.app.wiring.media import s3_options
from tidings.app.wiring.options import kafka_config, validate_settings
from tidings.chats.store.imports import DynamoImportChats
from tidings.delivery.chat_rows import Previews
from tidings.delivery.model import LastMessageRef
from tidings.delivery.rules import PreviewCandidate
from tidings.imports.importer import Importer
from tidings.imports.model import AttachmentPart, FoundFile, MessageLine, UserLine
from tidings.imports.ports import CreateUser, ImportDeps, StoreFile
from tidings.imports.reader import ImportFolder
from tidings.imports.store.lease import DynamoImportLease
from tidings.imports.turn import ImportTurn
from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, Epoch, TenantId, new_ulid
from tidings.media.file_import import FileImporter
from tidings.media.model import ImportedFile
from tidings.media.rules import check_file, sanitize_name
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.media.store.uploads import DynamoUploadStore
from tidings.messages import sender
from tidings.messages.model import Entry
from tidings.messages.ports import KeyProvider
from tidings.messages.store import DynamoMessageLog
from tidings.messages.store.imports import DynamoImportLog
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.s3.client import open_s3
from tidings.tenants.model import MediaPolicy, Tenant


class ProductChecks:
    """The rules that users, messages and files of the API obey. `policy`: that of the tenant, if there is one."""

    def __init__(self, folder: ImportFolder | None = None, policy: MediaPolicy | None = None) -> None:
        self._folder = folder
        self._policy = policy

    def check_user(self, user: UserLine, /) -> None:
        if user.name is not None:
            check_display_name(user.name)
        if user.avatar is not None:
            check_avatar(user.avatar)
        if user.email is not None:
            check_email(user.email)

    def find_file(self, part: AttachmentPart, /) -> FoundFile:
        if self._folder is None:
            raise no_attachments()
        found = self._folder.find(part)
        if self._policy is not None:
            check_file(self._policy, found.type, found.size)
        return found

    def encode_message(
        self, message: MessageLine, reply_to: int | None, files: Mapping[str, FoundFile], /
    ) -> bytes:
        if len(message.mentions) > sender.MAX_MENTIONS:
            raise TidingsError(
                Code.CONTENT_INVALID,
                f"`mentions` has {len(message.mentions)} users; {sender.MAX_MENTIONS} are allowed.",
            )
        data = message.data
        if files:
            data = {
                **(data or {}),
                "attachments": {upload: _described(file) for upload, file in files.items()},
            }
        return sender.encode_content(
            sender.Content(
                text=message.text,
                data=data,
                reply_to=reply_to,
                mentions=message.mentions,
                attachments=tuple(files),
            )
        )


def _described(file: FoundFile) -> dict[str, str | int]:
    """Return what clients show before they download a file, as SDKs write it."""
    return {"name": sanitize_name(file.name), "type": file.type, "size": file.size}


def no_attachments() -> TidingsError:
    return TidingsError(
        Code.MEDIA_NOT_CONFIGURED, "This installation has no attachments.", hint="Set `media.endpoint`."
    )


async def _refuse_file(_: ImportedFile) -> bool:
    raise no_attachments()


def make_create_user(users: UserService) -> CreateUser:
    async def create_user(tenant: TenantId, line: UserLine) -> bool:
        try:
            await users.create(
                tenant, line.id, display_name=line.name, avatar_uri=line.avatar, email=line.email
            )
        except TidingsError as error:
            if error.code is not Code.USER_EXISTS:
                raise
            return False
        return True

    return create_user


def build_import_deps(
    client: DynamoClient,
    tenant: TenantId,
    keys: KeyProvider,
    users: UserService,
    *,
    clock: Clock,
    epoch: Epoch,
    checks: ProductChecks | None = None,
    store_file: StoreFile = _refuse_file,
) -> ImportDeps:
    previews = Previews(keys, sender.preview_of)

    async def preview(chat: ChatKey, message: Entry) -> LastMessageRef:
        candidate = PreviewCandidate(message.sequence, message.sequence, message)
        return (await previews.of(chat, {candidate}))[candidate]

    return ImportDeps(
        turn=ImportTurn(DynamoImportLease(client, clock, tenant, new_ulid()), clock),
        create_user=make_create_user(users),
        log=DynamoImportLog(client, DynamoMessageLog(client, clock)),
        chats=DynamoImportChats(client, clock, epoch),
        rows=build_chat_row_writer(client, epoch),
        watermarks=build_watermark_store(client, clock, epoch),
        keys=keys,
        checks=checks or ProductChecks(),
        fingerprint_input=sender.fingerprint_input,
        store_file=store_file,
        preview=preview,
        blockers=build_chat_store(client, clock, epoch).blockers,
        epoch=epoch,
    )


class ImportTools(NamedTuple):
    tenant: Tenant
    checks: ProductChecks
    open_importer: Callable[[Callable[[], None], Callable[[], None]], Importer]


@asynccontextmanager
async def open_import(settings: Settings, tenant: TenantId, folder: Path) -> AsyncIterator[ImportTools]:
    """Open an import into a tenant. `folder`: of the files. Raises `request_invalid` for a tenant that does not exist."""
    clock = SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as ring,
        AsyncExitStack() as stack,
    ):
        found = await read_existing_tenant(client, ring, tenant)
        epoch = await read_epoch(client, clock)
        keys = make_user_key_ring(settings, client, ring, clock)
        users = UserService(DynamoUserStore(client, ring, keys), clock)
        store_file = await _open_files(settings, client, found, stack)
        checks = ProductChecks(None if store_file is None else ImportFolder(folder), found.settings.media)
        deps = build_import_deps(
            client,
            tenant,
            keys,
            users,
            clock=clock,
            epoch=epoch,
            checks=checks,
            store_file=store_file or _refuse_file,
        )
        yield ImportTools(
            found, checks, lambda on_progress, on_wait: Importer(deps, tenant, on_progress, on_wait)
        )


async def _open_files(
    settings: Settings, client: DynamoClient, tenant: Tenant, stack: AsyncExitStack
) -> StoreFile | None:
    """Open the bucket, and the publisher of tasks for the media worker. None: the installation has no attachments."""
    validate_settings(settings, (s3_options,))
    options = s3_options(settings)
    if options is None:
        return None
    validate_settings(settings, (kafka_config,))
    bucket = await stack.enter_async_context(open_s3(options))
    tasks = KafkaMediaTasks(await stack.enter_async_context(open_publisher(settings)))
    policy = tenant.settings.media
    return FileImporter(DynamoUploadStore(client), bucket, tasks, policy, SystemClock()).store
