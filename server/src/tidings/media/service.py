"""Start, complete and delete uploads, and return links to download attachments. Bytes never pass through here."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps

from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatKey, TenantId, UserId, new_ulid
from tidings.media.model import (
    PART_BYTES,
    SINGLE_BYTES,
    AttachmentLink,
    CheckState,
    MediaTask,
    PartSum,
    SignedRequest,
    StartedUpload,
    Upload,
    UploadProgress,
    UploadRequest,
    UploadState,
)
from tidings.media.ports import CheckSend, MediaTaskPublisher, ObjectStore, ReadAttachments, UploadStore
from tidings.media.rules import (
    INLINE_TYPES,
    check_file,
    disposition,
    download_refusal,
    sanitize_name,
    served_type,
)
from tidings.tenants.model import MediaPolicy, TenantLookup

NO_SUCH_UPLOAD = "There is no such upload."
NO_SUCH_ATTACHMENT = "There is no such attachment."
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaOptions:
    """`url_life_s`: of URLs to download. `upload_life_s`: of uploads that no message refers to, and of their URLs.

    `has_scanner`: only the sender can download a file that was not scanned yet.
    """

    url_life_s: int = 300
    upload_life_s: int = 86_400
    has_scanner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaDeps:
    uploads: UploadStore
    objects: ObjectStore
    tasks: MediaTaskPublisher
    tenants: TenantLookup
    may_send: CheckSend
    attachments: ReadAttachments
    clock: Clock
    options: MediaOptions = MediaOptions()
    failpoints: Failpoints = NO_FAILPOINTS


def _translated[**P, T](call: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Raise `overloaded` if the bucket does not answer. Every operation can be repeated."""

    @wraps(call)
    async def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await call(*args, **kwargs)
        except UnavailableError as error:
            raise TidingsError(Code.OVERLOADED, "The store of attachments does not answer.") from error

    return translated


class MediaService:
    def __init__(self, deps: MediaDeps) -> None:
        self._deps = deps
        self._uploads = deps.uploads
        self._objects = deps.objects

    @_translated
    async def start(self, request: UploadRequest) -> StartedUpload:
        """Create an upload and return where the file goes. The store accepts only bytes with this size and checksum."""
        policy = await self._policy(request.chat.tenant)
        refused = await self._deps.may_send(request.chat, request.owner)
        if refused is not None:
            raise TidingsError(refused, "The user may not send to this chat.")
        await self._check_limits(policy, request)
        upload = self._new(request)
        if request.size > SINGLE_BYTES:
            # Before the row: a crash in between leaves a multipart upload without a row, which the sweeper aborts.
            multipart_id = await self._objects.start_multipart(upload.original, request.type)
            upload = replace(upload, multipart_id=multipart_id)
            await self._deps.failpoints.hit("media.multipart_started")
        await self._uploads.create(upload)
        await self._deps.failpoints.hit("media.started")
        return StartedUpload(upload, None if upload.multipart_id else self._signed_put(upload))

    async def sign_parts(
        self, tenant: TenantId, user: UserId, upload: str, parts: Sequence[PartSum]
    ) -> list[SignedRequest]:
        """Return a request for each part. Parts may be sent in any order, several times, and after a restart."""
        found = await self._own(tenant, user, upload)
        if found.multipart_id is None or found.state is not UploadState.PENDING:
            raise TidingsError(Code.REQUEST_INVALID, "This upload does not wait for parts.")
        count = part_count(found.size)
        if any(not 1 <= part.number <= count for part in parts):
            raise TidingsError(
                Code.REQUEST_INVALID, f"The parts of this upload have the numbers 1 to {count}."
            )
        return [self._signed_part(found, part) for part in parts]

    @_translated
    async def progress(self, tenant: TenantId, user: UserId, upload: str) -> UploadProgress:
        """Return an upload of the user, with the parts that the bucket has."""
        found = await self._own(tenant, user, upload)
        if found.multipart_id is None or found.state is not UploadState.PENDING:
            return UploadProgress(found)
        parts = await self._objects.parts(found.original, found.multipart_id) or ()
        return UploadProgress(found, tuple((part.number, part.size) for part in parts))

    @_translated
    async def complete(
        self, tenant: TenantId, user: UserId, upload: str, parts: Sequence[PartSum] = ()
    ) -> Upload:
        """Check that the file is in the bucket, and let the worker process it. Idempotent.

        `parts`: all parts of a multipart upload. Raises `upload_incomplete` if the bucket does not have it.
        """
        found = await self._own(tenant, user, upload)
        if found.state is UploadState.PENDING:
            if found.multipart_id is not None:
                await self._join(found, {part.number: part.sha256 for part in parts})
                await self._deps.failpoints.hit("media.joined")
            size = await self._objects.size_of(found.original)
            if size != found.size:
                raise TidingsError(
                    Code.UPLOAD_INCOMPLETE, f"The bucket has {size or 0} of {found.size} bytes of this file."
                )
            if not await self._uploads.change_state(found, UploadState.UPLOADED):
                raise TidingsError(Code.UPLOAD_NOT_FOUND, NO_SUCH_UPLOAD)
            await self._deps.failpoints.hit("media.completed")
        if found.check is CheckState.WAITING:
            # A crash before this line, or an outage of Kafka, leaves an upload that no worker knows. A retry or the
            # sweeper publishes it again.
            self._deps.tasks.publish_soon(MediaTask(tenant=tenant, upload=upload, action="process"))
        return await self._own(tenant, user, upload)

    async def delete(self, tenant: TenantId, user: UserId, upload: str) -> None:
        """Delete an upload that no message refers to."""
        found = await self._own(tenant, user, upload)
        if found.state is UploadState.ATTACHED:
            raise TidingsError(
                Code.UPLOAD_ATTACHED, "A message refers to this upload.", hint="Redact the message instead."
            )
        # Race: a message attaches the upload between the read and this change. Then the condition fails.
        if not await self._uploads.change_state(found, UploadState.DELETING):
            raise TidingsError(Code.WRITE_CONFLICT, "The upload was changed by another request. Try again.")
        await self._deps.failpoints.hit("media.discarded")
        self._deps.tasks.publish_soon(MediaTask(tenant=tenant, upload=upload, action="delete"))

    async def link(self, chat: ChatKey, user: UserId, sequence: int, upload: str) -> AttachmentLink:
        """Return URLs to download an attachment of a message that the user may see."""
        if upload not in await self._deps.attachments(chat, user, sequence):
            raise TidingsError(Code.UPLOAD_NOT_FOUND, NO_SUCH_ATTACHMENT)
        found = await self._uploads.find(chat.tenant, upload)
        if found is None or found.state is not UploadState.ATTACHED or found.chat != chat.chat:
            raise TidingsError(Code.UPLOAD_NOT_FOUND, NO_SUCH_ATTACHMENT)
        refused = download_refusal(found, user, must_be_checked=await self._must_be_checked(found))
        if refused is not None:
            raise _not_downloadable(refused, found)
        return self._link(found)

    async def _must_be_checked(self, upload: Upload) -> bool:
        """Tell whether others wait for the media worker. Reads the tenant's settings only for a file that waits."""
        if upload.check is not CheckState.WAITING:
            return False
        # The declared type is that of the client, so every file waits, not only declared images.
        policy = await self._policy(upload.tenant)
        return policy.strips_metadata or self._deps.options.has_scanner

    def _link(self, upload: Upload) -> AttachmentLink:
        type_, life_s = served_type(upload), self._deps.options.url_life_s
        is_inline = type_ in INLINE_TYPES
        query = {
            "response-content-type": type_,
            "response-content-disposition": disposition(upload.name, is_inline=is_inline),
        }
        thumbnail = None
        if upload.facts.has_thumbnail:
            shown = {"response-content-type": "image/webp", "response-content-disposition": "inline"}
            thumbnail = self._objects.presign("GET", upload.thumbnail, life_s, query=shown)
        expires_ms = self._deps.clock.now_ms() + life_s * 1000
        return AttachmentLink(
            upload,
            self._objects.presign("GET", upload.main, life_s, query=query),
            thumbnail,
            expires_ms,
            is_inline,
        )

    async def _join(self, upload: Upload, sums: Mapping[int, str]) -> None:
        received = await self._objects.parts(upload.original, upload.multipart_id or "")
        if received is None:
            return  # An earlier attempt has joined the parts; the size is checked next.
        missing = set(range(1, part_count(upload.size) + 1)) - {part.number for part in received}
        if missing:
            raise TidingsError(
                Code.UPLOAD_INCOMPLETE,
                f"{len(missing)} parts are missing, the first is {min(missing)}.",
                details={"missing": sorted(missing)[:100]},
            )
        if sums.keys() != {part.number for part in received}:
            raise TidingsError(Code.REQUEST_INVALID, "`parts` needs the checksum of every part.")
        try:
            await self._objects.complete_multipart(upload.original, upload.multipart_id or "", sums)
        except UnavailableError as error:
            raise TidingsError(Code.UPLOAD_INCOMPLETE, f"The parts could not be joined: {error}") from error

    def _new(self, request: UploadRequest) -> Upload:
        now_ms = self._deps.clock.now_ms()
        return Upload(
            tenant=request.chat.tenant,
            id=new_ulid(),
            owner=request.owner,
            chat=request.chat.chat,
            name=sanitize_name(request.name),
            type=request.type,
            size=request.size,
            sha256=request.sha256,
            state=UploadState.PENDING,
            created_ms=now_ms,
            expires_ms=now_ms + self._deps.options.upload_life_s * 1000,
        )

    def _signed_put(self, upload: Upload) -> SignedRequest:
        headers = {
            "Content-Length": str(upload.size),
            "Content-Type": upload.type,
            "x-amz-checksum-sha256": upload.sha256,
        }
        life_s = self._deps.options.upload_life_s
        return SignedRequest(self._objects.presign("PUT", upload.original, life_s, headers=headers), headers)

    def _signed_part(self, upload: Upload, part: PartSum) -> SignedRequest:
        size = min(PART_BYTES, upload.size - (part.number - 1) * PART_BYTES)
        headers = {"Content-Length": str(size), "x-amz-checksum-sha256": part.sha256}
        query = {"partNumber": str(part.number), "uploadId": upload.multipart_id or ""}
        life_s = self._deps.options.upload_life_s
        url = self._objects.presign("PUT", upload.original, life_s, headers=headers, query=query)
        return SignedRequest(url, headers)

    async def _check_limits(self, policy: MediaPolicy, request: UploadRequest) -> None:
        check_file(policy, request.type, request.size)
        stored = await self._uploads.total_bytes(request.chat.tenant)
        if stored + request.size > policy.total_mb * _MB:
            raise TidingsError(
                Code.STORAGE_FULL, f"The tenant stores {stored} of {policy.total_mb * _MB} bytes."
            )

    async def downloadable(self, chat: ChatKey, user: UserId, uploads: Collection[str]) -> list[Upload]:
        """Return those attachments of messages that `link` would return to the user. They may see the messages."""
        found = await self._uploads.find_many(chat.tenant, uploads)
        return [
            each
            for each in found.values()
            if each.state is UploadState.ATTACHED
            and each.chat == chat.chat
            and download_refusal(each, user, must_be_checked=await self._must_be_checked(each)) is None
        ]

    async def _policy(self, tenant: TenantId) -> MediaPolicy:
        found = await self._deps.tenants.find(tenant)
        return MediaPolicy() if found is None else found.settings.media

    async def _own(self, tenant: TenantId, user: UserId, upload: str) -> Upload:
        found = await self._uploads.find(tenant, upload)
        if found is None or found.owner != user or found.state is UploadState.DELETING:
            raise TidingsError(Code.UPLOAD_NOT_FOUND, NO_SUCH_UPLOAD)
        return found


def _not_downloadable(refused: Code, upload: Upload) -> TidingsError:
    if refused is Code.UPLOAD_REFUSED:
        return TidingsError(refused, f"The file was refused: {upload.facts.reason}")
    return TidingsError(refused, "The file is still being processed. Try again soon.")


def part_count(size: int) -> int:
    return -(-size // PART_BYTES)
