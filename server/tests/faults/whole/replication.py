"""Replicate the tables of one engine to another asynchronously, as DynamoDB Global Tables do.

Each table has its own schedule, so the copies of two tables show different instants, and the parts of a transaction
arrive separately. Global Tables promise an order for one item only: when the replication ends, an item can have arrived
and an older one not (`copy_some`).
"""

import asyncio
import http.client
import json
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import batched
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, final

from faults.raw_client import headers_of
from tidings.schema.tables.declaration import MESSAGES, TABLES
from tidings.schema.tables.model import Table

_LOG: Final = "x_replication"
_PREPARE: Final = f"""\
CREATE TABLE IF NOT EXISTS {_LOG}(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, pk TEXT, sk TEXT, deleted TEXT);
CREATE INDEX IF NOT EXISTS {_LOG}_name ON {_LOG}(name, id);
"""
_CHANGES: Final = (("INSERT", "NEW", "NULL"), ("UPDATE", "NEW", "NULL"), ("DELETE", "OLD", "OLD.item_json"))
_SHORTEST_LAG_S: Final = 0.2
_LONGEST_LAG_S: Final = 1.6
_BATCH: Final = 25
_PART: Final = 0.5
_TIMEOUT_S: Final = 60.0

REPLICATED: Final = tuple(table for table in TABLES if table.backup.has_standby)
"""The tables to which the OpenTofu module adds a replica."""


class Change(NamedTuple):
    """The current item of a key that was written, or the last one of a key that was deleted."""

    item: str
    is_deleted: bool


@final
class Replication:
    """Use it as a context manager. The target must have the tables, and receives the items that exist already."""

    def __init__(self, source: Path, target: str, prefix: str) -> None:
        self._source, self._target, self._prefix = source, target, prefix
        self._done: dict[str, int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self.log_copied_ns = 0
        """When the last complete copy of the log began: it has all entries that were acknowledged before."""

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._prepare)
        self._tasks = [
            asyncio.create_task(self._copy_repeatedly(table, place)) for place, table in enumerate(REPLICATED)
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()
        await asyncio.to_thread(self._remove_triggers)

    async def cut(self) -> None:
        """Stop replicating. Writes that have not reached the target never will, but for `copy_some`. Idempotent."""
        self._is_stopping = True
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def until_copied(self) -> None:
        """Wait until each table was copied at least once."""
        async with asyncio.timeout(_TIMEOUT_S):
            while len(self._done) < len(REPLICATED):
                if failed := next((task for task in self._tasks if task.done()), None):
                    failed.result()
                await asyncio.sleep(_SHORTEST_LAG_S)

    def writes(self) -> int:
        """Return the number of writes to replicated tables of the source until now, also after `cut`."""
        with closing(self._connect()) as database:
            (count,) = database.execute(f"SELECT COALESCE(MAX(id), 0) FROM {_LOG}").fetchone()
        return int(count)

    async def _copy_repeatedly(self, table: Table, place: int) -> None:
        """Copy what was written since the last copy, after a pause that differs between tables."""
        lag_s = _SHORTEST_LAG_S + (_LONGEST_LAG_S - _SHORTEST_LAG_S) * place / (len(REPLICATED) - 1)
        while True:
            began_ns = time.monotonic_ns()
            is_complete = await asyncio.to_thread(self._copy, table)
            if is_complete and table is MESSAGES:
                self.log_copied_ns = began_ns
            await asyncio.sleep(lag_s)

    def _copy(self, table: Table) -> bool:
        """Return whether all changes that existed at the start have arrived: a cut interrupts between batches."""
        last, changes = self._changes(table)
        with closing(http.client.HTTPConnection(self._target, timeout=_TIMEOUT_S)) as connection:
            for first in range(0, len(changes), _BATCH):
                if self._is_stopping:
                    return False
                _put(connection, self._prefix + table.name, table, changes[first : first + _BATCH])
        self._done[table.name] = last
        return True

    async def copy_some(self) -> None:
        """Copy a part of what the target lacks: items are replicated one by one, in no order between them."""
        for table in REPLICATED:
            await asyncio.to_thread(self._copy_part, table)

    def _copy_part(self, table: Table) -> None:
        _, changes = self._changes(table)
        part = [change for change in changes if random.random() < _PART]
        with closing(http.client.HTTPConnection(self._target, timeout=_TIMEOUT_S)) as connection:
            for some in batched(part, _BATCH):
                _put(connection, self._prefix + table.name, table, some)

    def _changes(self, table: Table) -> tuple[int, list[Change]]:
        """Return the changed keys in the order of their first change, and the number of the last change."""
        after = self._done.get(table.name, 0)
        with closing(self._connect()) as database:
            database.execute("BEGIN")  # one instant for both reads
            (last,) = database.execute(
                f"SELECT COALESCE(MAX(id), 0) FROM {_LOG} WHERE name = ?", (table.name,)
            ).fetchone()
            rows = database.execute(
                f'SELECT item.item_json, MAX(log.deleted) FROM {_LOG} log LEFT JOIN "{self._prefix}{table.name}" item '
                "ON item.pk = log.pk AND item.sk = log.sk WHERE log.name = ? AND log.id > ? "
                "GROUP BY log.pk, log.sk ORDER BY MIN(log.id)",
                (table.name, after),
            ).fetchall()
        return int(last), [Change(item or deleted, is_deleted=item is None) for item, deleted in rows]

    def _prepare(self) -> None:
        """Record every write in a table of the engine's database, beginning with the items that exist."""
        with closing(self._connect()) as database:
            database.executescript(_PREPARE)
            for table in REPLICATED:
                for statement in self._trigger_statements(table):
                    database.execute(statement)
                database.execute(
                    f'INSERT INTO {_LOG}(name, pk, sk) SELECT ?, pk, sk FROM "{self._prefix}{table.name}"',
                    (table.name,),
                )

    def _trigger_statements(self, table: Table) -> Iterator[str]:
        for event, row, deleted in _CHANGES:
            yield (
                f'CREATE TRIGGER "{_LOG}_{table.name}_{event}" AFTER {event} ON "{self._prefix}{table.name}" BEGIN '
                f"INSERT INTO {_LOG}(name, pk, sk, deleted) "
                f"VALUES ('{table.name}', {row}.pk, {row}.sk, {deleted}); END"
            )

    def _remove_triggers(self) -> None:
        with closing(self._connect()) as database:
            for table in REPLICATED:
                for event, *_ in _CHANGES:
                    database.execute(f'DROP TRIGGER IF EXISTS "{_LOG}_{table.name}_{event}"')
            database.execute(f"DROP TABLE {_LOG}")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._source, timeout=_TIMEOUT_S, isolation_level=None)


def _put(connection: http.client.HTTPConnection, name: str, table: Table, changes: Sequence[Change]) -> None:
    requests = [_request(table, change) for change in changes]
    connection.request(
        "POST", "/", json.dumps({"RequestItems": {name: requests}}), headers_of("BatchWriteItem")
    )
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == http.HTTPStatus.OK, body
    assert not json.loads(body).get("UnprocessedItems"), body


def _request(table: Table, change: Change) -> dict[str, Any]:
    item = json.loads(change.item)
    if not change.is_deleted:
        return {"PutRequest": {"Item": item}}
    return {"DeleteRequest": {"Key": {key.name: item[key.name] for key in table.keys}}}
