"""Read import files line by line, because they may be larger than the memory; and the files that messages name."""

import mimetypes
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from tidings.imports.model import AttachmentPart, FoundFile, LinePlace
from tidings.kernel.errors import Code, TidingsError

MAX_LINE_BYTES: Final = 1024 * 1024
_UNKNOWN: Final = "application/octet-stream"


def read_lines(paths: Sequence[Path]) -> Iterator[tuple[LinePlace, bytes]]:
    """Yield all lines that are not blank, with their places. A line above `MAX_LINE_BYTES` is yielded in pieces.

    The pieces are no JSON, so the validation reports them.
    """
    for path in paths:
        with path.open("rb") as file:
            number = 0
            is_start = True
            while piece := file.readline(MAX_LINE_BYTES):
                number += is_start
                is_start = piece.endswith(b"\n")
                if not piece.isspace():
                    yield LinePlace(str(path), number), piece


class ImportFolder:
    """The folder of files. Paths that lead out of it are refused, also by a link: an export may come from elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def has(self, part: AttachmentPart) -> bool:
        try:
            self.find(part)
        except TidingsError:
            return False
        return True

    def find(self, part: AttachmentPart) -> FoundFile:
        """Return a file. Raises `request_invalid` for one that does not exist in the folder, or is empty."""
        path, size = self._folder, 0
        with suppress(OSError, ValueError):  # a name that no file can have
            path = (self._folder / part.path).resolve()
            if path.is_relative_to(self._folder) and path.is_file():
                size = path.stat().st_size
        if not size:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"`{part.path}` is not a file in {self._folder}, or is empty.",
                hint="`--files` names the folder of the files.",
            )
        name = part.name or path.name
        return FoundFile(path, name, part.type or mimetypes.guess_type(name)[0] or _UNKNOWN, size)


class ZipArchive:
    """The files of a ZIP file by name."""

    def __init__(self, file: ZipFile) -> None:
        self._file = file
        self._names = frozenset(file.namelist())

    def names(self) -> Collection[str]:
        return self._names

    def read(self, name: str) -> bytes:
        return self._file.read(name)
