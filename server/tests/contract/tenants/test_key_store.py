"""Contract of the key store: in memory, and DynamoDB on both engines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.memory_keys import MemoryKeyStore
from fixtures.tables import REGION, Tables

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.platform.dynamo.codec import Attributes
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.kms import FileKms
from tidings.tenants.model import FINGERPRINT, KeyKind, KeyName, KeyStore, WrappedKey
from tidings.tenants.store import DynamoKeyStore


@pytest.fixture
def tenant(space: Namespace) -> TenantId:
    return TenantId(space.tenant)


@pytest.fixture(params=["memory", "local", "dynoxide"])
def store(request: pytest.FixtureRequest) -> AsyncFixture[KeyStore]:
    @asynccontextmanager
    async def in_memory() -> AsyncIterator[KeyStore]:
        yield MemoryKeyStore()

    if request.param == "memory":
        return AsyncFixture(in_memory)
    tables: Tables = request.getfixturevalue(f"tables_{request.param}")

    @asynccontextmanager
    async def in_dynamo() -> AsyncIterator[KeyStore]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield DynamoKeyStore(client)

    return AsyncFixture(in_dynamo)


def key(version: int = 1, wrapped: bytes = b"\x00wrapped\xff", kind: KeyKind = KeyKind.CONTENT) -> WrappedKey:
    return WrappedKey(KeyName(kind, version), wrapped, "arn:aws:kms:somewhere", 1_794_700_000_007)


async def test_a_tenant_without_keys_has_none(store: KeyStore, tenant: TenantId) -> None:
    assert list(await store.list(tenant)) == []


async def test_keys_are_read_back_as_they_were_added(store: KeyStore, tenant: TenantId) -> None:
    added = [key(1), key(2, b"other"), key(1, kind=KeyKind.FINGERPRINT), key(10), key(2**32 - 1)]
    for one in added:
        assert await store.add(tenant, one) == one
    assert sorted(await store.list(tenant), key=str) == sorted(added, key=str)


async def test_the_first_key_of_a_name_is_kept_and_returned_to_the_second_writer(
    store: KeyStore, tenant: TenantId
) -> None:
    assert await store.add(tenant, key(1, b"first")) == key(1, b"first")
    assert await store.add(tenant, key(1, b"second")) == key(1, b"first")
    assert list(await store.list(tenant)) == [key(1, b"first")]


async def test_of_concurrent_adds_one_succeeds_and_all_callers_use_its_key(
    store: KeyStore, tenant: TenantId
) -> None:
    stored = await asyncio.gather(*(store.add(tenant, key(1, b"%d" % n)) for n in range(30)))
    assert len(set(stored)) == 1
    assert list(await store.list(tenant)) == [stored[0]]


async def test_a_key_is_replaced_only_as_it_was_read(store: KeyStore, tenant: TenantId) -> None:
    new = replace(key(1, b"new"), wrapped_by="another")
    assert not await store.replace(tenant, key(1), new), "nothing is there"
    await store.add(tenant, key(1))
    await store.add(tenant, key(2))
    assert await store.replace(tenant, key(1), new)
    assert not await store.replace(tenant, key(1), key(1, b"newer"))
    assert sorted(await store.list(tenant), key=str) == sorted([new, key(2)], key=str)


async def test_tenants_see_their_own_keys_only(store: KeyStore, tenant: TenantId) -> None:
    await store.add(tenant, key(1))
    assert list(await store.list(TenantId(tenant[:-1]))) == []
    assert list(await store.list(TenantId(tenant + "x"))) == []


async def test_other_items_of_a_tenant_are_neither_listed_as_keys_nor_charged(
    tables: Tables, tenant: TenantId
) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        store = DynamoKeyStore(client)
        await store.add(tenant, key(1))
        # of a later Tidings, of today's, and as large as settings may be
        for item, extra in (("data_key#search-0000000001", 0), ("key#1", 0), ("settings", 16_384)):
            row: Attributes = {"tenant": tenant, "item": item, "settings": bytes(extra)}
            await client.put(patterns.PUT_SIGNING_KEY, row)
        assert list(await store.list(tenant)) == [key(1)]
        assert client.ledger[patterns.LIST_DATA_KEYS.name].read_units == 1


async def test_a_table_that_does_not_answer_is_reported_as_unavailable() -> None:
    async with open_client("http://127.0.0.1:9", REGION, "none-") as client:
        for asking in (
            DynamoKeyStore(client).list(TenantId("t")),
            DynamoKeyStore(client).add(TenantId("t"), key()),
        ):
            with pytest.raises(TidingsError) as caught:
                await asking
            assert caught.value.code is Code.KEYS_UNAVAILABLE
            assert caught.value.retryable


async def test_ten_processes_that_start_with_a_new_tenant_agree_on_one_pair_of_keys(
    tables: Tables, tenant: TenantId, tmp_path: Path
) -> None:
    chat = ChatKey(tenant, ChatId("c"))
    async with open_client(tables.url, REGION, tables.prefix) as client:
        rings = [
            KeyRing(DynamoKeyStore(client), FileKms(tmp_path / "tidings.key"), SystemClock(), KeyPolicy())
            for _ in range(10)
        ]
        keys = await asyncio.gather(*(ring.of(tenant) for ring in rings))
        contents = [one.seal(chat, 1, b"hello") for one in keys]
        assert {one.unseal(chat, 1, content) for one in keys for content in contents} == {b"hello"}
        assert len({one.fingerprint(b"hello") for one in keys}) == 1
        rows = await DynamoKeyStore(client).list(tenant)
        assert {row.name for row in rows} == {FINGERPRINT, KeyName(KeyKind.CONTENT, 1)}


async def test_the_units_of_a_first_use_and_of_a_look_up(
    tables: Tables, tenant: TenantId, tmp_path: Path
) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        ring = KeyRing(
            DynamoKeyStore(client),
            FileKms(tmp_path / "tidings.key"),
            SystemClock(),
            KeyPolicy(refresh_s=0),
        )
        await ring.of(tenant)
        puts, looks = (
            client.ledger[patterns.PUT_DATA_KEY.name],
            client.ledger[patterns.LIST_DATA_KEYS.name],
        )
        assert (puts.calls, puts.write_units) == (2, 8), "each checks the settings in a transaction"
        await ring.of(tenant)
        assert (looks.calls, looks.read_units) == (2, 2)
