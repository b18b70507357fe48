"""The current epoch, and which processes may write in it, on both DynamoDB engines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import override

import pytest
from fixtures.relay_env import ManualClock
from fixtures.tables import REGION, Tables

from tidings.installation import epoch_watch, store
from tidings.installation.epoch_watch import TRUSTED_S, EpochWatch
from tidings.installation.restore import ErasedAgain, Restore
from tidings.installation.store import NEWEST_FORMAT, Installation, InstallationStore, RestorePhase
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.lifecycle.component import ManagedResource, TaskSupervisor
from tidings.platform.lifecycle.run import ProcessContext, configure_tracing
from tidings.platform.telemetry.logs import ProcessIdentity
from tidings.platform.telemetry.metrics import Metrics
from tidings.platform.telemetry.tracing import TracingOptions
from tidings.schema.tables import diff
from tidings.schema.tables.control_plane import TableControlPlane, connect_control_plane
from tidings.schema.tables.declaration import TENANTS

_DEADLINE_S = 60


class WholeClock(ManualClock):
    """A clock whose monotonic and wall time move together."""

    @override
    def now_ms(self) -> int:
        return 1_763_000_000_000 + round(self.at * 1000)


class EpochEnv:
    """Processes of one installation, with a clock that changes only when the test sets it."""

    def __init__(self, client: DynamoClient) -> None:
        self.client, self.clock = client, WholeClock()
        self.row = InstallationStore(client, self.clock)
        self.left = asyncio.Event()
        self._tasks = TaskSupervisor(lambda *_: None)

    async def process(self) -> EpochWatch:
        identity = ProcessIdentity.new("api")
        spans = configure_tracing(identity, TracingOptions())
        host = ProcessContext(identity, self.clock, Metrics(), spans, self._tasks)
        held = ManagedResource("dynamo", lambda: nullcontext(self.client))
        await held.start()
        made = EpochWatch(held, host, lambda _: self.left.set())
        await made.start()
        return made

    async def end(self) -> None:
        await self._tasks.close()


@asynccontextmanager
async def opened(tables: Tables) -> AsyncIterator[EpochEnv]:
    """Open an installation on which no process has started yet."""
    _forget(tables)
    async with open_client(tables.url, REGION, tables.prefix) as client:
        env = EpochEnv(client)
        try:
            yield env
        finally:
            await env.end()
            _forget(tables)


def _forget(tables: Tables) -> None:
    key = {"tenant": {"S": "_system"}, "item": {"S": "installation"}}
    connect_control_plane(tables.url, REGION).delete_item(TableName=tables.prefix + TENANTS.name, Key=key)


async def test_the_first_process_starts_with_epoch_0_and_records_the_table_of_the_log(tables: Tables) -> None:
    async with opened(tables) as env:
        one, two = await asyncio.gather(env.process(), env.process())
        assert (one.current(), two.current()) == (0, 0)
        assert await env.row.read() == Installation(log_id=await env.row.log_id())


async def test_an_epoch_that_was_not_confirmed_recently_refuses_writes(tables: Tables) -> None:
    async with opened(tables) as env:
        process = await env.process()
        env.clock.at += TRUSTED_S
        assert process.current() == 0
        env.clock.at += 0.1
        with pytest.raises(TidingsError) as refused:
            process.current()
        assert refused.value.retryable


async def test_a_process_ends_when_its_epoch_ends(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_watch, "CHECK_EVERY_S", 0.05)
    async with opened(tables) as env:
        await env.process()
        before = await env.row.read()
        assert before is not None
        assert not env.left.is_set()
        assert await env.row.change(before, replace(before, epoch=1_763_200_000))
        await asyncio.wait_for(env.left.wait(), _DEADLINE_S)


async def test_no_process_starts_while_a_restore_is_being_finished(tables: Tables) -> None:
    async with opened(tables) as env:
        assert await env.row.change(None, Installation(7, RestorePhase.CLOSED))
        await _is_refused(env)


async def test_no_process_starts_on_a_copy_without_a_finished_restore(tables: Tables) -> None:
    async with opened(tables) as env:
        await env.row.begin(Installation(log_id="of the table that this is a copy of"))
        await _is_refused(env)


async def _is_refused(env: EpochEnv) -> None:
    with pytest.raises(TidingsError) as refused:
        await env.process()
    assert refused.value.code is Code.EPOCH_STALE
    assert "tidings restore finish" in refused.value.hint


async def test_of_two_concurrent_finishes_of_a_restore_one_fails(tables: Tables) -> None:
    async with opened(tables) as env:
        closed = Installation(7, RestorePhase.CLOSED)
        assert await env.row.change(None, closed)
        assert await env.row.change(closed, replace(closed, epoch=8))
        assert not await env.row.change(closed, replace(closed, epoch=9))


class Quiet(Restore):
    """With nothing but the row to change: Kafka, Redis and the tables are `test_emptying.py`'s and the page's."""

    def _refuse_running_processes(self) -> None: ...

    def _empty(self) -> None: ...


async def erase_nothing(_: int) -> ErasedAgain:
    return ErasedAgain(0, 0)


@pytest.fixture
def finish(tables: Tables) -> Callable[[EpochEnv, str], "asyncio.Future[Installation]"]:
    def run(env: EpochEnv, moment: str) -> "asyncio.Future[Installation]":
        unused: object = None
        made = Quiet(
            row=env.row,
            tables=TableControlPlane(
                connect_control_plane(tables.url, REGION), tables.prefix, frozenset(diff.TableAspect)
            ),
            topics=unused,  # type: ignore[arg-type]
            redis=unused,  # type: ignore[arg-type]
            clock=env.clock,
            is_on_demand=True,
            report=lambda _: None,
            erase_again=erase_nothing,
        )
        return asyncio.ensure_future(made.finish(moment, wait_s=0))

    return run


type Finish = Callable[[EpochEnv, str], "asyncio.Future[Installation]"]


async def test_a_newer_data_format_keeps_processes_from_starting_and_ends_none(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_watch, "CHECK_EVERY_S", 0.05)
    async with opened(tables) as env:
        running = await env.process()
        monkeypatch.setattr(store, "WRITTEN_FORMAT", NEWEST_FORMAT + 1)
        await env.row.record_format()
        read = running._seen_at
        env.clock.at += 1
        async with asyncio.timeout(_DEADLINE_S):
            while running._seen_at == read:  # noqa: ASYNC110 - the watch reads the row again
                await asyncio.sleep(0.01)
        assert not env.left.is_set()
        with pytest.raises(TidingsError, match=rf"format {NEWEST_FORMAT + 1}, .* up to {NEWEST_FORMAT}\."):
            await env.process()
        monkeypatch.setattr(epoch_watch, "NEWEST_FORMAT", NEWEST_FORMAT + 1)
        assert (await env.process()).current() == 0


async def test_the_recorded_format_is_never_lowered_and_survives_a_restore(
    tables: Tables, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tables) as env:
        await env.row.record_format()
        assert await env.row.read() is None
        newer = Installation(data_format=NEWEST_FORMAT + 1)
        assert await env.row.change(None, newer)
        await env.row.record_format()
        assert await env.row.read() == newer
        with pytest.raises(TidingsError, match="format"):
            await finish(env, "2026-11-15T09:30:00+00:00")
        monkeypatch.setattr("tidings.installation.epoch_watch.NEWEST_FORMAT", NEWEST_FORMAT + 1)
        assert (await finish(env, "2026-11-15T09:30:00+00:00")).data_format == NEWEST_FORMAT + 1


async def test_a_restore_is_finished_once_and_epochs_are_unique(tables: Tables, finish: Finish) -> None:
    async with opened(tables) as env:
        await env.process()
        copy = await env.row.read()
        first = await finish(env, "2026-11-15T09:30:00+00:00")
        assert first.phase is RestorePhase.OPEN
        assert first.epoch > 0
        assert await finish(env, "2026-11-15T09:30:00+00:00") == first
        env.clock.at += 60
        later = await finish(env, "2026-11-15T10:00:00+00:00")
        assert later.epoch > first.epoch
        # The same copy is restored again. Its row has neither of the two epochs.
        assert copy is not None
        assert await env.row.change(later, copy)
        env.clock.at += 60
        again = await finish(env, "2026-11-15T09:30:00+00:00")
        assert again.epoch not in {0, later.epoch}


async def test_an_interrupted_restore_is_done_again(tables: Tables, finish: Finish) -> None:
    async with opened(tables) as env:
        moment = "2026-11-15T09:30:00+00:00"
        assert await env.row.change(None, Installation(7, RestorePhase.CLOSED, moment))
        done = await finish(env, moment)
        assert done.phase is RestorePhase.OPEN
        assert (await env.process()).current() == done.epoch > 7
