"""Process uploaded files, and delete the objects of uploads that are no longer needed."""

import asyncio
import base64
import hashlib
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import TenantId
from tidings.media.model import CheckState, MediaFacts, MediaTask, Upload, UploadState
from tidings.media.ports import FileScanner, ObjectStore, UploadStore

_CONCURRENT = 2
"""Files at a time. Each has a process with up to 1 GB of memory."""

type StripsMetadata = Callable[[TenantId], Awaitable[bool]]


class DecodeFile(Protocol):
    async def __call__(self, path: Path, out: Path, *, strips_metadata: bool) -> MediaFacts: ...


@dataclass(slots=True)
class MediaStats:
    processed: int = 0
    refused: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaWorkerDeps:
    uploads: UploadStore
    objects: ObjectStore
    decode: DecodeFile
    strips_metadata: StripsMetadata
    scanner: FileScanner | None = None
    failpoints: Failpoints = NO_FAILPOINTS


class MediaWorker:
    """Every step can be repeated: a killed worker's tasks are read again by another."""

    def __init__(self, deps: MediaWorkerDeps, stats: MediaStats) -> None:
        self._deps = deps
        self._uploads = deps.uploads
        self._objects = deps.objects
        self.stats = stats

    async def handle(self, tasks: Sequence[MediaTask]) -> None:
        await gather_limited([self.run(task) for task in tasks], _CONCURRENT)

    async def run(self, task: MediaTask) -> None:
        upload = await self._uploads.find(task.tenant, task.upload)
        if upload is None or upload.state is UploadState.PENDING:
            return
        if upload.state is UploadState.DELETING:
            await self.remove(upload)
        elif task.action == "process":
            await self._process(upload)

    async def remove(self, upload: Upload) -> None:
        """Delete the objects of an upload in `DELETING`, then its row. The row remains until nothing is left."""
        if upload.multipart_id is not None:
            await self._objects.abort_multipart(upload.original, upload.multipart_id)
        for key in upload.objects:
            await self._objects.delete(key)
            await self._deps.failpoints.hit("media.object_deleted")
        if await self._uploads.delete(upload):
            self.stats.deleted += 1

    async def _process(self, upload: Upload) -> None:
        if upload.check is CheckState.WAITING:
            folder = Path(tempfile.mkdtemp(prefix="tidings-media-"))
            try:
                facts = await self._examine(upload, folder)
                if facts is None or not await self._store(upload, facts, folder):
                    return
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        else:
            facts = upload.facts
        if facts.is_clean or facts.is_infected:
            # After the row: until then the row refers to the original. A repeated task deletes it too.
            await self._objects.delete(upload.original)
            await self._deps.failpoints.hit("media.original_deleted")

    async def _examine(self, upload: Upload, folder: Path) -> MediaFacts | None:
        """Return the facts, or None if the object was deleted with its upload."""
        path = folder / "file"
        try:
            found = await self._fetch(upload, path)
        except UnavailableError:
            if await self._objects.size_of(upload.original) is None:
                return None
            raise
        if found != upload.sha256:
            return MediaFacts(reason="the bytes do not match the declared checksum")
        refused = None if self._deps.scanner is None else await self._scan(self._deps.scanner, path)
        if refused is not None:
            return refused
        strips = await self._deps.strips_metadata(upload.tenant)
        return await self._deps.decode(path, folder, strips_metadata=strips)

    async def _scan(self, scanner: FileScanner, path: Path) -> MediaFacts | None:
        """Return why a file is refused. While the scanner does not answer, the file waits: the task is repeated."""
        found = await scanner.check(path)
        if found.is_too_large:
            return MediaFacts(reason="the file is too large to be scanned for malware")
        if found.infection is not None:
            return MediaFacts(reason=f"the file contains malware: {found.infection}", is_infected=True)
        return None

    async def _fetch(self, upload: Upload, path: Path) -> str:
        """Write the object to a file and return its SHA-256 in base64."""
        digest = hashlib.sha256()
        with path.open("wb") as file:
            async for chunk in self._objects.read(upload.original):
                digest.update(chunk)
                file.write(chunk)
        return base64.b64encode(digest.digest()).decode()

    async def _store(self, upload: Upload, facts: MediaFacts, folder: Path) -> bool:
        """Store what was made of the file, then the facts. False: the upload is being deleted, or has other facts."""
        if facts.reason is not None:
            self.stats.refused += 1
            is_recorded = await self._uploads.record_facts(upload, CheckState.REFUSED, facts)
            await self._deps.failpoints.hit("media.recorded")
            return is_recorded
        if facts.has_thumbnail:
            await self._put(upload.thumbnail, folder / "thumbnail", "image/webp")
        if facts.is_clean:
            await self._put(upload.clean, folder / "clean", facts.type)
        await self._deps.failpoints.hit("media.objects_written")
        if await self._uploads.record_facts(upload, CheckState.READY, facts):
            self.stats.processed += 1
            await self._deps.failpoints.hit("media.recorded")
            return True
        row = await self._uploads.find(upload.tenant, upload.id)
        if row is None or row.state is UploadState.DELETING:
            # Race: the message is redacted while its file is processed, and another worker has deleted the objects before
            # these were written. If this worker dies before it deletes them, the sweeper does.
            for key in upload.objects:
                await self._objects.delete(key)
        # Race: after a rebalance, two workers process the file, and the other one recorded another result: it exceeded its
        # time, or the tenant's policy changed. The row refers to its objects; the sweeper deletes what it does not refer to.
        return False

    async def _put(self, key: str, path: Path, content_type: str) -> None:
        await self._objects.put(key, await asyncio.to_thread(path.read_bytes), content_type)
