"""The log and its copies, as several processes have them: dense, converging within the bound, read once a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture, until
from fixtures.tables import REGION, Tables

from tidings.app.wiring.broadcasts import BroadcastServices, build_broadcasts
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


class ManualTime(SystemClock):
    """A clock that only the test moves."""

    at_s = 100.0

    def monotonic(self) -> float:
        return self.at_s


@dataclass
class BroadcastLogEnv:
    client: DynamoClient
    log: BroadcastLogId
    time: ManualTime

    def process(self, snapshots: Snapshots | None = None) -> BroadcastServices:
        """Open another process with its own copies."""
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


@pytest.fixture
def log_env(tables: Tables, space: Namespace) -> AsyncFixture[BroadcastLogEnv]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[BroadcastLogEnv]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            log = BroadcastLogId(TenantId(space.tenant), "default")
            yield BroadcastLogEnv(client, log, ManualTime())

    return AsyncFixture(opened)


@asynccontextmanager
async def open_redis(url: str, space: Namespace) -> AsyncIterator[RedisClient]:
    options = replace(RedisOptions.from_url(url), key_prefix=space.key_prefix)
    redis = await RedisClient.connect(options, wait=False)
    try:
        yield redis
    finally:
        await redis.close()


async def test_concurrent_appends_of_processes_make_one_dense_log(log_env: BroadcastLogEnv) -> None:
    one, two = log_env.process(), log_env.process()
    entries = await asyncio.gather(*(log_env.publish(by) for by in (one, two) for _ in range(12)))
    assert sorted(each.sequence for each in entries) == list(range(1, 25))
    stored = await DynamoBroadcastLog(log_env.client).after(log_env.log, 0)
    assert [(each.sequence, each.id) for each in stored] == sorted(
        (each.sequence, each.id) for each in entries
    )
    assert [each.at_ms for each in stored] == sorted(each.at_ms for each in stored)
    log_env.time.at_s += BOUND_S
    boards = [await each.logs.index(log_env.log) for each in (one, two, log_env.process())]
    assert boards[0].view == boards[1].view == boards[2].view


async def test_a_copy_is_at_most_a_second_old_and_at_least_makes_it_move_at_once(
    log_env: BroadcastLogEnv,
) -> None:
    sender, reader = log_env.process(), log_env.process()
    assert await log_env.head(reader) == 0
    entry = await log_env.publish(sender)
    assert await log_env.head(sender) == 1
    log_env.time.at_s += BOUND_S - 0.001
    assert await log_env.head(reader) == 0
    assert await log_env.head(reader, entry.sequence) == 1
    await sender.rollout.redact(log_env.log, entry.notification)
    log_env.time.at_s += BOUND_S
    board = await reader.logs.index(log_env.log)
    assert (board.head, board.live(log_env.time.now_ms())) == (2, 0)
    with pytest.raises(TidingsError) as refused:
        await log_env.head(reader, 3)
    assert refused.value.code is Code.POSITION_AHEAD


async def test_a_log_is_read_once_a_second_for_any_number_of_readers_and_never_without(
    log_env: BroadcastLogEnv,
) -> None:
    reader = log_env.process()
    await log_env.head(reader)
    before = log_env.calls("inbox.follow_broadcasts")
    for _ in range(5):
        log_env.time.at_s += BOUND_S
        await asyncio.gather(*(log_env.head(reader) for _ in range(100)))
        await asyncio.gather(*(log_env.head(reader) for _ in range(100)))
    assert log_env.calls("inbox.follow_broadcasts") - before == 5
    log_env.time.at_s += 3_600
    await asyncio.sleep(0)
    assert log_env.calls("inbox.follow_broadcasts") - before == 5


async def test_an_unanswered_put_is_recognized_when_repeated(
    log_env: BroadcastLogEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DynamoBroadcastLog.put

    async def put_twice(
        log: DynamoBroadcastLog, at: BroadcastLogId, entry: BroadcastEntry
    ) -> BroadcastEntry | None:
        assert await real(log, at, entry) is None
        return await real(log, at, entry)

    monkeypatch.setattr(DynamoBroadcastLog, "put", put_twice)
    process = log_env.process()
    assert [(await log_env.publish(process)).sequence for _ in range(3)] == [1, 2, 3]
    assert len(await DynamoBroadcastLog(log_env.client).after(log_env.log, 0)) == 3


async def test_a_new_process_starts_from_the_snapshot_or_reads_the_log(
    log_env: BroadcastLogEnv, valkey: str, space: Namespace
) -> None:
    async with open_redis(valkey, space) as redis:
        snapshots = RedisSnapshots(redis)
        sender = log_env.process(snapshots)
        for _ in range(30):
            await log_env.publish(sender)
        watcher = log_env.process(snapshots)
        assert await log_env.head(watcher) == 30
        while await snapshots.read(log_env.log) is None:  # noqa: ASYNC110 - written soon, without an answer
            await asyncio.sleep(0.01)
        await log_env.publish(sender)
        whole = log_env.calls("inbox.open_broadcasts")
        started = await log_env.process(snapshots).logs.index(log_env.log)
        assert (started.head, log_env.calls("inbox.open_broadcasts")) == (31, whole)
        await redis.write("DEL", snapshots._key(log_env.log))
        wiped = await log_env.process(snapshots).logs.index(log_env.log)
        assert log_env.calls("inbox.open_broadcasts") == whole + 1
    assert started.view == wiped.view == (await log_env.process().logs.index(log_env.log)).view


async def test_an_unavailable_redis_or_a_corrupt_snapshot_does_no_harm(
    log_env: BroadcastLogEnv, valkey: str, space: Namespace
) -> None:
    async with open_redis(_DEAD, space) as away, open_redis(valkey, space) as redis:
        process = log_env.process(RedisSnapshots(away))
        for _ in range(26):
            await log_env.publish(process)
        assert await log_env.head(process) == 26
        snapshots = RedisSnapshots(redis)
        await redis.write("SET", snapshots._key(log_env.log), b"nonsense")
        assert await log_env.head(log_env.process(snapshots)) == 26


async def test_copies_of_unread_logs_are_evicted_first(log_env: BroadcastLogEnv) -> None:
    process = log_env.process()
    process.logs._capacity = 2
    logs = [log_env.log._replace(inbox=f"inbox{number}") for number in range(4)]
    for log in logs:
        await process.logs.index(log)
    assert list(process.logs._copies) == logs[2:]
    await until(lambda: not process.logs._reads._running, 30)
