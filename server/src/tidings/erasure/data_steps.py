"""The steps outside of chats: credentials, keys, files, search documents, inboxes, rows and the profile."""

from dataclasses import dataclass
from typing import Final

from tidings.accounts.ports import SessionStore, UserEraser
from tidings.delivery.ports import DeliveryEraser
from tidings.erasure.certificate import certificate_of
from tidings.erasure.model import STEP_DONE, Erasure, ErasureCursor, StepProgress
from tidings.erasure.ports import EraseDocuments, SignCertificate
from tidings.exports.ports import ArchiveEraser
from tidings.inboxes.ports import InboxEraser
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.media.model import MediaTask, UploadState
from tidings.media.ports import MediaTaskPublisher, OwnedUploads
from tidings.moderation.ports import ReviewEraser
from tidings.push.ports import PushEraser
from tidings.retention.archive.ports import TenantArchive
from tidings.tenants.model import UserKeyStore

RETRY_MS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DataStepDeps:
    """`archives`, of exports, and `archive`, of old messages, are None without a bucket."""

    users: UserEraser
    sessions: SessionStore
    keys: UserKeyStore
    push: PushEraser
    inboxes: InboxEraser
    uploads: OwnedUploads
    media: MediaTaskPublisher
    archives: ArchiveEraser | None
    archive: TenantArchive | None
    delivery: DeliveryEraser
    reviews: ReviewEraser
    documents: EraseDocuments
    sign: SignCertificate
    clock: Clock
    failpoints: Failpoints = NO_FAILPOINTS


class DataSteps:
    def __init__(self, deps: DataStepDeps) -> None:
        self._deps = deps

    async def fence(self, erasure: Erasure) -> StepProgress:
        """Refuse all credentials of the user, and the creation of the id."""
        await self._deps.users.fence(erasure.tenant, erasure.user, self._deps.clock.now_ms())
        return STEP_DONE

    async def credentials(self, erasure: Erasure) -> StepProgress:
        """Delete sessions and everything that push notifications need."""
        tenant, user = erasure.tenant, erasure.user
        sessions = await self._deps.sessions.list(tenant, user)
        await self._deps.push.delete_user(tenant, user)
        await self._deps.failpoints.hit("erasure.push_deleted")
        if sessions:
            await self._deps.sessions.delete_many(tenant, [each.session for each in sessions])
        return StepProgress(counts={"sessions": len(sessions)})

    async def keys(self, erasure: Erasure) -> StepProgress:
        """List the erasure for restores, then destroy the keys. A repeat writes the same items."""
        await self._deps.keys.destroy(erasure.tenant, erasure.user, erasure.requested_ms)
        return STEP_DONE

    async def uploads(self, erasure: Erasure) -> StepProgress:
        """Mark a page of uploads as `DELETING`; after all pages, have the media worker delete them.

        Two passes over the shards: in the first one no row disappears, so that a repeated page counts the same. The first
        page also deletes the archive of an export.
        """
        if erasure.cursor == ErasureCursor():
            await self._archives(erasure)
        shards = self._deps.uploads.shards
        is_marking, shard = erasure.cursor.part < shards, erasure.cursor.part % shards
        page = await self._deps.uploads.page(erasure.tenant, shard, erasure.cursor.after)
        own = [each for each in page.uploads if erasure.is_of_tenant or each.owner == erasure.user]
        if not is_marking and own:
            for upload in own:
                task = MediaTask(tenant=upload.tenant, upload=upload.id, action="delete")
                await self._deps.media.publish(task)
            return StepProgress(wait_until_ms=self._deps.clock.now_ms() + RETRY_MS)
        for upload in own:
            # Race: a message attaches the upload, or the media worker processes it. Both change the row.
            if not await self._deps.uploads.change_state(upload, UploadState.DELETING):
                raise TidingsError(Code.WRITE_CONFLICT, "An upload was changed at the same time.")
        counts = {"uploads": len(own)} if is_marking else {}
        if page.after is not None:
            return StepProgress(ErasureCursor(part=erasure.cursor.part, after=page.after), counts)
        if erasure.cursor.part + 1 == 2 * shards:
            return StepProgress(counts=counts)
        return StepProgress(ErasureCursor(part=erasure.cursor.part + 1), counts)

    async def _archives(self, erasure: Erasure) -> None:
        if self._deps.archives is not None:
            if erasure.is_of_tenant:
                await self._deps.archives.delete_tenant(erasure.tenant)
                await self._delete_archive(erasure)
            else:
                await self._deps.archives.delete_user(erasure.tenant, erasure.user)
            await self._deps.failpoints.hit("erasure.archives_deleted")

    async def _delete_archive(self, erasure: Erasure) -> None:
        """Delete the archive of a tenant. That of a user needs no step: their rows lost their keys with the log's entries."""
        if self._deps.archive is not None:
            await self._deps.archive.delete_tenant(erasure.tenant)

    async def search(self, erasure: Erasure) -> StepProgress:
        """Have the process that writes the index delete the documents, and wait until it has purged the files."""
        if await self._deps.documents(erasure):
            return STEP_DONE
        return StepProgress(wait_until_ms=self._deps.clock.now_ms() + RETRY_MS)

    async def inbox(self, erasure: Erasure) -> StepProgress:
        """Delete one page of the inboxes of the user."""
        page = await self._deps.inboxes.delete_page(erasure.tenant, erasure.user, erasure.cursor.after)
        counts = {"notifications": page.notifications}
        return StepProgress(None if page.after is None else ErasureCursor(after=page.after), counts)

    async def rows(self, erasure: Erasure) -> StepProgress:
        """Delete chat rows, blocks, invites and queued messages of the user, and the review about them."""
        rows = await self._deps.delivery.delete_own(erasure.tenant, erasure.user)
        await self._deps.reviews.delete_user(erasure.tenant, erasure.user)
        return StepProgress(counts={"rows": rows})

    async def profile(self, erasure: Erasure) -> StepProgress:
        await self._deps.users.empty(erasure.tenant, erasure.user)
        return STEP_DONE

    async def certificate(self, erasure: Erasure) -> StepProgress:
        """Sign the certificate. A repeat signs another one with a later time, and only one of them is stored."""
        signed = certificate_of(erasure, self._deps.clock.now_ms(), is_final=False)
        return StepProgress(certificate=await self._deps.sign(signed))

    async def final(self, erasure: Erasure) -> StepProgress:
        """Delete again what a worker with an old event may have written since, and sign the final certificate."""
        tenant, user = erasure.tenant, erasure.user
        await self.credentials(erasure)
        await self._archives(erasure)
        after: str | None = ""
        while after is not None:
            after = (await self._deps.inboxes.delete_page(tenant, user, after)).after
        await self.rows(erasure)
        signed = certificate_of(erasure, self._deps.clock.now_ms(), is_final=True)
        return StepProgress(certificate=await self._deps.sign(signed))
