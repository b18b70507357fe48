"""The index in a directory of this machine, in process. Needs the extra `search` (tantivy).

One process writes, and holds the lock of the directory. Any process of the same machine reads the files.
"""

import asyncio
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, time
from typing import Final

import tantivy

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.group_commit import GroupCommit
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.search.model import Candidate, CandidateRequest, IndexChange, MessageRef, SearchDocument
from tidings.search.store import tantivy_schema as schema

_HEAP_BYTES: Final = 60_000_000
_RELOAD_EVERY_S: Final = 0.25
_MAX_KNOWN_VERSIONS: Final = 100_000

type Write = Callable[[tantivy.IndexWriter], None]


class TantivySearchReader:
    """Reads an index that another process of this machine writes."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / schema.FORMAT
        self._index: tantivy.Index | None = None
        self._loaded_at = 0.0

    async def find(self, request: CandidateRequest) -> Sequence[Candidate]:
        return await self._read(lambda searcher: schema.find_candidates(searcher, request))

    async def _read[T](self, look: Callable[[tantivy.Searcher], T]) -> T:
        """Look at the index in a thread. Raises `overloaded`."""
        try:
            return await asyncio.to_thread(lambda: look(self._searcher()))
        except (ValueError, OSError) as error:
            self._index = None
            raise _unavailable(f"The index in {self._path} cannot be read: {error}") from error

    def _searcher(self) -> tantivy.Searcher:
        # Race: several threads open the index, or one drops it after an error. Each uses the index that it has seen.
        now, index = monotonic(), self._index
        if index is None:
            if not tantivy.Index.exists(str(self._path)):
                raise _unavailable(f"There is no index in {self._path}.")
            index = self._index = tantivy.Index.open(str(self._path))
            index.config_reader("manual")
            self._loaded_at = 0.0
        if now >= self._loaded_at + _RELOAD_EVERY_S:
            index.reload()
            self._loaded_at = now
        return index.searcher()


class TantivySearchIndex(TantivySearchReader):
    """Writes the index. Raises `settings_invalid` if another process writes it.

    Concurrent changes share a commit, which is flushed to the disk.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        _delete_other_formats(directory)
        self._path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._written = tantivy.Index(schema.SCHEMA, path=str(self._path))
        self._writer: tantivy.IndexWriter | None = self._open_writer()
        self._commits = GroupCommit(self._write_all)
        self._versions: OrderedDict[MessageRef, int] = OrderedDict()
        self._mark = directory / "purged"
        """A file whose time is that of the last purge."""

    def _open_writer(self) -> tantivy.IndexWriter:
        try:
            return self._written.writer(heap_size=_HEAP_BYTES, num_threads=1)
        except ValueError as error:
            raise TidingsError(
                Code.SETTINGS_INVALID,
                f"Cannot write the index in {self._path}: {error}",
                hint="One process writes an index. Stop the other `tidings run search`, or use OpenSearch.",
            ) from error

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        current = [change for change in changes if self._note_version(change)]

        def write(writer: tantivy.IndexWriter) -> None:
            for change in current:
                if isinstance(change, SearchDocument):
                    schema.replace_document(writer, change)
                else:
                    schema.remove_document(writer, change.ref)

        await self._commit(write)

    def _note_version(self, change: IndexChange) -> bool:
        """Return whether the change is current."""
        # Race: a rebuild reads a message, the indexer applies its redaction, and then the rebuild applies what it read.
        # Versions of the last changes are enough: a rebuild applies what it has read within seconds, and after a restart
        # it reads again.
        if change.version < self._versions.get(change.ref, 0):
            return False
        if change.version > change.ref.sequence:
            self._versions[change.ref] = change.version
            self._versions.move_to_end(change.ref)
            if len(self._versions) > _MAX_KNOWN_VERSIONS:
                self._versions.popitem(last=False)
        return True

    async def refresh(self) -> None:
        self._loaded_at = 0.0

    async def tenants(self) -> Sequence[TenantId]:
        return await self._read(schema.tenants_in)

    async def delete_tenant(self, tenant: TenantId) -> None:
        for ref in [ref for ref in self._versions if ref.chat.tenant == tenant]:
            del self._versions[ref]
        await self._commit(lambda writer: schema.remove_tenant(writer, tenant))

    async def delete_chat(self, chat: ChatKey) -> None:
        await self._commit(lambda writer: schema.remove_chat(writer, chat))

    async def delete_user(self, tenant: TenantId, user: UserId) -> None:
        await self._commit(lambda writer: schema.remove_user(writer, tenant, user))

    async def delete_expired(self, now_ms: int) -> None:
        if await self._read(lambda searcher: schema.has_expired(searcher, now_ms)):
            await self._commit(lambda writer: schema.remove_expired(writer, now_ms))

    async def has_chat(self, chat: ChatKey) -> bool:
        return await self._read(lambda searcher: schema.has_chat(searcher, chat))

    async def has_user(self, tenant: TenantId, user: UserId) -> bool:
        await self.refresh()
        return await self._read(lambda searcher: schema.has_user(searcher, tenant, user))

    async def purge(self) -> None:
        """Write the index again. Changes wait meanwhile, about a minute for a million messages."""
        # The binding has no merge of chosen segments. Segments with deleted documents would be kept for months.
        started = time()

        def write(writer: tantivy.IndexWriter) -> None:
            self._written.reload()
            schema.write_again(writer, self._written.searcher())

        await self._commit(write)
        await self._commit(_collect_files)
        await self.refresh()
        await asyncio.to_thread(self._mark_purged, started)

    def _mark_purged(self, started: float) -> None:
        self._mark.touch(mode=0o600)
        os.utime(self._mark, (started, started))

    async def purged_ms(self) -> int:
        try:
            return int(self._mark.stat().st_mtime * 1000)
        except FileNotFoundError:
            return 0

    async def close(self) -> None:
        """Finish the commit in progress and release the lock."""
        await self._commits.wait_idle()
        writer, self._writer = self._writer, None
        if writer is not None:
            await asyncio.to_thread(writer.wait_merging_threads)

    async def _commit(self, write: Write) -> None:
        await self._commits.add([write])

    async def _write_all(self, writes: Sequence[Write]) -> None:
        try:
            await asyncio.to_thread(self._write, writes)
        except (ValueError, OSError) as error:
            reason = str(error)
        else:
            return
        # Not raised in the handler: the traceback of the first error would keep the former writer, which has the lock.
        raise TidingsError(Code.OUTCOME_UNKNOWN, f"The index in {self._path} was not written: {reason}")

    def _write(self, writes: Sequence[Write]) -> None:
        if self._writer is None:
            # After a failure, for example a full disk, tantivy ends the writer. Another one starts at the last commit.
            self._writer = self._open_writer()
        try:
            for write in writes:
                write(self._writer)
            self._writer.commit()
        except (ValueError, OSError):
            self._writer = None
            raise
        except Exception:
            self._writer.rollback()
            raise


def _collect_files(writer: tantivy.IndexWriter) -> None:
    writer.garbage_collect_files()


def _delete_other_formats(directory: Path) -> None:
    """Delete an index of another version of Tidings: nothing reads it, and it has words of messages."""
    for other in directory.glob("v*"):
        if other.is_dir() and other.name != schema.FORMAT:
            shutil.rmtree(other)


def _unavailable(reason: str) -> TidingsError:
    return TidingsError(Code.OVERLOADED, reason, hint="Check that `tidings run search` runs on this machine.")
