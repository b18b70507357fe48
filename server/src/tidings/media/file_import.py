"""Store the files of imported messages. They get the objects and rows of other uploads, and the media worker processes them."""

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.media.model import ImportedFile, MediaTask, Upload, UploadState
from tidings.media.ports import FileStore, MediaTaskPublisher, UploadStore
from tidings.media.rules import sanitize_name
from tidings.tenants.model import MediaPolicy

_CONCURRENT: Final = 8
_MB: Final = 1024 * 1024


class FileImporter:
    """Stores files of one tenant. Every step can be repeated.

    The row is written first, with the place of its message, then the object. Then the upload is attached, and the caller
    writes the message. The sweeper deletes objects without a row, and uploads that expire; those of an import do not.
    """

    def __init__(
        self,
        uploads: UploadStore,
        objects: FileStore,
        tasks: MediaTaskPublisher,
        policy: MediaPolicy,
        clock: Clock,
    ) -> None:
        self._uploads = uploads
        self._objects = objects
        self._tasks = tasks
        self._policy = policy
        self._clock = clock
        self._slots = asyncio.Semaphore(_CONCURRENT)
        self._creating = asyncio.Lock()

    async def store(self, file: ImportedFile) -> bool:
        """Store a file and attach it to its message. False: an earlier import did it. Raises `storage_full`, `overloaded`."""
        tenant = file.chat.tenant
        async with self._slots:
            found = await self._uploads.find(tenant, file.upload)
            if found is not None and found.state is not UploadState.PENDING:
                return False
            upload = await self._row(file)
            if found is None:
                await self._create(upload)
            elif found.sha256 != upload.sha256:
                raise _changed(file)
            await self._put(file, upload)
            if not await self._uploads.change_state(upload, UploadState.ATTACHED):
                raise _changed(file)
        # If Kafka does not accept it, the sweeper publishes it again.
        self._tasks.publish_soon(MediaTask(tenant=tenant, upload=upload.id, action="process"))
        return True

    async def _row(self, file: ImportedFile) -> Upload:
        return Upload(
            tenant=file.chat.tenant,
            id=file.upload,
            owner=file.owner,
            chat=file.chat.chat,
            name=sanitize_name(file.name),
            type=file.type,
            size=file.size,
            sha256=await asyncio.to_thread(_sha256, file.path),
            state=UploadState.PENDING,
            created_ms=self._clock.now_ms(),
            sequence=file.sequence,
            client_key=file.client_key,
        )

    async def _create(self, upload: Upload) -> None:
        """Write the row, if the tenant has space. One at a time, so that each is counted before the next is checked."""
        async with self._creating:
            stored, limit = await self._uploads.total_bytes(upload.tenant), self._policy.total_mb * _MB
            if stored + upload.size > limit:
                raise TidingsError(
                    Code.STORAGE_FULL,
                    f"The tenant stores {stored} of {limit} bytes.",
                    hint="Raise the limit with `tidings media set`, and run the import again.",
                )
            await self._uploads.create(upload)

    async def _put(self, file: ImportedFile, upload: Upload) -> None:
        try:
            await self._objects.put_file(
                upload.original,
                file.path,
                size=upload.size,
                sha256=upload.sha256,
                content_type=upload.type,
            )
        except UnavailableError as error:
            raise TidingsError(
                Code.OVERLOADED,
                f"The store of attachments did not accept {file.path}: {error}",
                hint="Run the import again: it continues.",
            ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return base64.b64encode(hashlib.file_digest(file, "sha256").digest()).decode()


def _changed(file: ImportedFile) -> TidingsError:
    return TidingsError(
        Code.REQUEST_INVALID,
        f"The file {file.path} is not the one that an earlier import has begun to store.",
        hint="Continue with the same files as before.",
    )
