"""The tables are put back to an older copy: what was acknowledged since is lost by definition, and nothing else is."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fixtures.city import City

from faults.whole.fault import Doing, Fault
from faults.whole.stand import WHOLE, Stand
from tidings.engines.model import Engine

_COMMAND: Final = [sys.executable, "-c", "from tidings.run.cli import main; main()", "restored"]
_GONE_WITHIN_S: Final = 60.0
_WAIT_S: Final = 1.0
"""Every process was waited for until it was gone, so there is nobody who could still write."""


async def inflict(doing: Doing) -> None:
    for turn in doing.rounds():
        await restore(doing, turn)


async def restore(doing: Doing, turn: int = 0, **changes: str) -> None:
    """`changes`: settings of the processes that are started afterwards."""
    stand, load = doing.stand, doing.load
    copy = stand.city.directory / f"copy-{turn}.db"
    load.copied()
    at = datetime.now(UTC)
    load.step("the tables are copied")
    await asyncio.to_thread(_copy, stand.city, copy)
    await load.sent_more(60)
    load.step("everything is stopped, and the copy put back")
    await _stop_all(stand)
    _put_back(stand.city, copy)
    await asyncio.to_thread(_finish, stand.city, at)
    await stand.start(*WHOLE, **changes)
    await load.sent_more(40)


async def _stop_all(stand: Stand) -> None:
    running = [process for processes in stand.running.values() for process in processes]
    await asyncio.gather(*(stand.kill(process) for process in running))


def _copy(city: City, copy: Path) -> None:
    """All tables at one instant, while they are written to."""
    with closing(sqlite3.connect(_database(city))) as live, closing(sqlite3.connect(copy)) as kept:
        live.backup(kept)


def _put_back(city: City, copy: Path) -> None:
    """Not in a thread: the engine dies with the one that started it."""
    name = next(each.node.name for each in city.fleet.status() if each.node.engine is Engine.DYNAMO)
    city.fleet.kill(name)
    database = _database(city)
    for beside in ("-wal", "-shm"):
        database.with_name(database.name + beside).unlink(missing_ok=True)
    shutil.copyfile(copy, database)
    city.fleet.restart(name)


def _database(city: City) -> Path:
    return (
        next(each.node.data for each in city.fleet.status() if each.node.engine is Engine.DYNAMO)
        / "dynoxide.db"
    )


def _finish(city: City, at: datetime) -> None:
    """Who was killed is a member of his group for some seconds more, and is said to be at work."""
    deadline = time.monotonic() + _GONE_WITHIN_S
    while "still_running" in (said := _restored(city, at)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert "ok: epoch" in said, said


def _restored(city: City, at: datetime) -> str:
    done = subprocess.run(
        [*_COMMAND, "--yes", f"--to={at.isoformat()}", f"--wait-s={_WAIT_S:g}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=city.directory,
        env=city.environment(),
    )
    return done.stdout + done.stderr


FAULT = Fault(
    name="restore",
    invariant="After a restore only that is gone which was acknowledged after the copy was made.",
    fault="the tables are copied under load; later everything is stopped, the copy put back, the epoch raised",
    inflict=inflict,
)
