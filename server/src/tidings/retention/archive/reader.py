"""Read the archive of a tenant back: each message once, with the entry that it has in the log now."""

from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry
from tidings.messages.ports import LogReader
from tidings.retention.archive import rules
from tidings.retention.archive.bucket import ArchiveObjects
from tidings.retention.archive.model import (
    ArchiveDamagedError,
    ArchivedRow,
    ArchiveManifest,
    ArchiveProblem,
    ArchiveTotals,
)


class ArchivedEntry(NamedTuple):
    """An entry as the log has it now, and its content as the log had it.

    `content` is None if the key of the row was deleted with the content of the message, or the row was altered.
    """

    chat: ChatKey
    entry: Entry
    content: bytes | None


class ArchiveReader:
    def __init__(self, objects: ArchiveObjects, log: LogReader) -> None:
        self._objects = objects
        self._log = log

    async def read(
        self, tenant: TenantId, month: str, chat: ChatId | None = None
    ) -> AsyncIterator[ArchivedEntry]:
        """Yield the archived messages of a month, or of one chat in it: by part, chat and sequence.

        Rows that no entry refers to are left out: a process has died before it removed the content from the log. Raises
        `ArchiveDamagedError`.
        """
        async for manifest in self._objects.manifests(tenant, month):
            if chat is not None and all(each.chat != chat for each in manifest.chats):
                continue
            for of_chat, rows in groupby(await self._objects.read(manifest), lambda row: row.chat):
                if chat is None or of_chat == chat:
                    async for found in self._messages(manifest, list(rows)):
                        yield found

    async def _messages(
        self, manifest: ArchiveManifest, rows: Sequence[ArchivedRow]
    ) -> AsyncIterator[ArchivedEntry]:
        chat, by_sequence = ChatKey(manifest.tenant, rows[0].chat), {row.sequence: row for row in rows}
        after, last = rows[0].sequence - 1, rows[-1].sequence
        while after < last:
            entries = await self._log.between(chat, after, last)
            if not entries:
                return
            after = entries[-1].sequence
            for entry in entries:
                row = by_sequence.get(entry.sequence)
                if row is not None and entry.archived_in == manifest.part:
                    key = entry.archive_key
                    yield ArchivedEntry(chat, entry, None if key is None else rules.open_row(chat, row, key))

    async def verify(self, tenant: TenantId, totals: ArchiveTotals) -> AsyncIterator[ArchiveProblem]:
        """Compare all parts of a tenant with their manifests, count them in `totals`, and yield those that do not match."""
        async for manifest in self._objects.manifests(tenant):
            totals.parts += 1
            totals.rows += manifest.rows
            totals.bytes += manifest.bytes
            try:
                await self._objects.read(manifest)
            except ArchiveDamagedError as error:
                yield ArchiveProblem(manifest, str(error))
