"""Write the archive of an export: a ZIP file, as a stream of bytes.

The memory does not depend on the sizes of the files. It grows with their number, about 1.5 KB for each: a ZIP file
ends with a directory of its files. The bytes depend only on the parts, the cursor and the attachments, so a process that
dies is followed by one that writes the archive again.
"""

import hashlib
import zipfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

import msgspec

from tidings.exports.model import FORMAT_VERSION, ExportCursor, StoredPart
from tidings.exports.ports import AttachmentObjects, PartStore
from tidings.kernel.clock import format_ms
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints

OBJECT_LIST: Final = "@objects"
"""Parts with the attachments and their objects in the bucket. Not a file of the archive."""
_PRIVATE: Final = 0o600 << 16
_FIRST: Final = ("index.html", "README.txt")
"""Files that a reader looks for."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[str, str]).decode


class _ByteQueue:
    """A file that cannot seek. The caller takes the written bytes."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._chunks.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: `take` returns everything."""

    def close(self) -> None:
        """Do nothing: `take` returns the rest."""

    def take(self) -> bytes:
        chunks, self._chunks = self._chunks, []
        return b"".join(chunks)


class ArchiveWriter:
    """`objects` is None if the installation has no bucket: then no message has attachments."""

    def __init__(
        self,
        parts: PartStore,
        objects: AttachmentObjects | None,
        cursor: ExportCursor,
        failpoints: Failpoints = NO_FAILPOINTS,
    ) -> None:
        self._parts = parts
        self._objects = objects
        self._cursor = cursor
        self._failpoints = failpoints
        self._queue = _ByteQueue()
        self._zip = zipfile.ZipFile(self._queue, "w")
        self._at = datetime.fromtimestamp(cursor.finished_ms / 1000, UTC)
        self._files: list[dict[str, Any]] = []
        self._missing: list[str] = []

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the archive. Raises `UnavailableError` if the bucket does not answer."""
        stored = await self._parts.list()
        files = sorted((part for part in stored if part.path != OBJECT_LIST), key=_order)
        for path, parts in groupby(files, key=lambda part: part.path):
            async for chunk in self._add_file(path, list(parts)):
                yield chunk
        for part in (part for part in stored if part.path == OBJECT_LIST):
            for line in (await self._parts.read(part)).splitlines():
                async for chunk in self._add_attachment(*_decode(line)):
                    yield chunk
        with self._zip.open(self._info("manifest.json"), "w") as file:
            file.write(msgspec.json.format(_encode(self._manifest()), indent=1))
        self._zip.close()
        yield self._queue.take()

    async def _add_file(self, path: str, parts: Sequence[StoredPart]) -> AsyncIterator[bytes]:
        async def read() -> AsyncIterator[bytes]:
            for part in parts:
                yield await self._parts.read(part)

        size = sum(part.size for part in parts)
        async for chunk in self._add(self._info(path, size), read()):
            yield chunk

    async def _add_attachment(self, path: str, key: str) -> AsyncIterator[bytes]:
        """Add a file of the bucket. One that was deleted since, with its message, is listed as missing."""
        size = None if self._objects is None else await self._objects.size_of(key)
        if self._objects is None or size is None:
            self._missing.append(path)
            return
        info = self._info(path, size)
        info.compress_type = zipfile.ZIP_STORED  # Images, audio and video are compressed.
        async for chunk in self._add(info, self._objects.read(key)):
            yield chunk

    async def _add(self, info: zipfile.ZipInfo, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w") as file:
            async for chunk in body:
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
                yield self._queue.take()
        self._files.append({"path": info.filename, "size": size, "sha256": digest.hexdigest()})
        yield self._queue.take()
        await self._failpoints.hit("exports.file_added")

    def _info(self, path: str, size: int = 0) -> zipfile.ZipInfo:
        at = self._at
        info = zipfile.ZipInfo(path, (at.year, at.month, at.day, at.hour, at.minute, at.second))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = _PRIVATE
        info.file_size = size
        return info

    def _manifest(self) -> dict[str, Any]:
        cursor = self._cursor
        return {
            "format": "tidings-export",
            "version": FORMAT_VERSION,
            "tenant": cursor.tenant,
            "user": cursor.user,
            "started_at": format_ms(cursor.started_ms),
            "finished_at": format_ms(cursor.finished_ms),
            "counts": cursor.counts,
            "files": self._files,
            "missing": self._missing,
        }


def _order(part: StoredPart) -> tuple[int, str, int]:
    first = _FIRST.index(part.path) if part.path in _FIRST else len(_FIRST)
    return first, part.path, part.step
