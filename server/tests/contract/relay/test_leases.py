"""Leases in memory and on both engines: every change is conditional on the counter that was read."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from fixtures.engines import Namespace
from fixtures.relay_env import MemoryLeases
from fixtures.tables import REGION, Tables

from tidings.kernel.clock import SystemClock
from tidings.platform.dynamo.open_client import open_client
from tidings.relay.model import LeaseStore, ShardId
from tidings.relay.store import DynamoLeaseStore

type Open = Callable[[], AbstractAsyncContextManager[LeaseStore]]


@pytest.fixture(params=["memory", "local", "dynoxide"])
def leases(request: pytest.FixtureRequest) -> Open:
    @asynccontextmanager
    async def open_() -> AsyncIterator[LeaseStore]:
        if request.param == "memory":
            yield MemoryLeases()
            return
        tables: Tables = request.getfixturevalue(f"tables_{request.param}")
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield DynamoLeaseStore(client, SystemClock())

    if request.param != "memory":
        request.getfixturevalue(f"tables_{request.param}")
    return open_


@pytest.fixture
def shard(space: Namespace) -> ShardId:
    return ShardId(f"shardId-{space.mark}-0000000000000000")


async def test_one_of_two_concurrent_takers_gets_the_lease(leases: Open, shard: ShardId) -> None:
    async with leases() as store:
        assert await store.read([shard]) == {}
        first = await store.take(shard, None, "one")
        assert first is not None
        assert (first.holder, first.checkpoint) == ("one", None)
        assert await store.take(shard, None, "two") is None
        assert await store.read([shard]) == {shard: first}


async def test_a_renewal_sets_the_checkpoint_and_increments_the_counter(leases: Open, shard: ShardId) -> None:
    async with leases() as store:
        taken = await store.take(shard, None, "one")
        assert taken is not None
        renewed = await store.renew(taken, "7")
        assert renewed is not None
        assert (renewed.checkpoint, renewed.counter) == ("7", taken.counter + 1)
        again = await store.renew(renewed, None)
        assert again is not None
        assert again.checkpoint == "7"


async def test_a_former_holder_changes_nothing(leases: Open, shard: ShardId) -> None:
    async with leases() as store:
        zombie = await store.take(shard, None, "one")
        assert zombie is not None
        successor = await store.take(shard, zombie, "two")
        assert successor is not None
        assert await store.renew(zombie, "900") is None
        await store.release(zombie, "900")
        assert await store.read([shard]) == {shard: successor}


async def test_the_next_holder_starts_at_the_current_checkpoint(leases: Open, shard: ShardId) -> None:
    async with leases() as store:
        taken = await store.take(shard, None, "one")
        assert taken is not None
        renewed = await store.renew(taken, "7")
        assert renewed is not None
        assert await store.take(shard, taken, "two") is None, "what was seen has moved since"
        successor = await store.take(shard, renewed, "two")
        assert successor is not None
        assert (successor.holder, successor.checkpoint) == ("two", "7")


async def test_a_released_lease_has_no_holder_and_keeps_its_checkpoint(leases: Open, shard: ShardId) -> None:
    async with leases() as store:
        taken = await store.take(shard, None, "one")
        assert taken is not None
        await store.release(taken, "7")
        (free,) = (await store.read([shard])).values()
        assert (free.holder, free.checkpoint) == (None, "7")
        assert await store.take(shard, free, "two") is not None
