"""Restore the tables from an older copy: only entries acknowledged after the copy may be lost.

All tables are copied at the same time, or some before the log and some after it: AWS restores and replicates each table
separately. A user who was erased after the copy stays erased.
"""

import asyncio
import secrets
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fixtures.fork_server import TIDINGS
from fixtures.installation_processes import InstallationProcesses
from fixtures.use_cases import BEN

from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import WHOLE, FaultInstallation
from faults.whole.recovery import Stopwatch
from tidings.engines import dynoxide
from tidings.engines.model import Engine
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.history import ContentState
from tidings.schema.tables.declaration import (
    CHAT_COUNTERS,
    CHAT_MEMBERSHIPS,
    CHATS,
    DELIVERY_STATE,
    ERASURES,
)
from tidings.schema.tables.model import Table
from tidings_harness.workload.scenario import Scenario

_COMMAND: Final = [*TIDINGS, "restore", "finish"]
_GONE_WITHIN_S: Final = 60.0
_WAIT_S: Final = 1.0
"""How long `restore finish` waits for writers. All processes have exited before, so no writer is left."""
_APART: Final = 30
"""Entries between the copies of two tables: some seconds of load."""
_FAR_APART: Final = 400
_ROWS_AHEAD: Final = 1_000
"""More entries than the log receives between the restore and the end of the run."""
_LOST: Final = 60
"""Entries acknowledged after the last copy."""


type Tables = tuple[Table, ...]
type Settings = Mapping[str, str]
NO_CHANGES: Final[Settings] = {}
_ROWS: Final = (DELIVERY_STATE, CHAT_COUNTERS)
_MEMBERS: Final = (CHAT_MEMBERSHIPS, CHATS)


async def inflict(run: FaultRun) -> None:
    for turn in run.rounds():
        await restore(run, turn)


async def inflict_apart(run: FaultRun) -> None:
    for turn in run.rounds(2):
        before, after = (_ROWS, _MEMBERS) if turn % 2 else (_MEMBERS, _ROWS)
        await restore(run, turn, before=before, after=after)


async def restore_once(run: FaultRun, changes: Settings) -> None:
    await restore(run, 0, changes=changes)


async def restore_rows_ahead(run: FaultRun, changes: Settings) -> None:
    """Copy rows so long after the log that the log does not reach them again before the run ends."""
    await restore(run, 0, after=_ROWS, apart=_ROWS_AHEAD, changes=changes)


async def restore_members_behind(run: FaultRun, changes: Settings) -> None:
    await restore(run, 0, before=_MEMBERS, apart=_FAR_APART, changes=changes)


async def restore(
    run: FaultRun,
    turn: int = 0,
    *,
    before: Tables = (),
    after: Tables = (),
    apart: int = _APART,
    changes: Settings = NO_CHANGES,
) -> None:
    """Copy the tables, stop all processes, restore the copy and start them again with the settings in `changes`.

    `before` and `after`: the tables that are copied before the log, and after it.
    """
    installation, load = run.installation, run.load
    copy, early, late = (
        installation.processes.directory / f"{name}-{turn}.db" for name in ("copy", "early", "late")
    )
    author = UserId(f"erased-{secrets.token_hex(4)}")
    written = await _write_as(installation.processes, author) if turn == 0 else None
    if before:
        await asyncio.to_thread(_copy, installation.processes, early)
        await load.sent_more(apart)
    load.copied()
    at = datetime.now(UTC)
    load.step(f"the tables are copied{_when(before, 'before')}{_when(after, 'after')}")
    await asyncio.to_thread(_copy, installation.processes, copy)
    if after:
        await load.sent_more(apart)
        await asyncio.to_thread(_copy, installation.processes, late)
    if written is not None:
        await _erase(installation.processes, written, author)
    await load.sent_more(_LOST)
    load.step("all processes are stopped, and the copy is restored")
    watch = Stopwatch.start(load)
    await _stop_all(installation)
    watch.fenced()
    for other, tables in ((early, before), (late, after)):
        if tables:
            _replace_tables(installation.processes, copy, other, *tables)
    _replace_tables(installation.processes, copy, _database(installation.processes), ERASURES)
    _put_back(installation.processes, copy)
    await asyncio.to_thread(_finish, installation.processes, at)
    await watch.compare(installation.processes)
    await installation.start(*WHOLE, **changes)
    await load.sent_more(40)
    run.recoveries.append(await watch.result())
    if written is not None:
        assert await _state_of(installation.processes, written) is ContentState.ERASED


def _when(tables: Tables, when: str) -> str:
    return f", {' and '.join(table.name for table in tables)} {when} the log" if tables else ""


async def _write_as(processes: InstallationProcesses, author: UserId) -> ChatKey:
    """Send a message of a user who is not part of the load."""
    async with processes.use_cases() as use_cases:
        chat = await use_cases.manage.direct(use_cases.tenant, author, BEN)
        await use_cases.send(chat, author, "written before the copy", after=None)
    assert await _state_of(processes, chat) is ContentState.ACTIVE
    return chat


async def _erase(processes: InstallationProcesses, chat: ChatKey, author: UserId) -> None:
    async with processes.use_cases() as use_cases:
        await use_cases.user_keys.destroy(chat.tenant, author)
    assert await _state_of(processes, chat) is ContentState.ERASED


async def _state_of(processes: InstallationProcesses, chat: ChatKey) -> ContentState:
    """Return the state of the message as a process without cached keys reads it."""
    async with processes.use_cases() as use_cases:
        page = await use_cases.history.before(chat, BEN, None, 1)
    return page.entries[0].state


async def _stop_all(installation: FaultInstallation) -> None:
    running = [process for processes in installation.running.values() for process in processes]
    await asyncio.gather(*(installation.kill(process) for process in running))


def _copy(processes: InstallationProcesses, copy: Path) -> None:
    """Copy all tables at one point in time, while they are written to."""
    with closing(sqlite3.connect(_database(processes))) as live, closing(sqlite3.connect(copy)) as kept:
        live.backup(kept)


def _replace_tables(processes: InstallationProcesses, copy: Path, other: Path, *tables: Table) -> None:
    """Replace tables of a copy with those of another database."""
    with closing(sqlite3.connect(copy, isolation_level=None)) as kept:
        kept.execute("ATTACH ? AS other", (str(other),))
        for table in tables:
            name = f'"{processes.tables.prefix}{table.name}"'
            kept.execute(f"DELETE FROM main.{name}")
            kept.execute(f"INSERT INTO main.{name} SELECT * FROM other.{name}")


def _put_back(processes: InstallationProcesses, copy: Path) -> None:
    """Replace the engine's database with the copy.

    Must not run in a thread: the engine exits together with the thread that started it.
    """
    processes.fleet.kill(Engine.DYNAMO)
    database = _database(processes)
    for beside in ("-wal", "-shm"):
        database.with_name(database.name + beside).unlink(missing_ok=True)
    shutil.copyfile(copy, database)
    processes.fleet.restart(Engine.DYNAMO)


def _database(processes: InstallationProcesses) -> Path:
    return dynoxide.database(processes.fleet.find(Engine.DYNAMO).node)


def _finish(processes: InstallationProcesses, at: datetime) -> None:
    """Run `tidings restore finish`.

    Repeat it while Kafka still lists the killed processes as members of their groups.
    """
    deadline = time.monotonic() + _GONE_WITHIN_S
    while "still_running" in (output := _restored(processes, at)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert "ok: epoch" in output, output


def _restored(processes: InstallationProcesses, at: datetime) -> str:
    done = subprocess.run(
        [*_COMMAND, "--yes", f"--to={at.isoformat()}", f"--wait-s={_WAIT_S:g}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=processes.directory,
        env=processes.environment(),
    )
    return done.stdout + done.stderr


FAULT = Fault(
    name="restore",
    invariant="A restore loses only entries that were acknowledged after the copy was made, and brings no destroyed key back.",
    fault="the tables are copied under load; later a user is erased, all processes are stopped, the copy is restored, and the epoch is raised",
    inflict=inflict,
)

APART = Fault(
    name="tables of different instants",
    invariant="Rows, heads, memberships and chats that are ahead of their log, or behind it, hide no entry, lock out no user, show nothing to a removed member and count nothing as read.",
    fault="as `restore`, with rows and heads copied some seconds after the log, and memberships and chats some seconds before it; then the other way round",
    inflict=inflict_apart,
    scenario=Scenario(groups=2, members=12, devices=1, large_chat_members=104, rate=5),
)
