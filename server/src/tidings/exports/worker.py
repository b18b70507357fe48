"""Run exports as jobs: one chunk each, which is processed again until the archive is stored.

A worker may die anywhere. The next one continues after the last step whose cursor was stored, and an archive that was not
complete is written again from the same parts.
"""

import logging
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from tidings.exports import rules
from tidings.exports.bucket import BucketPartStore, ExportObjects, ExportTakenError
from tidings.exports.exporter import Exporter
from tidings.exports.model import Export, ExportId, ExportPhase, ExportState
from tidings.exports.ports import ExportStore, UserData
from tidings.jobs.model import ChunkRef, ChunkResult, JobState
from tidings.jobs.ports import ChunkPublisher, JobStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import UserId
from tidings.media.ports import ObjectStore

RUN_MS: Final = 10_000
"""How long a worker runs steps of one export before it lets others have their turn. An archive is written in one turn."""

type OpenUserData = Callable[[], UserData]
"""Returns a reader for one turn. It caches names of users of one tenant."""

_log = logging.getLogger(__name__)


class ExportWorker:
    def __init__(
        self,
        store: ExportStore,
        objects: ObjectStore,
        open_data: OpenUserData,
        *,
        jobs: JobStore,
        chunks: ChunkPublisher,
        clock: Clock,
        failpoints: Failpoints = NO_FAILPOINTS,
    ) -> None:
        self._store = store
        self._objects = objects
        self._files = ExportObjects(objects, failpoints)
        self._open_data = open_data
        self._jobs = jobs
        self._chunks = chunks
        self._clock = clock
        self._failpoints = failpoints

    async def process(self, ref: ChunkRef) -> None:
        """Continue an export for one turn, and publish the chunk again if it is not over.

        A worker that dies publishes nothing; then the job sweeper does. Raises retryable errors; then process it again.
        """
        job = await self._jobs.read(ref.tenant, ref.job)
        if job is None or job.user is None or job.state is not JobState.RUNNING or ref.chunk >= job.chunks:
            return
        if await self._jobs.is_done(ref.tenant, ref.job, ref.chunk):
            return
        try:
            result = await self._continue(ref, job.user)
        except UnavailableError as error:
            raise TidingsError(Code.OVERLOADED, "The bucket does not answer.") from error
        if result is None:
            self._chunks.publish([ref])
        else:
            await self._jobs.mark_done(ref.tenant, ref.job, result)

    async def _continue(self, ref: ChunkRef, user: UserId) -> ChunkResult | None:
        """Return the result of an export that has ended, or None if it continues."""
        export = await self._read(ref, user)
        if export is not None and export.state is ExportState.RUNNING:
            try:
                await self._run(export)
            except ExportTakenError:
                _log.info("another worker continues the export %s", export.id)
            export = await self._read(ref, user)
        at_ms = self._clock.now_ms()
        if export is None:
            await self._files.delete_export(ref.tenant, user, ExportId(ref.job))
            return ChunkResult(chunk=ref.chunk, users=0, failed=(), at_ms=at_ms)
        if export.state is ExportState.RUNNING:
            return None
        await self._files.delete_leftovers(export)
        is_ready = export.state is ExportState.READY
        return ChunkResult(
            chunk=ref.chunk, users=int(is_ready), failed=() if is_ready else (user,), at_ms=at_ms
        )

    async def _read(self, ref: ChunkRef, user: UserId) -> Export | None:
        """Return the export of the job. None: the user was erased, or a later export has replaced it."""
        export = await self._store.read(ref.tenant, user)
        return export if export is not None and export.id == ExportId(ref.job) else None

    async def _run(self, export: Export) -> None:
        """Run one turn. Raises `ExportTakenError` if the export is no longer that of this worker."""
        taken = await self._store.take(export)
        if taken is None:
            raise ExportTakenError
        await self._failpoints.hit("exports.taken")
        parts = BucketPartStore(self._objects, self._store, taken)
        if not rules.may_run(taken, self._clock.now_ms()):
            await self._fail(parts, "timed_out")
            return
        try:
            await self._write(parts)
        except TidingsError as error:
            if error.retryable:
                raise
            _log.warning("the export %s failed: %s", export.id, error)
            await self._fail(parts, error.code)

    async def _write(self, parts: BucketPartStore) -> None:
        """Store parts until the turn ends. If all are stored, store the archive."""
        tenant, user = parts.export.tenant, parts.export.user
        exporter = Exporter(self._open_data(), parts, self._objects, self._clock, self._failpoints)
        cursor = await exporter.advance(tenant, user, self._clock.now_ms() + RUN_MS)
        if cursor.phase is not ExportPhase.COLLECTED:
            return
        size = await self._files.upload(rules.archive_key(parts.export), exporter.archive(cursor).chunks())
        await self._failpoints.hit("exports.archive_stored")
        await self._end(replace(parts.export, state=ExportState.READY, archive_bytes=size), parts)

    async def _fail(self, parts: BucketPartStore, failure: str) -> None:
        await self._end(replace(parts.export, state=ExportState.FAILED, failure=failure), parts)

    async def _end(self, export: Export, parts: BucketPartStore) -> None:
        await parts.save(replace(export, cursor=None, finished_ms=self._clock.now_ms()))
        await self._failpoints.hit("exports.ended")
