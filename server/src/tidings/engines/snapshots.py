"""Snapshots of an installation on one machine: a consistent copy of dynoxide's database in a tar file.

Kafka and Valkey are not part of a snapshot. `tidings restore finish` empties them after a restore, because their data
belongs to the time after the snapshot.
"""

import io
import json
import os
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tidings.engines import dynoxide
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, EngineNode
from tidings.kernel.errors import Code, TidingsError

_DATABASE, _FACTS = "dynoxide.db", "snapshot.json"
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`at`: every write that was acknowledged before this time is part of it."""

    path: Path
    at: datetime
    size_bytes: int


def take_snapshot(cluster: LocalCluster, folder: Path, now: datetime) -> Snapshot:
    """Copy the database while the engine runs, check the copy, and write it to a new file of the folder.

    The file appears under its name only when it is complete.
    """
    database = dynoxide.database(dynamo_node(cluster))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{now:%Y-%m-%dT%H%M%SZ}.tar"
    with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=folder) as place:
        copy = Path(place) / _DATABASE
        _copy(database, copy)
        unfinished = Path(place) / path.name
        with tarfile.open(unfinished, "w") as archive:
            facts = json.dumps({"at": now.isoformat(), "engine": dynoxide.version()}).encode()
            entry = tarfile.TarInfo(_FACTS)
            entry.size = len(facts)
            archive.addfile(entry, io.BytesIO(facts))
            archive.add(copy, _DATABASE)
        unfinished.chmod(_PRIVATE)
        with unfinished.open("rb") as written:
            os.fsync(written.fileno())
        unfinished.replace(path)
    return Snapshot(path, now, path.stat().st_size)


def restore_snapshot(cluster: LocalCluster, path: Path) -> Snapshot:
    """Replace the database by that of a snapshot. Refused while an engine runs.

    The data of Kafka and Valkey is deleted. The replaced database is kept next to the new one.
    """
    if any(each.is_alive for each in cluster.status()):
        raise TidingsError(
            Code.ENGINES_BUSY,
            "The engines run.",
            hint="Stop all processes of Tidings and then the engines: `tidings engines stop`.",
        )
    data = cluster.home / "data" / Engine.DYNAMO
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=data) as place:
        at = _extract(path, Path(place))
        _check(Path(place) / _DATABASE)
        current = data / _DATABASE
        if current.exists():
            current.replace(data / f"replaced-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.db")
        for rest in ("-wal", "-shm"):
            (data / (_DATABASE + rest)).unlink(missing_ok=True)
        (Path(place) / _DATABASE).replace(current)
    for engine in (Engine.KAFKA, Engine.VALKEY):
        cluster.wipe(engine)
    return Snapshot(path, at, path.stat().st_size)


def delete_old_snapshots(folder: Path, keep: int) -> list[Path]:
    """Delete all but the newest snapshots, and return the deleted files."""
    old = sorted(folder.glob("*.tar"))[:-keep] if keep else []
    for path in old:
        path.unlink()
    return old


def dynamo_node(cluster: LocalCluster) -> EngineNode:
    """Return the node whose database can be copied. Raise `engine_not_ready` if there is none."""
    nodes = [each.node for each in cluster.status() if each.node.engine is Engine.DYNAMO]
    if not nodes or nodes[0].kind != "dynoxide" or not nodes[0].on_disk:
        raise TidingsError(
            Code.ENGINE_NOT_READY,
            "A snapshot needs dynoxide on disk, and it does not run here.",
            hint="Start it with `tidings engines run`.",
        )
    return nodes[0]


def _copy(database: Path, copy: Path) -> None:
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    _check(copy)


def _extract(path: Path, place: Path) -> datetime:
    try:
        with tarfile.open(path) as archive:
            archive.extractall(
                place, [archive.getmember(_FACTS), archive.getmember(_DATABASE)], filter="data"
            )
    except (OSError, KeyError, tarfile.TarError) as error:
        raise _unusable(path, str(error)) from error
    return datetime.fromisoformat(json.loads((place / _FACTS).read_text())["at"])


def _check(database: Path) -> None:
    try:
        with closing(sqlite3.connect(database)) as opened:
            (answer,) = opened.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise _unusable(database, str(error)) from error
    if answer != "ok":
        raise _unusable(database, answer)


def _unusable(path: Path, why: str) -> TidingsError:
    return TidingsError(
        Code.ENGINE_DIED, f"{path.name} cannot be used: {why}", hint="Use another snapshot of the folder."
    )
