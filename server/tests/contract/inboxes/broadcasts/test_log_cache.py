"""The log and its copies, as several processes have them: dense, converging within the bound, read once a second."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from fixtures.engines import Namespace
from fixtures.loops import until
from fixtures.tables import REGION, Tables

from tidings.app.wiring.inboxes import BroadcastServices, build_broadcasts
from tidings.inboxes.broadcasts import rules
from tidings.inboxes.broadcasts.log_store import DynamoBroadcastLog, NoSnapshots, RedisSnapshots
from tidings.inboxes.broadcasts.model import LONGEST_MS, PARTS, BroadcastDraft, BroadcastEntry, BroadcastLogId
from tidings.inboxes.broadcasts.ports import Snapshots
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, new_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.options import RedisOptions

BOUND_S = 1.0
_DEAD = "redis://127.0.0.1:1"


class HeldTime(SystemClock):
    """Copies grow old when the test says so."""

    at_s = 100.0

    def monotonic(self) -> float:
        return self.at_s


@dataclass
class Scene:
    client: DynamoClient
    log: BroadcastLogId
    time: HeldTime

    def process(self, snapshots: Snapshots | None = None) -> BroadcastServices:
        """One more, with copies of its own."""
        return build_broadcasts(self.client, self.time, snapshots or NoSnapshots())

    def calls(self, pattern: str) -> float:
        return sum(
            count.value for count in self.client.ledger if (count.name, count.pattern) == ("calls", pattern)
        )

    async def publish(self, by: BroadcastServices) -> BroadcastEntry:
        entry = await by.appender.append(self.log, rules.decide_step(draft(), PARTS))
        assert entry is not None
        return entry

    async def head(self, of: BroadcastServices, at_least: int = 0) -> int:
        return (await of.logs.index(self.log, at_least)).head


def draft() -> BroadcastDraft:
    return BroadcastDraft(notification=new_ulid(), category=1, expires_ms=SystemClock().now_ms() + LONGEST_MS)


type Play = Callable[[Callable[[Scene], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def play(tables: Tables, space: Namespace) -> Play:
    def run(scene: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
        async def played() -> None:
            async with open_client(tables.url, REGION, tables.prefix) as client:
                log = BroadcastLogId(TenantId(space.tenant), "default")
                await asyncio.wait_for(scene(Scene(client, log, HeldTime())), 120)

        asyncio.run(played())

    return run


@asynccontextmanager
async def opened(url: str, space: Namespace) -> AsyncIterator[RedisClient]:
    options = replace(RedisOptions.from_url(url), key_prefix=space.key_prefix)
    redis = await RedisClient.connect(options, wait=False)
    try:
        yield redis
    finally:
        await redis.close()


def test_concurrent_appends_of_processes_make_one_dense_log(play: Play) -> None:
    async def scene(at: Scene) -> None:
        one, two = at.process(), at.process()
        entries = await asyncio.gather(*(at.publish(by) for by in (one, two) for _ in range(12)))
        assert sorted(each.sequence for each in entries) == list(range(1, 25))
        stands = await DynamoBroadcastLog(at.client).after(at.log, 0)
        assert [(each.sequence, each.id) for each in stands] == sorted(
            (each.sequence, each.id) for each in entries
        )
        assert [each.at_ms for each in stands] == sorted(each.at_ms for each in stands)
        at.time.at_s += BOUND_S
        boards = [await each.logs.index(at.log) for each in (one, two, at.process())]
        assert boards[0].view == boards[1].view == boards[2].view

    play(scene)


def test_a_copy_is_at_most_a_second_old_and_at_least_makes_it_move_at_once(play: Play) -> None:
    async def scene(at: Scene) -> None:
        sender, reader = at.process(), at.process()
        assert await at.head(reader) == 0
        entry = await at.publish(sender)
        assert await at.head(sender) == 1
        at.time.at_s += BOUND_S - 0.001
        assert await at.head(reader) == 0
        assert await at.head(reader, entry.sequence) == 1
        await sender.rollout.redact(at.log, entry.notification)
        at.time.at_s += BOUND_S
        board = await reader.logs.index(at.log)
        assert (board.head, board.live(at.time.now_ms())) == (2, 0)
        with pytest.raises(TidingsError) as refused:
            await at.head(reader, 3)
        assert refused.value.code is Code.POSITION_AHEAD

    play(scene)


def test_a_log_is_read_once_a_second_for_any_number_of_readers_and_never_without(play: Play) -> None:
    async def scene(at: Scene) -> None:
        reader = at.process()
        await at.head(reader)
        before = at.calls("inbox.follow_broadcasts")
        for _ in range(5):
            at.time.at_s += BOUND_S
            await asyncio.gather(*(at.head(reader) for _ in range(100)))
            await asyncio.gather(*(at.head(reader) for _ in range(100)))
        assert at.calls("inbox.follow_broadcasts") - before == 5
        at.time.at_s += 3_600
        await asyncio.sleep(0)
        assert at.calls("inbox.follow_broadcasts") - before == 5

    play(scene)


def test_an_unanswered_put_is_recognized_when_repeated(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    real = DynamoBroadcastLog.put

    async def put_twice(
        log: DynamoBroadcastLog, at: BroadcastLogId, entry: BroadcastEntry
    ) -> BroadcastEntry | None:
        assert await real(log, at, entry) is None
        return await real(log, at, entry)

    async def scene(at: Scene) -> None:
        monkeypatch.setattr(DynamoBroadcastLog, "put", put_twice)
        process = at.process()
        assert [(await at.publish(process)).sequence for _ in range(3)] == [1, 2, 3]
        assert len(await DynamoBroadcastLog(at.client).after(at.log, 0)) == 3

    play(scene)


def test_a_new_process_starts_from_the_snapshot_or_reads_the_log(
    play: Play, valkey: str, space: Namespace
) -> None:
    async def scene(at: Scene) -> None:
        async with opened(valkey, space) as redis:
            snapshots = RedisSnapshots(redis)
            sender = at.process(snapshots)
            for _ in range(30):
                await at.publish(sender)
            watcher = at.process(snapshots)
            assert await at.head(watcher) == 30
            while await snapshots.read(at.log) is None:  # noqa: ASYNC110 - written soon, without an answer
                await asyncio.sleep(0.01)
            await at.publish(sender)
            whole = at.calls("inbox.open_broadcasts")
            started = await at.process(snapshots).logs.index(at.log)
            assert (started.head, at.calls("inbox.open_broadcasts")) == (31, whole)
            await redis.write("DEL", snapshots._key(at.log))
            wiped = await at.process(snapshots).logs.index(at.log)
            assert at.calls("inbox.open_broadcasts") == whole + 1
        assert started.view == wiped.view == (await at.process().logs.index(at.log)).view

    play(scene)


def test_an_unavailable_redis_or_a_corrupt_snapshot_does_no_harm(
    play: Play, valkey: str, space: Namespace
) -> None:
    async def scene(at: Scene) -> None:
        async with opened(_DEAD, space) as away, opened(valkey, space) as redis:
            process = at.process(RedisSnapshots(away))
            for _ in range(26):
                await at.publish(process)
            assert await at.head(process) == 26
            snapshots = RedisSnapshots(redis)
            await redis.write("SET", snapshots._key(at.log), b"nonsense")
            assert await at.head(at.process(snapshots)) == 26

    play(scene)


def test_copies_of_unread_logs_are_evicted_first(play: Play) -> None:
    async def scene(at: Scene) -> None:
        process = at.process()
        process.logs._capacity = 2
        logs = [at.log._replace(inbox=f"inbox{number}") for number in range(4)]
        for log in logs:
            await process.logs.index(log)
        assert list(process.logs._copies) == logs[2:]
        await until(lambda: not process.logs._reads._running, 30)

    play(scene)
