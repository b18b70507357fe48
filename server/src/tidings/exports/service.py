"""Request the export of a user, show how far it is, and link to its archive."""

import secrets
from collections.abc import Callable

from tidings.exports import rules
from tidings.exports.model import ArchiveLink, Export
from tidings.exports.ports import ExportStore, IsExportable
from tidings.jobs.ports import JobStarter
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.media.ports import ObjectStore


class ExportService:
    def __init__(
        self,
        store: ExportStore,
        is_exportable: IsExportable,
        jobs: JobStarter,
        objects: ObjectStore,
        clock: Clock,
        *,
        download_header: Callable[[str], str],
        url_life_s: int,
    ) -> None:
        """`download_header` returns the header `Content-Disposition` for a file name."""
        self._store = store
        self._is_exportable = is_exportable
        self._jobs = jobs
        self._objects = objects
        self._clock = clock
        self._download_header = download_header
        self._url_life_s = url_life_s

    async def request(self, tenant: TenantId, user: UserId, requested_by: str) -> Export:
        """Start an export, or return the one that runs. Raises `user_not_found`.

        The export is stored before its job. After a failure in between, a repeated request starts the job. A new export
        replaces one that has ended; its archive is deleted when the new one is stored.
        """
        export = await self._store.read(tenant, user)
        if export is None or not rules.may_run(export, self._clock.now_ms()):
            export = await self._create(tenant, user, requested_by, export)
            note_change(None, {"export": export.id})
        await self._jobs.start(rules.job_of(export))
        return export

    async def find(self, tenant: TenantId, user: UserId) -> Export | None:
        """Return the last export of a user; None: none was requested in the last 30 days."""
        return await self._store.read(tenant, user)

    async def read(self, tenant: TenantId, user: UserId) -> Export:
        """Return the last export of a user. Raises `job_not_found`."""
        export = await self.find(tenant, user)
        if export is None:
            raise TidingsError(
                Code.JOB_NOT_FOUND, f"No export of user {user} was requested in the last 30 days."
            )
        return export

    def link(self, export: Export) -> ArchiveLink | None:
        """Return a URL to download the archive; None if there is none, or no longer."""
        now_ms = self._clock.now_ms()
        if not rules.is_downloadable(export, now_ms):
            return None
        life_s = min(self._url_life_s, max((rules.expires_ms(export) - now_ms) // 1000, 1))
        query = {
            "response-content-type": "application/zip",
            "response-content-disposition": self._download_header(f"{export.user}.zip"),
        }
        url = self._objects.presign("GET", rules.archive_key(export), life_s, query=query)
        return ArchiveLink(url, now_ms + life_s * 1000)

    async def _create(
        self, tenant: TenantId, user: UserId, requested_by: str, replaced: Export | None
    ) -> Export:
        if not await self._is_exportable(tenant, user):
            raise TidingsError(Code.USER_NOT_FOUND, f"User {user} does not exist.")
        now_ms = self._clock.now_ms()
        export = Export(
            tenant=tenant,
            user=user,
            id=rules.new_export_id(now_ms, secrets.randbits(80), replaced),
            requested_ms=now_ms,
            requested_by=requested_by,
        )
        return await self._store.create(export, replaced)
