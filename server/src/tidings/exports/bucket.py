"""The objects of exports in the bucket: the parts of a running export, and its archive.

The keys have the user, the export and, for a part, the turn of the worker that stored it. So a worker that was replaced
by another one overwrites nothing, and objects are found without a row.
"""

import hashlib
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from tidings.exports.model import Export, ExportCursor, ExportId, ExportState, StoredPart
from tidings.exports.ports import ExportStore, IsErased
from tidings.exports.rules import (
    archive_key,
    export_of_key,
    export_prefix,
    is_swept,
    tenant_prefix,
    user_prefix,
)
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import TenantId, UserId
from tidings.media.ports import ObjectStore

UPLOAD_BYTES = 16 * 1024 * 1024
"""Size of the parts of the multipart upload of an archive; the last one may be smaller."""
MAX_UPLOAD_PARTS: Final = 10_000
"""As many as S3 accepts: archives of up to 160 GB."""
_BINARY: Final = "application/octet-stream"
_decode_cursor = msgspec.json.Decoder(ExportCursor).decode


class ExportTakenError(Exception):
    """Another worker has taken the export, or it was deleted. Nothing was stored."""


class BucketPartStore:
    """The parts of an export, for the worker that has its turn.

    A part is valid if its step is before the cursor, and no later turn has stored a part of this step. A worker that lost
    its turn has an older one: the worker after it has stored this step again.
    """

    def __init__(self, objects: ObjectStore, exports: ExportStore, export: Export) -> None:
        self._objects = objects
        self._exports = exports
        self._prefix = f"{export_prefix(export.tenant, export.user, export.id)}parts/"
        self._turns: dict[StoredPart, int] = {}
        self.export = export

    async def read_cursor(self) -> bytes | None:
        return self.export.cursor

    async def put_cursor(self, cursor: bytes, /) -> None:
        """Store the cursor. Raises `ExportTakenError`."""
        after = msgspec.structs.replace(self.export, cursor=cursor, counts=_decode_cursor(cursor).counts)
        await self.save(after)

    async def save(self, export: Export) -> None:
        """Store the progress of this turn. Raises `ExportTakenError`."""
        if not await self._exports.save(export):
            raise ExportTakenError
        self.export = export

    async def put(self, path: str, step: int, body: bytes, /) -> None:
        await self._objects.put(self._key(StoredPart(path, step, len(body)), self.export.turn), body, _BINARY)

    async def list(self) -> Sequence[StoredPart]:
        step = 0 if self.export.cursor is None else _decode_cursor(self.export.cursor).step
        found: list[tuple[StoredPart, int]] = []
        latest: dict[int, int] = {}
        async for key in self._objects.keys(self._prefix):
            part, turn = self._part(key)
            if part.step < step:
                found.append((part, turn))
                latest[part.step] = max(turn, latest.get(part.step, 0))
        if len(latest) != step:
            raise TidingsError(
                Code.INTERNAL, f"Parts of {step - len(latest)} steps of the export are missing."
            )
        self._turns = {part: turn for part, turn in found if turn == latest[part.step]}
        return sorted(self._turns)

    async def read(self, part: StoredPart, /) -> bytes:
        """Return a part that `list` has returned."""
        key = self._key(part, self._turns[part])
        return b"".join([chunk async for chunk in self._objects.read(key)])

    async def delete(self, part: StoredPart, /) -> None:
        await self._objects.delete(self._key(part, self._turns[part]))

    def _key(self, part: StoredPart, turn: int) -> str:
        return f"{self._prefix}{quote(part.path, safe='')}.{part.step}.{turn}.{part.size}"

    def _part(self, key: str) -> tuple[StoredPart, int]:
        path, step, turn, size = key.removeprefix(self._prefix).rsplit(".", 3)
        return StoredPart(unquote(path), int(step), int(size)), int(turn)


class ExportObjects:
    """The objects of all exports. Raises `UnavailableError`."""

    def __init__(self, objects: ObjectStore, failpoints: Failpoints = NO_FAILPOINTS) -> None:
        self._objects = objects
        self._failpoints = failpoints

    async def upload(self, key: str, chunks: AsyncIterator[bytes]) -> int:
        """Store an archive and return its size. The object appears when it is complete.

        Each attempt has a multipart upload of its own, so two workers do not mix their bytes. Raises `upload_too_large`.
        """
        upload_id = await self._objects.start_multipart(key, "application/zip")
        sums: dict[int, str] = {}
        size, waiting = 0, bytearray()
        async for chunk in chunks:
            size += len(chunk)
            waiting += chunk
            while len(waiting) >= UPLOAD_BYTES:
                await self._put_part(key, upload_id, sums, bytes(waiting[:UPLOAD_BYTES]))
                del waiting[:UPLOAD_BYTES]
        if waiting:
            await self._put_part(key, upload_id, sums, bytes(waiting))
        await self._objects.complete_multipart(key, upload_id, sums)
        if await self._objects.size_of(key) != size:
            raise UnavailableError(f"S3: {key} does not have the {size} bytes that were stored.")
        return size

    async def _put_part(self, key: str, upload_id: str, sums: dict[int, str], body: bytes) -> None:
        number = len(sums) + 1
        if number > MAX_UPLOAD_PARTS:
            raise TidingsError(
                Code.UPLOAD_TOO_LARGE,
                f"The archive has more than {MAX_UPLOAD_PARTS} parts of {UPLOAD_BYTES} bytes.",
            )
        sums[number] = b64encode(hashlib.sha256(body).digest()).decode()
        await self._objects.put_part(key, upload_id, number, body, sums[number])
        await self._failpoints.hit("exports.part_uploaded")

    async def delete_leftovers(self, export: Export) -> None:
        """Delete the parts of an export that has ended, and earlier exports of the user. An archive that is ready stays.

        Race: the user requests a later export meanwhile, and another worker stores its parts. They stay as well.
        """
        kept = archive_key(export) if export.state is ExportState.READY else None

        def is_left(key: str) -> bool:
            found = export_of_key(export.tenant, key)
            return found is not None and found[1] <= export.id

        await self._delete(user_prefix(export.tenant, export.user), is_left, kept)

    async def delete_export(self, tenant: TenantId, user: UserId, export: ExportId) -> None:
        await self._delete(export_prefix(tenant, user, export))

    async def delete_user(self, tenant: TenantId, user: UserId) -> int:
        """Delete all objects of the exports of a user, and return their number."""
        return await self._delete(user_prefix(tenant, user))

    async def delete_tenant(self, tenant: TenantId) -> int:
        """Delete all objects of the exports of a tenant, and return their number."""
        return await self._delete(tenant_prefix(tenant))

    async def _delete(
        self, prefix: str, is_due: Callable[[str], bool] = lambda _: True, kept: str | None = None
    ) -> int:
        # Before the objects: a worker that uploads an archive cannot complete it any more.
        async for opened in self._objects.open_multiparts(prefix):
            if is_due(opened.key):
                await self._objects.abort_multipart(opened.key, opened.upload_id)
        keys = [key async for key in self._objects.keys(prefix) if is_due(key) and key != kept]
        for key in keys:
            await self._objects.delete(key)
            await self._failpoints.hit("exports.object_deleted")
        return len(keys)

    async def sweep(self, tenant: TenantId, now_ms: int, is_erased: IsErased) -> int:
        """Delete the objects of expired exports and of erased users, and return their number."""
        erased: dict[UserId, bool] = {}

        async def is_due(key: str) -> bool:
            found = export_of_key(tenant, key)
            if found is None:
                return False
            user, export = found
            if is_swept(export, now_ms):
                return True
            if user not in erased:
                erased[user] = await is_erased(tenant, user)
            return erased[user]

        prefix, count = tenant_prefix(tenant), 0
        async for opened in self._objects.open_multiparts(prefix):
            if await is_due(opened.key):
                await self._objects.abort_multipart(opened.key, opened.upload_id)
        async for key in self._objects.keys(prefix):
            if await is_due(key):
                await self._objects.delete(key)
                count += 1
        return count


class ExportEraser:
    """Deletes the export of an erased user: the row, then the objects."""

    def __init__(self, exports: ExportStore, objects: ExportObjects) -> None:
        self._exports = exports
        self._objects = objects

    async def delete_user(self, tenant: TenantId, user: UserId, /) -> int:
        # Race: a worker stores objects meanwhile. Without its row it cannot store its cursor or its result; then it
        # deletes its objects. If it dies before that, the sweeper deletes them.
        await self._exports.delete(tenant, user)
        return await self._translated(self._objects.delete_user(tenant, user))

    async def delete_tenant(self, tenant: TenantId, /) -> int:
        """Delete the objects of all users. The rows are deleted with the users before that."""
        return await self._translated(self._objects.delete_tenant(tenant))

    async def _translated(self, deletion: Awaitable[int]) -> int:
        try:
            return await deletion
        except UnavailableError as error:
            raise TidingsError(Code.OVERLOADED, "The bucket does not answer.") from error
