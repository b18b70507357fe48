"""Contract of the store of users' keys: in memory, and DynamoDB on both engines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.memory_keys import MemoryUserKeyStore
from fixtures.tables import REGION, Tables

from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.model import UserKeyRow, UserKeyStore
from tidings.tenants.store import DynamoUserKeyStore

ANNA, BEN = UserId("anna"), UserId("ben")
NOTHING = UserKeyRow(())
NOW_MS = 1_794_700_000_007


@pytest.fixture
def tenant(space: Namespace) -> TenantId:
    return TenantId(space.tenant)


@pytest.fixture(params=["memory", "local", "dynoxide"])
def store(request: pytest.FixtureRequest) -> AsyncFixture[UserKeyStore]:
    @asynccontextmanager
    async def in_memory() -> AsyncIterator[UserKeyStore]:
        yield MemoryUserKeyStore()

    if request.param == "memory":
        return AsyncFixture(in_memory)
    tables: Tables = request.getfixturevalue(f"tables_{request.param}")

    @asynccontextmanager
    async def in_dynamo() -> AsyncIterator[UserKeyStore]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield DynamoUserKeyStore(client)

    return AsyncFixture(in_dynamo)


async def read(store: UserKeyStore, tenant: TenantId, *users: UserId) -> dict[UserId, UserKeyRow]:
    return dict(await store.read(tenant, users, is_strong=True))


async def test_keys_are_read_back_as_they_were_added(store: UserKeyStore, tenant: TenantId) -> None:
    one = await store.add(tenant, ANNA, NOTHING, b"\x00one\xff")
    two = await store.add(tenant, ANNA, one, b"two")
    other = await store.add(tenant, BEN, NOTHING, b"other")
    assert two == UserKeyRow((b"\x00one\xff", b"two"))
    found = await read(store, tenant, ANNA, BEN, UserId("nobody"))
    assert found == {ANNA: two, BEN: other}
    assert await read(store, TenantId(f"{tenant}-other"), ANNA) == {}


async def test_the_first_of_two_writers_of_a_version_wins_and_both_get_its_row(
    store: UserKeyStore, tenant: TenantId
) -> None:
    rows = await asyncio.gather(*(store.add(tenant, ANNA, NOTHING, b"%d" % n) for n in range(8)))
    assert len(set(rows)) == 1
    again = await asyncio.gather(*(store.add(tenant, ANNA, rows[0], b"%d" % n) for n in range(8)))
    assert len(set(again)) == 1
    assert len(again[0].wrapped) == 2


async def test_a_destroyed_row_has_no_keys_and_gets_none(store: UserKeyStore, tenant: TenantId) -> None:
    before = await store.add(tenant, ANNA, NOTHING, b"one")
    await store.destroy(tenant, ANNA, NOW_MS)
    for expected in (NOTHING, before):
        assert (await store.add(tenant, ANNA, expected, b"two")).is_destroyed
    found = (await read(store, tenant, ANNA))[ANNA]
    assert (found.wrapped, found.is_destroyed) == ((), True)


async def test_a_user_without_keys_can_be_erased(store: UserKeyStore, tenant: TenantId) -> None:
    await store.destroy(tenant, ANNA, NOW_MS)
    assert (await store.add(tenant, ANNA, NOTHING, b"one")).is_destroyed


async def test_erased_users_are_destroyed_again_after_their_keys_were_restored(
    tables: Tables, tenant: TenantId
) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        store = DynamoUserKeyStore(client)
        keys = {user: await store.add(tenant, user, NOTHING, b"one") for user in (ANNA, BEN)}
        await store.destroy(tenant, ANNA, NOW_MS + 5)
        restored = {"user_id": f"{tenant}#{ANNA}", "wrapped_keys": [b"one"], "newest": 1}
        await client.put(patterns.PUT_USER_KEY, restored)
        assert await read(store, tenant, ANNA) == {ANNA: keys[ANNA]}
        assert await store.destroy_again(tenant, NOW_MS + 6) == 0
        assert await read(store, tenant, ANNA) == {ANNA: keys[ANNA]}, "it was erased earlier"
        assert await store.destroy_again(tenant, NOW_MS + 5) == 1
        found = await read(store, tenant, ANNA, BEN)
        assert (found[ANNA].is_destroyed, found[BEN]) == (True, keys[BEN])
