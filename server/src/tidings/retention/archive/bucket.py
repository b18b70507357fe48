"""The parts of the archive and their manifests in the bucket.

A part is stored first and read back, then its manifest is stored. So every part that has a manifest is complete. Both are
never changed. A process that dies in between leaves a part without a manifest: the keys of its rows are lost.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import TenantId, new_ulid
from tidings.media.ports import ObjectStore
from tidings.retention.archive import rules
from tidings.retention.archive.model import ArchiveDamagedError, ArchivedRow, ArchiveManifest
from tidings.retention.archive.ports import PartFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARQUET: Final = "application/vnd.apache.parquet"
_decode_manifest = msgspec.json.Decoder(ArchiveManifest).decode


class ArchiveObjects:
    """Every method raises `overloaded` while the bucket does not answer."""

    def __init__(
        self, objects: ObjectStore, format_: PartFormat, failpoints: Failpoints = NO_FAILPOINTS
    ) -> None:
        self._objects = objects
        self._format = format_
        self._failpoints = failpoints

    async def write(self, tenant: TenantId, month: str, rows: Sequence[ArchivedRow]) -> str:
        """Store a part and its manifest, and return the part. Once it has returned, both are durable and were read back."""
        part = new_ulid()
        body = await asyncio.to_thread(self._format.encode, rows)
        manifest = ArchiveManifest(
            tenant=tenant,
            month=month,
            part=part,
            rows=len(rows),
            bytes=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
            chats=rules.ranges_of(rows),
        )
        with _translated():
            await self._objects.put(rules.part_key(tenant, month, part), body, _PARQUET)
            await self._failpoints.hit("archive.part_stored")
            await self._verified(manifest)
            key = rules.manifest_key(tenant, month, part)
            await self._objects.put(key, msgspec.json.encode(manifest), "application/json")
        await self._failpoints.hit("archive.manifest_stored")
        return part

    async def _verified(self, manifest: ArchiveManifest) -> None:
        try:
            await self.read(manifest)
        except ArchiveDamagedError as error:
            raise TidingsError(
                Code.OVERLOADED, f"The bucket returned another part than was stored: {error}"
            ) from error

    async def manifests(self, tenant: TenantId, month: str | None = None) -> AsyncIterator[ArchiveManifest]:
        """Yield the manifests of a tenant, or of one month, by month and time."""
        with _translated():
            async for key in self._objects.keys(rules.manifest_prefix(tenant, month)):
                yield _decode_manifest(await self._body(key))

    async def read(self, manifest: ArchiveManifest) -> list[ArchivedRow]:
        """Return the rows of a part, by chat and sequence. Raises `ArchiveDamagedError`."""
        key = rules.part_key(manifest.tenant, manifest.month, manifest.part)
        with _translated():
            if await self._objects.size_of(key) != manifest.bytes:
                raise ArchiveDamagedError(f"{key} is missing, or does not have {manifest.bytes} bytes")
            body = await self._body(key)
        if hashlib.sha256(body).hexdigest() != manifest.sha256:
            raise ArchiveDamagedError(f"{key} does not have the SHA-256 {manifest.sha256}")
        rows = await asyncio.to_thread(self._format.decode, body)
        if len(rows) != manifest.rows or rules.ranges_of(rows) != manifest.chats:
            raise ArchiveDamagedError(f"{key} does not have the messages that its manifest lists")
        return rows

    async def _body(self, key: str) -> bytes:
        return b"".join([chunk async for chunk in self._objects.read(key)])


class TenantArchiveEraser:
    """Deletes the archive of a tenant. Needs no Parquet."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def delete_tenant(self, tenant: TenantId, /) -> int:
        """Delete all objects of the archive, and return their number. Idempotent."""
        with _translated():
            keys = [key async for key in self._objects.keys(rules.tenant_prefix(tenant))]
            for key in keys:
                await self._objects.delete(key)
        return len(keys)


@contextmanager
def _translated() -> "Iterator[None]":
    try:
        yield
    except UnavailableError as error:
        raise TidingsError(Code.OVERLOADED, "The bucket does not answer.") from error
