"""A store in one SQLite file, for one client at a time. Writes survive a crash of the process and the machine."""

import sqlite3
from pathlib import Path
from typing import Final, final

import msgspec

from tidings_sdk.errors import StoreInUse
from tidings_sdk.stores.store import OutboxEntry, StoredState, StoreOwner
from tidings_wire.frames.history import ChatRow
from tidings_wire.frames.registry import REQUEST_BY_BODY, REQUEST_OF

# A retry with a lost `after` would create a second message, so every commit waits for the disk.
_SCHEMA: Final = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA synchronous = FULL;

CREATE TABLE IF NOT EXISTS owner (one INTEGER PRIMARY KEY CHECK (one = 1), user TEXT, device TEXT, epoch INTEGER);

CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT, key TEXT, kind TEXT, request BLOB, epoch INTEGER,
    UNIQUE (chat, key)
);

CREATE TABLE IF NOT EXISTS positions (chat TEXT PRIMARY KEY, position INTEGER);

CREATE TABLE IF NOT EXISTS chats (chat TEXT PRIMARY KEY, row BLOB);
"""


@final
class FileStore:
    """A store in the file `path`, which is created if it does not exist. Raises `StoreInUse`.

    The file has unsent messages in plain text; only its owner may read it.
    """

    def __init__(self, path: str | Path) -> None:
        Path(path).touch(mode=0o600)
        self._file = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            self._file.executescript(_SCHEMA)
            # Takes the lock, which a connection in exclusive mode keeps.
            self._file.executescript("BEGIN EXCLUSIVE; COMMIT;")
        except sqlite3.OperationalError as error:
            self._file.close()
            raise StoreInUse(
                f"The store {path} cannot be opened: {error}. Only one client may use it at a time."
            ) from error

    def load(self) -> StoredState:
        owner = self._file.execute("SELECT user, device, epoch FROM owner").fetchone()
        rows = self._file.execute("SELECT kind, request, epoch FROM outbox ORDER BY number")
        positions = self._file.execute("SELECT chat, position FROM positions")
        chats = self._file.execute("SELECT row FROM chats")
        return StoredState(
            StoreOwner(*owner) if owner else None,
            [_row(kind, request, epoch) for kind, request, epoch in rows],
            dict(positions),
            [msgspec.json.decode(row, type=ChatRow) for (row,) in chats],
        )

    def own(self, owner: StoreOwner) -> None:
        with self._file:
            self._file.execute("BEGIN")
            for table in ("positions", "chats"):
                delete = f"DELETE FROM {table} WHERE (SELECT epoch FROM owner) <> ?"  # noqa: S608 - our own names
                self._file.execute(delete, (owner.epoch,))
            self._file.execute(
                "INSERT OR REPLACE INTO owner VALUES (1, ?, ?, ?)", (owner.user, owner.device, owner.epoch)
            )

    def add(self, row: OutboxEntry) -> None:
        self._file.execute(
            "INSERT INTO outbox (chat, key, kind, request, epoch) VALUES (?, ?, ?, ?, ?)",
            (
                row.chat,
                row.key,
                REQUEST_BY_BODY[type(row.request)].name,
                msgspec.json.encode(row.request),
                row.epoch,
            ),
        )

    def change(self, row: OutboxEntry) -> None:
        self._file.execute(
            "UPDATE outbox SET request = ?, epoch = ? WHERE chat = ? AND key = ?",
            (msgspec.json.encode(row.request), row.epoch, row.chat, row.key),
        )

    def drop(self, chat: str, key: str) -> None:
        self._file.execute("DELETE FROM outbox WHERE chat = ? AND key = ?", (chat, key))

    def save_positions(self, positions: dict[str, int]) -> None:
        with self._file:
            self._file.execute("BEGIN")
            self._file.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?)", positions.items())

    def save_chats(self, changed: dict[str, ChatRow | None]) -> None:
        saved = [(chat, msgspec.json.encode(row)) for chat, row in changed.items() if row is not None]
        deleted = [(chat,) for chat, row in changed.items() if row is None]
        with self._file:
            self._file.execute("BEGIN")
            self._file.executemany("INSERT OR REPLACE INTO chats VALUES (?, ?)", saved)
            self._file.executemany("DELETE FROM chats WHERE chat = ?", deleted)

    def close(self) -> None:
        self._file.close()


def _row(kind: str, request: bytes, epoch: int | None) -> OutboxEntry:
    return OutboxEntry(msgspec.json.decode(request, type=REQUEST_OF[kind].body), epoch)  # type: ignore[arg-type]  # by its kind
