"""Compare all uploads with the objects of the bucket, and remove what does not belong together.

A sweep can run at any time, in several processes, and end anywhere: it only deletes what no later step can need. The lease
of the sweeper saves work; no guarantee depends on it.
"""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, fields

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import TenantId, UserId, ulid_ms
from tidings.media.model import CheckState, MediaTask, Upload, UploadState, object_key, shard_prefix
from tidings.media.ports import MediaTaskPublisher, ObjectStore, SweepLease, UploadStore
from tidings.media.worker import MediaWorker
from tidings.messages.model import UPLOAD_ID
from tidings.schema.tables.items.media import SHARDS

GRACE_MS = 10 * 60 * 1000
"""Multipart uploads that are younger may get their row soon; files that are younger may still be processed."""
MAX_CACHED_OWNERS = 100_000
_UPLOAD_ID = re.compile(UPLOAD_ID)

type ListTenants = Callable[[], Awaitable[Sequence[TenantId]]]
type IsErased = Callable[[TenantId, UserId], Awaitable[bool]]
type SweepExports = Callable[[TenantId], Awaitable[int]]
"""Deletes the objects of a tenant's exports that have expired, and returns their number."""


class LeaseLostError(Exception):
    """Another process sweeps."""


@dataclass(slots=True)
class SweepStats:
    """What sweeps have found: rows and objects; deleted orphans, expired and redacted uploads; rows without an object.

    exports: deleted objects of exports.
    """

    rows: int = 0
    objects: int = 0
    orphans: int = 0
    expired: int = 0
    leftovers: int = 0
    aborted: int = 0
    republished: int = 0
    exports: int = 0
    missing: int = 0

    def add(self, other: "SweepStats") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class SweeperDeps:
    uploads: UploadStore
    objects: ObjectStore
    tasks: MediaTaskPublisher
    worker: MediaWorker
    clock: Clock
    list_tenants: ListTenants
    is_erased: IsErased
    sweep_exports: SweepExports
    on_error: Callable[[str, BaseException], None]
    lease: SweepLease | None = None
    failpoints: Failpoints = NO_FAILPOINTS


class MediaSweeper:
    def __init__(self, deps: SweeperDeps, *, interval_s: float = 3_600.0, grace_ms: int = GRACE_MS) -> None:
        self._deps = deps
        self._interval_s = interval_s
        self._grace_ms = grace_ms
        self.stats = SweepStats()
        self.last = SweepStats()
        self.finished_at_ms = deps.clock.now_ms()
        self._erased: dict[UserId, bool] = {}

    async def run(self) -> None:
        """Sweep from time to time, unless another process does. The times are random, so that all processes take turns."""
        while True:
            await asyncio.sleep(self._interval_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            try:
                await self.sweep_in_turn()
            except LeaseLostError as error:
                self._deps.on_error("another process took over the sweep of attachments", error)
            except (TidingsError, UnavailableError) as error:
                self._deps.on_error("a sweep of attachments was interrupted", error)

    async def sweep_in_turn(self) -> None:
        """Sweep as the only process, and at most once in half an interval. Raises `LeaseLostError`."""
        lease = self._deps.lease
        if lease is None:
            await self.sweep_all()
        elif await lease.take():
            await self._deps.failpoints.hit("media.lease_taken")
            await self.sweep_all()
            await lease.finish(self._deps.clock.now_ms() + round(self._interval_s * 500))
        elif lease.finished_at_ms is not None:
            self.finished_at_ms = lease.finished_at_ms

    async def sweep_all(self) -> SweepStats:
        found = SweepStats()
        for tenant in await self._deps.list_tenants():
            found.add(await self.sweep(tenant))
        self.last, self.finished_at_ms = found, self._deps.clock.now_ms()
        return found

    async def _keep_lease(self) -> None:
        lease = self._deps.lease
        if lease is not None and lease.is_held and not await lease.take():
            raise LeaseLostError

    async def sweep(self, tenant: TenantId) -> SweepStats:
        found = SweepStats()
        self._erased.clear()
        for shard in range(SHARDS):
            await self._sweep_shard(tenant, shard, found)
        await self._keep_lease()
        found.exports += await self._deps.sweep_exports(tenant)
        self.stats.add(found)
        return found

    async def _sweep_shard(self, tenant: TenantId, shard: int, found: SweepStats) -> None:
        rows = self._deps.uploads.list_shard(tenant, shard)
        groups = self._groups(shard_prefix(tenant, shard))
        row, group = await anext(rows, None), await anext(groups, None)
        while row is not None or group is not None:
            await self._keep_lease()
            if group is None or (row is not None and row.id < group[0]):
                assert row is not None  # noqa: S101 - for the type checker
                await self._settle(row, (), found)
                row = await anext(rows, None)
            elif row is None or group[0] < row.id:
                await self._settle_orphan(tenant, *group, found)
                group = await anext(groups, None)
            else:
                await self._settle(row, group[1], found)
                row, group = await anext(rows, None), await anext(groups, None)
        await self._abort_multiparts(tenant, shard, found)

    async def _groups(self, prefix: str) -> AsyncIterator[tuple[str, tuple[str, ...]]]:
        """Yield the keys of each upload, in the order of the uploads' ids."""
        upload = ""
        keys: list[str] = []
        async for key in self._deps.objects.keys(prefix):
            name = key.removeprefix(prefix).partition("/")[0]
            if not _UPLOAD_ID.match(name):  # not written by Tidings
                continue
            if name != upload and keys:
                yield upload, tuple(keys)
                keys = []
            upload = name
            keys.append(key)
        if keys:
            yield upload, tuple(keys)

    async def _settle_orphan(
        self, tenant: TenantId, upload: str, keys: Sequence[str], found: SweepStats
    ) -> None:
        # Race: an upload was started and its file arrived after the rows were listed. So the row is read again. The row
        # is written before a URL is signed: if there is none now, there will never be one.
        found.objects += len(keys)
        row = await self._deps.uploads.find(tenant, upload)
        if row is not None:
            await self._settle(row, keys, found, is_counted=True)
            return
        for key in keys:
            await self._deps.objects.delete(key)
            await self._deps.failpoints.hit("media.orphan_deleted")
        found.orphans += len(keys)

    async def _settle(
        self, upload: Upload, keys: Sequence[str], found: SweepStats, *, is_counted: bool = False
    ) -> None:
        found.rows += 1
        found.objects += 0 if is_counted else len(keys)
        if upload.state is UploadState.DELETING or await self._is_due(upload):
            # Race: a message attaches the upload meanwhile. Then its state has changed and it stays.
            if await self._deps.uploads.change_state(upload, UploadState.DELETING):
                await self._deps.failpoints.hit("media.expired")
                await self._deps.worker.remove(upload)
                found.expired += 1
            return
        if upload.state is UploadState.PENDING:
            return
        if upload.check is CheckState.WAITING:
            await self._republish(upload, found)
        else:
            await self._delete_leftovers(upload, keys, found)
        if not upload.expected <= set(keys):
            await self._confirm_missing(upload, found)

    async def _is_due(self, upload: Upload) -> bool:
        now_ms = self._deps.clock.now_ms()
        if upload.expires_ms is not None and upload.expires_ms <= now_ms:
            return True
        if upload.owner not in self._erased:
            if len(self._erased) >= MAX_CACHED_OWNERS:
                self._erased.clear()
            self._erased[upload.owner] = await self._deps.is_erased(upload.tenant, upload.owner)
        return self._erased[upload.owner]

    async def _republish(self, upload: Upload, found: SweepStats) -> None:
        if upload.created_ms + self._grace_ms < self._deps.clock.now_ms():
            task = MediaTask(tenant=upload.tenant, upload=upload.id, action="process")
            await self._deps.tasks.publish(task)
            found.republished += 1

    async def _delete_leftovers(self, upload: Upload, keys: Sequence[str], found: SweepStats) -> None:
        """Delete objects that an interrupted step has left, such as the original of a clean image."""
        for key in set(keys) - upload.expected:
            await self._deps.objects.delete(key)
            await self._deps.failpoints.hit("media.leftover_deleted")
            found.leftovers += 1

    async def _confirm_missing(self, upload: Upload, found: SweepStats) -> None:
        # Race: the worker replaces the original between the listings of rows and objects. Read both again.
        row = await self._deps.uploads.find(upload.tenant, upload.id)
        if row is None or row.state in (UploadState.PENDING, UploadState.DELETING):
            return
        for key in row.expected:
            if await self._deps.objects.size_of(key) is None:
                found.missing += 1

    async def _abort_multiparts(self, tenant: TenantId, shard: int, found: SweepStats) -> None:
        prefix, now_ms = shard_prefix(tenant, shard), self._deps.clock.now_ms()
        async for opened in self._deps.objects.open_multiparts(prefix):
            name = opened.key.removeprefix(prefix).partition("/")[0]
            if not _UPLOAD_ID.match(name) or ulid_ms(name) + self._grace_ms >= now_ms:
                continue
            row = await self._deps.uploads.find(tenant, name)
            is_used = (
                row is not None and row.state is UploadState.PENDING and row.multipart_id == opened.upload_id
            )
            if not is_used and opened.key == object_key(tenant, name, "original"):
                await self._deps.objects.abort_multipart(opened.key, opened.upload_id)
                await self._deps.failpoints.hit("media.multipart_aborted")
                found.aborted += 1
