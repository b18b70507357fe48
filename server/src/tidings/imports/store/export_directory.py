"""The directory of an export on this machine: the import files, and a SQLite file with the progress until it is complete."""

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, Final

import msgspec

from tidings.imports.model import VERSION, HeaderLine, ImportLine, MessageLine, encode_line
from tidings.imports.ports import ExportState
from tidings.imports.tenant_export import SOURCE
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, TenantId, UserId

USERS: Final = "users.jsonl"
CHATS: Final = "chats.jsonl"
FILES: Final = "files"
PROGRESS: Final = "progress.sqlite"
_MESSAGES: Final = "messages.part"
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, is_listed INTEGER NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE IF NOT EXISTS chats (id TEXT PRIMARY KEY, is_written INTEGER NOT NULL) WITHOUT ROWID;",
    "CREATE INDEX IF NOT EXISTS unlisted ON users (id) WHERE is_listed = 0;",
    "CREATE INDEX IF NOT EXISTS unwritten ON chats (id) WHERE is_written = 0;",
    "CREATE TABLE IF NOT EXISTS state (json BLOB NOT NULL);",
)
_decode = msgspec.json.Decoder(ExportState).decode


class LocalExportDirectory:
    """Only the user who runs the command can read the directory."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database
        self._chats = _open(path / CHATS)
        self._messages: BinaryIO | None = None

    def load(self, tenant: TenantId) -> ExportState:
        """Return the state of an export that continues, or of a new one. Drops a chat that was not finished."""
        row = self._database.execute("SELECT json FROM state").fetchone()
        if row is None:
            self._chats.truncate(0)
            self._chats.write(encode_line(HeaderLine(version=VERSION, source=SOURCE)))
            return ExportState(tenant=tenant, offset=self._stored_offset())
        state = _decode(row[0])
        if state.tenant != tenant:
            raise TidingsError(Code.REQUEST_INVALID, f"{self._path} has an export of {state.tenant}.")
        self._chats.truncate(state.offset)
        self._chats.seek(state.offset)
        return state

    def save(self, state: ExportState, /) -> None:
        self._database.execute("DELETE FROM state")
        self._database.execute("INSERT INTO state VALUES (?)", (msgspec.json.encode(state),))
        self._database.commit()

    def add_users(self, users: Iterable[UserId], /) -> None:
        self._database.executemany("INSERT OR IGNORE INTO users VALUES (?, 0)", [(user,) for user in users])

    def add_chats(self, of: UserId, chats: Iterable[ChatId], /) -> None:
        self._database.executemany("INSERT OR IGNORE INTO chats VALUES (?, 0)", [(chat,) for chat in chats])
        self._database.execute("UPDATE users SET is_listed = 1 WHERE id = ?", (of,))

    def next_user(self) -> UserId | None:
        return self._first("SELECT id FROM users WHERE is_listed = 0 ORDER BY id LIMIT 1", UserId)

    def next_chat(self) -> ChatId | None:
        return self._first("SELECT id FROM chats WHERE is_written = 0 ORDER BY id LIMIT 1", ChatId)

    def users(self, after: str, limit: int, /) -> Sequence[UserId]:
        rows = self._database.execute("SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
        return [UserId(row[0]) for row in rows]

    def start_chat(self) -> None:
        if self._messages is not None:
            self._messages.close()
        self._messages = _open(self._path / _MESSAGES)
        self._messages.truncate(0)

    def add_message(self, line: MessageLine, /) -> None:
        self._open_messages().write(encode_line(line))

    def finish_chat(self, chat: ChatId, lines: Iterable[ImportLine], /) -> int:
        messages = self._open_messages()
        self._chats.writelines(encode_line(line) for line in lines)
        messages.seek(0)
        copyfileobj(messages, self._chats)
        self._database.execute("UPDATE chats SET is_written = 1 WHERE id = ?", (chat,))
        return self._stored_offset()

    async def add_file(self, upload: str, name: str, chunks: AsyncIterator[bytes], /) -> str:
        folder = self._path / FILES / upload
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            async for chunk in chunks:
                file.write(chunk)
        return f"{FILES}/{upload}/{name}"

    def write_users(self, lines: Iterable[ImportLine], /, *, is_first: bool) -> None:
        with (self._path / USERS).open("wb" if is_first else "ab") as file:
            file.writelines(encode_line(line) for line in lines)

    def finish(self) -> None:
        """Delete what only an unfinished export needs."""
        self._database.close()
        for name in (_MESSAGES, PROGRESS):
            (self._path / name).unlink(missing_ok=True)

    def close(self) -> None:
        self._chats.close()
        if self._messages is not None:
            self._messages.close()

    def _stored_offset(self) -> int:
        """Store what was written to the file of chats, and return its end. A state never has an offset beyond the file."""
        self._chats.flush()
        os.fsync(self._chats.fileno())
        return self._chats.tell()

    def _open_messages(self) -> BinaryIO:
        if self._messages is None:
            raise ValueError("no chat was started")
        return self._messages

    def _first[T](self, query: str, make: Callable[[str], T]) -> T | None:
        row = self._database.execute(query).fetchone()
        return None if row is None else make(row[0])


@contextmanager
def open_export_directory(path: Path) -> Iterator[LocalExportDirectory]:
    """Open a new directory, or one with an unfinished export. Raises `request_invalid` for every other one."""
    if path.exists() and not (path / PROGRESS).is_file():
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{path} exists and has no unfinished export.",
            hint="Choose a directory that does not exist.",
        )
    path.mkdir(mode=0o700, exist_ok=True)
    with closing(sqlite3.connect(path / PROGRESS, timeout=0)) as database:
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.executescript(" ".join(("BEGIN EXCLUSIVE;", *_TABLES, "COMMIT;")))
        except sqlite3.OperationalError as error:
            raise TidingsError(
                Code.REQUEST_INVALID, f"Another process writes the export in {path}: {error}."
            ) from error
        with closing(LocalExportDirectory(path, database)) as directory:
            yield directory


def _open(path: Path) -> BinaryIO:
    """Open a file to read and write, and create it if it does not exist."""
    path.touch()
    return path.open("r+b")
