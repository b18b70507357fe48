"""The steps of the deletion of a tenant, outside of users and chats. Each page can be repeated.

A row is deleted after everything that only it leads to. So a worker that dies leaves nothing that the next one cannot find.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from tidings.accounts.ports import UserEraser
from tidings.erasure import rules
from tidings.erasure.certificate import certificate_of
from tidings.erasure.model import STEP_DONE, Erasure, ErasureCursor, ErasureStep, StepProgress
from tidings.erasure.ports import EraseDocuments, SignCertificate, StepAction, TenantRows
from tidings.erasure.row_page import RowPage
from tidings.erasure.tenant_users import TenantUserDeletion
from tidings.kernel.clock import Clock
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import TenantId, UserId
from tidings.schema.tables.items import accounts, chats, inboxes, jobs, media, moderation, retention, webhooks
from tidings.schema.tables.items.erasure import ERASURE_OF_USER

PAGE_USERS: Final = 25
RETRY_MS: Final = 2_000
_QUEUES: Final = (moderation.WAITING, "decided")
_DATA_KEY: Final = "data_key#"
_HOOK: Final = "hook#"
_LISTS_OF_ENDPOINTS: Final = (webhooks.BACKLOGS, webhooks.DISABLED)
_FOUND: Final = "found"
"""Marks a pass over the directory that has found users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStepDeps:
    """`files`: the step `uploads`, which marks and deletes the files of all users."""

    users: UserEraser
    rows: TenantRows
    files: StepAction
    documents: EraseDocuments
    sign: SignCertificate
    clock: Clock
    page_rows: int = 1_000
    failpoints: Failpoints = NO_FAILPOINTS


def tenant_actions(deps: TenantStepDeps) -> Mapping[ErasureStep, StepAction]:
    """Return the action of each step. The steps `quiet` and `settled` wait, as those of the erasure of a user."""
    steps = TenantSteps(deps)
    return {
        ErasureStep.FENCE: steps.fence,
        ErasureStep.CREDENTIALS: steps.credentials,
        ErasureStep.KEYS: steps.keys,
        ErasureStep.CHATS: steps.users,
        ErasureStep.UPLOADS: steps.uploads,
        ErasureStep.SEARCH: steps.search,
        ErasureStep.INBOX: steps.inbox,
        ErasureStep.ROWS: steps.rows,
        ErasureStep.CERTIFICATE: steps.certificate,
        ErasureStep.FINAL: steps.final,
    }


class TenantSteps:
    def __init__(self, deps: TenantStepDeps) -> None:
        self._deps = deps

    async def fence(self, erasure: Erasure) -> StepProgress:
        """Replace the settings by the tombstone. From then on every process refuses all credentials of the tenant."""
        await self._deps.users.fence_tenant(erasure.tenant, self._deps.clock.now_ms())
        return STEP_DONE

    async def credentials(self, erasure: Erasure) -> StepProgress:
        """Delete API keys, signing keys, push providers and webhooks."""
        page, tenant = self._page(), erasure.tenant
        for row in await self._deps.rows.list("tenants", tenant, page.limit, prefix=_HOOK):
            if not await self._webhook(tenant, page, row["item"].removeprefix(_HOOK)):
                return StepProgress(erasure.cursor, page.counts)
            await page.row("tenants", row)
        if not await self._restored_webhooks(tenant, page):
            return StepProgress(erasure.cursor, page.counts)
        settings = accounts.SETTINGS_KEY.render()

        def is_credential(row: Mapping[str, Any]) -> bool:
            return row["item"] != settings and not row["item"].startswith((_DATA_KEY, _HOOK))

        return self._progress(erasure, page, await page.partition("tenants", tenant, is_credential))

    async def keys(self, erasure: Erasure) -> StepProgress:
        """Destroy the keys of the tenant. They wrap those of its users, so no content of the tenant can be read from here on."""
        page = self._page()
        return self._progress(erasure, page, await page.prefixed("tenants", erasure.tenant, _DATA_KEY))

    async def users(self, erasure: Erasure) -> StepProgress:
        """Delete users with their chats. The directory is the cursor: a user leaves it after everything else of them.

        A chat can add members to earlier parts of the directory. So the step ends with a pass that finds no user. A pass
        is marked before it deletes its first user: a worker that dies after a deletion leaves the mark.
        """
        page, tenant, cursor = self._page(), erasure.tenant, erasure.cursor
        deletion, part = TenantUserDeletion(self._deps.rows, page, tenant, self._deps.clock), cursor.part
        while part < inboxes.BUCKETS and page.left > 0:
            bucket = inboxes.OF_BUCKET.render(tenant=tenant, bucket=part)
            found = await self._deps.rows.list("inbox", bucket, PAGE_USERS)
            if found and cursor.after != _FOUND:
                return StepProgress(ErasureCursor(part=part, after=_FOUND))
            for row in found:
                is_deleted = page.left > 0 and await deletion.delete(UserId(row["SK"].removeprefix("u#")))
                if not is_deleted:
                    return StepProgress(replace(cursor, part=part), page.counts)
                await self._deps.failpoints.hit("tenant_deletion.user_deleted")
                await page.row("inbox", row)
            part += not found
        if part < inboxes.BUCKETS:
            return StepProgress(replace(cursor, part=part), page.counts)
        return StepProgress(ErasureCursor() if cursor.after == _FOUND else None, page.counts)

    async def uploads(self, erasure: Erasure) -> StepProgress:
        """Have the media worker delete all files, then delete the totals."""
        progress = await self._deps.files(erasure)
        if progress.cursor is not None or progress.wait_until_ms is not None:
            return progress
        page = self._page()
        for shard in range(media.SHARDS):
            await page.partition("uploads", media.shard_key(erasure.tenant, shard))
        return StepProgress(counts={**progress.counts, **page.counts})

    async def search(self, erasure: Erasure) -> StepProgress:
        if await self._deps.documents(erasure):
            return STEP_DONE
        return StepProgress(wait_until_ms=self._deps.clock.now_ms() + RETRY_MS)

    async def inbox(self, erasure: Erasure) -> StepProgress:
        """Delete jobs and broadcasts with their notifications, then the configuration, which names the inboxes."""
        page, tenant = self._page(), erasure.tenant
        is_done = await self._jobs(erasure, page) and await self._broadcasts(tenant, page)
        is_done = is_done and await page.partition("inbox", inboxes.OF_TENANT.render(tenant=tenant))
        return self._progress(erasure, page, is_done)

    async def rows(self, erasure: Erasure) -> StepProgress:
        """Delete reviews, the users who were erased before, lists of retention, and the lease of imports."""
        page, tenant = self._page(), erasure.tenant
        is_done = await self._reviews(tenant, page) and await self._erased_users(tenant, page)
        for listed in (retention.OWN_LIMITS, retention.UNINDEXED):
            is_done = is_done and await page.partition("erasures", listed.render(tenant=tenant))
        lease = accounts.LEASE.partition.render(lease=f"import-{tenant}")
        return self._progress(erasure, page, is_done and await page.partition("leases", lease))

    async def certificate(self, erasure: Erasure) -> StepProgress:
        signed = certificate_of(erasure, self._deps.clock.now_ms(), is_final=False)
        return StepProgress(certificate=await self._deps.sign(signed))

    async def final(self, erasure: Erasure) -> StepProgress:
        """Delete again what a process with an old event or a cached key has written since, and sign again."""
        for step in (self.credentials, self.keys, self.users, self.inbox, self.rows):
            cursor: ErasureCursor | None = ErasureCursor()
            while cursor is not None:
                cursor = (await step(rules.at_cursor(erasure, cursor))).cursor
        signed = certificate_of(erasure, self._deps.clock.now_ms(), is_final=True)
        return StepProgress(certificate=await self._deps.sign(signed))

    async def _webhook(self, tenant: TenantId, page: RowPage, endpoint: str) -> bool:
        """Delete the queue and the deliveries of an endpoint, then the rows that list it."""
        for template in (webhooks.QUEUE, webhooks.DELIVERIES):
            if not await page.partition("webhooks", template.render(tenant=tenant, endpoint=endpoint)):
                return False
        key = webhooks.BACKLOG_KEY.render(tenant=tenant, endpoint=endpoint)
        for partition in _LISTS_OF_ENDPOINTS:
            if not await page.prefixed("webhooks", partition.render(), key):
                return False
        return True

    async def _restored_webhooks(self, tenant: TenantId, page: RowPage) -> bool:
        """Delete endpoints that only the table `webhooks` has, because it was restored and `tenants` was not."""
        for partition in _LISTS_OF_ENDPOINTS:
            while found := await self._deps.rows.list(
                "webhooks", partition.render(), page.limit, prefix=f"{tenant}#"
            ):
                for row in found:
                    if not await self._webhook(tenant, page, row["item"].removeprefix(f"{tenant}#")):
                        return False
        return True

    async def _jobs(self, erasure: Erasure, page: RowPage) -> bool:
        """Delete all jobs but those of the deletion, which expire."""
        own = rules.job_ids(erasure)
        for shard in range(jobs.SHARDS):
            listed, after = jobs.JOBS_OF_TENANT.render(tenant=erasure.tenant, shard=shard), None
            while found := await self._deps.rows.list("inbox", listed, page.limit, after=after):
                for row in found:
                    job = row["SK"].removeprefix("jb#")
                    if job in own:
                        continue
                    if page.left <= 0 or not await self._job(erasure.tenant, page, job):
                        return False
                    await page.row("inbox", row)
                after = found[-1]
        return True

    async def _job(self, tenant: TenantId, page: RowPage, job: str) -> bool:
        of_job = jobs.OF_JOB.render(tenant=tenant, job=job)
        for stored in await self._deps.rows.list("inbox", of_job, 1, prefix=jobs.JOB_SORT.render()):
            if not await self._notification(tenant, page, stored.get("notification")):
                return False
        return await page.partition("inbox", of_job)

    async def _broadcasts(self, tenant: TenantId, page: RowPage) -> bool:
        of_tenant = inboxes.OF_TENANT.render(tenant=tenant)
        for config in await self._deps.rows.list("inbox", of_tenant, 1_000, prefix="si#"):
            log = inboxes.OF_LOG.render(tenant=tenant, inbox=config["SK"].removeprefix("si#"))
            while found := await self._deps.rows.list("inbox", log, page.limit):
                for row in found:
                    if page.left <= 0 or not await self._notification(tenant, page, row.get("notification")):
                        return False
                    await page.row("inbox", row)
        return True

    async def _notification(self, tenant: TenantId, page: RowPage, notification: str | None) -> bool:
        if not notification:
            return True
        key = inboxes.OF_NOTIFICATION.render(tenant=tenant, notification=notification)
        return await page.partition("inbox", key)

    async def _reviews(self, tenant: TenantId, page: RowPage) -> bool:
        for queue in _QUEUES:
            for shard in range(moderation.QUEUE_SHARDS):
                key = moderation.QUEUE.render(tenant=tenant, queue=queue, shard=shard)
                after = None
                while found := await self._deps.rows.list_index(
                    "reports", "review_queue-index", key, PAGE_USERS, after=after
                ):
                    for row in found:
                        if not await page.partition("reports", row["target"]):
                            return False
                    after = found[-1]
        return True

    async def _erased_users(self, tenant: TenantId, page: RowPage) -> bool:
        """Delete the tombstones of users who were erased: they are listed by time."""
        while found := await self._deps.rows.list("erasures", tenant, PAGE_USERS):
            for row in found:
                user = row["erasure"].partition("#")[2]
                own = chats.OWN_USER.render(tenant=tenant, user=user)
                progress = ERASURE_OF_USER.render(tenant=tenant, user=user)
                for table, key in (("users", own), ("user_keys", own), ("erasures", progress)):
                    if not await page.partition(table, key):
                        return False
                await page.row("erasures", row)
        return True

    def _page(self) -> RowPage:
        return RowPage(self._deps.rows, self._deps.page_rows)

    def _progress(self, erasure: Erasure, page: RowPage, is_done: bool) -> StepProgress:  # noqa: FBT001 - its result
        return StepProgress(None if is_done else erasure.cursor, page.counts)
