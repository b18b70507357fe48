"""Parts in a directory of this machine, for the command `tidings user export`."""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote, unquote

from tidings.exports.model import StoredPart
from tidings.kernel.errors import Code, TidingsError

_CURSOR = "cursor.json"
_LOCK = "lock"
_ARCHIVE = "archive"


class LocalPartStore:
    """A part is a file. Only the user who runs the command can read the directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def read_cursor(self) -> bytes | None:
        path = self._directory / _CURSOR
        return path.read_bytes() if path.exists() else None

    async def put_cursor(self, cursor: bytes, /) -> None:
        self._write(self._directory / _CURSOR, cursor)

    async def put(self, path: str, step: int, body: bytes, /) -> None:
        self._write(self._file(path, step), body)

    async def list(self) -> Sequence[StoredPart]:
        files = [each for each in os.scandir(self._directory) if each.name.endswith(".part")]
        found = []
        for each in files:
            name, step, _ = each.name.rsplit(".", 2)
            found.append(StoredPart(unquote(name), int(step), each.stat().st_size))
        return sorted(found)

    async def read(self, part: StoredPart, /) -> bytes:
        return self._file(part.path, part.step).read_bytes()

    async def delete(self, part: StoredPart, /) -> None:
        self._file(part.path, part.step).unlink(missing_ok=True)

    async def write_archive(self, chunks: AsyncIterator[bytes], to: Path) -> int:
        """Write the archive to a file that only this user can read, and return its size. The file appears when it is complete."""
        new = self._directory / _ARCHIVE
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            async for chunk in chunks:
                file.write(chunk)
            size = file.tell()
        new.replace(to)
        return size

    def delete_all(self) -> None:
        rmtree(self._directory)

    def _file(self, path: str, step: int) -> Path:
        return self._directory / f"{quote(path, safe='')}.{step}.part"

    @staticmethod
    def _write(path: Path, body: bytes) -> None:
        """Replace a file, so that a process that dies leaves the old one or the new one."""
        new = path.with_name(path.name + ".new")
        new.write_bytes(body)
        new.replace(path)


@contextmanager
def open_local_parts(directory: Path) -> Iterator[LocalPartStore]:
    """Open the parts in a directory, and keep other processes from using it. Raises `request_invalid` if one does."""
    directory.mkdir(mode=0o700, parents=False, exist_ok=True)
    with (directory / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TidingsError(
                Code.REQUEST_INVALID, f"Another process writes the export in {directory}."
            ) from error
        try:
            yield LocalPartStore(directory)
        finally:
            if not (directory / _CURSOR).exists():  # It failed before its first step, or is complete.
                rmtree(directory, ignore_errors=True)
