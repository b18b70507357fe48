"""Copy the tables of a running dynoxide, and find what a copy lacks."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tidings.drills.model import LostEntries
from tidings.schema.tables.declaration import MESSAGES, TABLES

_TIMEOUT_S: Final = 60.0
_NEWEST: Final = 50


class StoredMessage(NamedTuple):
    """A message of a copy. Its content is encrypted."""

    tenant: str
    chat: str
    sequence: int
    author: str


def replicate_tables(source: Path, target: Path, prefix: str) -> None:
    """Copy the tables that have a replica in a standby region, one after the other.

    Each copy shows its own instant, as replicas do, so a transaction may have arrived in one of its tables only. The
    target must have the tables.
    """
    for table in TABLES:
        if table.backup.has_standby:
            _copy_table(source, target, prefix + table.name)


def _copy_table(source: Path, target: Path, name: str) -> None:
    with _opened(target, source) as database:
        parts = database.execute(
            "SELECT name FROM other.sqlite_master WHERE type = 'table' AND (name = ? OR substr(name, 1, ?) = ?)",
            (name, len(name) + 2, f"{name}::"),
        ).fetchall()
        database.execute("BEGIN IMMEDIATE")
        for (part,) in parts:
            database.execute(f'DELETE FROM main."{part}"')  # noqa: S608 - a declared name
            database.execute(f'INSERT INTO main."{part}" SELECT * FROM other."{part}"')  # noqa: S608 - as above
        database.execute("COMMIT")


def find_lost_entries(production: Path, copy: Path, prefix: str, until: str) -> LostEntries:
    """Return the entries of all logs that production had at a time and the copy lacks."""
    name = prefix + MESSAGES.name
    with _opened(production, copy, is_writable=False) as database:
        count, oldest = database.execute(
            f"SELECT COUNT(*), MIN(json_extract(entry.item_json, '$.created_at.S')) FROM main.\"{name}\" entry "  # noqa: S608 - as above
            "WHERE json_extract(entry.item_json, '$.created_at.S') <= ? AND NOT EXISTS "
            f'(SELECT 1 FROM other."{name}" WHERE pk = entry.pk AND sk = entry.sk)',
            (until,),
        ).fetchone()
    return LostEntries(entries=int(count), oldest_at=oldest or "")


def newest_messages(copy: Path, prefix: str) -> list[StoredMessage]:
    """Return some of the newest messages, newest first."""
    name = prefix + MESSAGES.name
    fields = ("chat_id.S", "sequence.N", "sender_id.S")
    columns = ", ".join(f"json_extract(entry.item_json, '$.{field}')" for field in fields)
    with _opened(copy, is_writable=False) as database:
        rows = database.execute(
            f'SELECT {columns} FROM main."{name}" entry '  # noqa: S608 - as above
            "WHERE json_extract(entry.item_json, '$.kind.S') = 'message' "
            "ORDER BY json_extract(entry.item_json, '$.created_at.S') DESC LIMIT ?",
            (_NEWEST,),
        ).fetchall()
    return [_stored_message(key, int(sequence), author) for key, sequence, author in rows]


def _stored_message(key: str, sequence: int, author: str) -> StoredMessage:
    tenant, chat = key.split("#", 1)
    return StoredMessage(tenant, chat, sequence, author)


@contextmanager
def _opened(
    path: Path, other: Path | None = None, *, is_writable: bool = True
) -> Iterator[sqlite3.Connection]:
    mode = "rw" if is_writable else "ro"
    uri = f"file:{path}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_TIMEOUT_S, isolation_level=None)) as database:
        if other is not None:
            database.execute("ATTACH ? AS other", (f"file:{other}?mode=ro",))
        yield database
