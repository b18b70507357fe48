"""Contract of the tenant store: in memory and on both engines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from fixtures.engines import Namespace
from fixtures.memory_keys import memory_rows
from fixtures.memory_tenants import MemoryTenantStore
from fixtures.tables import REGION, Tables
from msgspec.structs import replace

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.model import Tenant, TenantSettings, TenantStore, TokenSettings
from tidings.tenants.rate_settings import RateLimit, RateOverrides
from tidings.tenants.settings import TenantReader, TenantService
from tidings.tenants.store import DynamoTenantStore

type Opened = Callable[[], AbstractAsyncContextManager[TenantStore]]

AT_MS = 1_794_700_000_007
ROWS = memory_rows()
FULL = TenantSettings(
    name="Acme & Söhne",
    tokens=TokenSettings(audiences=("a", "b"), jwks_url="https://id.example/keys", skew_s=0),
    has_phone_login=True,
    rates=RateOverrides(user=RateLimit(per_s=0.5, burst=10)),
)


@pytest.fixture
def tenant(space: Namespace) -> TenantId:
    return TenantId(space.tenant)


@pytest.fixture(params=["memory", "local", "dynoxide"])
def opened(request: pytest.FixtureRequest) -> Opened:
    @asynccontextmanager
    async def in_memory() -> AsyncIterator[TenantStore]:
        yield MemoryTenantStore()

    if request.param == "memory":
        return in_memory
    tables: Tables = request.getfixturevalue(f"tables_{request.param}")

    @asynccontextmanager
    async def in_dynamo() -> AsyncIterator[TenantStore]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield DynamoTenantStore(client, ROWS)

    return in_dynamo


async def test_settings_are_read_back_as_they_were_set(opened: Opened, tenant: TenantId) -> None:
    async with opened() as store:
        assert await store.read(tenant) is None
        assert await store.create(tenant, FULL, AT_MS)
        assert await store.read(tenant) == Tenant(
            id=tenant, settings=FULL, version=1, created_at_ms=AT_MS, updated_at_ms=AT_MS
        )


async def test_of_concurrent_creations_of_a_tenant_one_succeeds(opened: Opened, tenant: TenantId) -> None:
    async with opened() as store:
        each = [TenantSettings(name=f"{n}") for n in range(10)]
        won = await asyncio.gather(*(store.create(tenant, one, AT_MS) for one in each))
        assert sum(won) == 1
        found = await store.read(tenant)
        assert found is not None
        assert found.settings == each[won.index(True)]


async def test_an_update_needs_the_version_that_it_was_made_from(opened: Opened, tenant: TenantId) -> None:
    async with opened() as store:
        assert not await store.update(tenant, FULL, 1, AT_MS)
        await store.create(tenant, TenantSettings(name="old"), AT_MS)
        assert await store.update(tenant, FULL, 1, AT_MS + 5)
        assert not await store.update(tenant, TenantSettings(name="late"), 1, AT_MS + 6)
        assert await store.read(tenant) == Tenant(
            id=tenant, settings=FULL, version=2, created_at_ms=AT_MS, updated_at_ms=AT_MS + 5
        )


async def test_of_many_changes_at_once_none_is_lost(opened: Opened, tenant: TenantId) -> None:
    async with opened() as store:
        tenants = TenantService(store, SystemClock())
        await tenants.create(tenant, TenantSettings(name="x"))

        def add(audience: str) -> Callable[[TenantSettings], TenantSettings]:
            def change(settings: TenantSettings) -> TenantSettings:
                tokens = settings.tokens
                return replace(settings, tokens=replace(tokens, audiences=(*tokens.audiences, audience)))

            return change

        await asyncio.gather(*(tenants.change(tenant, add(f"{n}")) for n in range(6)))
        found = await tenants.read(tenant)
        assert set(found.settings.tokens.audiences) == {"tidings", *map(str, range(6))}
        assert found.version == 7


async def test_a_table_that_does_not_answer_is_reported_as_unavailable() -> None:
    async with open_client("http://127.0.0.1:9", REGION, "none-") as client:
        store, name = DynamoTenantStore(client, ROWS), TenantId("t")
        for asking in (store.read(name), store.create(name, FULL, 0), store.update(name, FULL, 1, 0)):
            with pytest.raises(TidingsError) as caught:
                await asking
            assert caught.value.code is Code.KEYS_UNAVAILABLE


async def test_a_look_up_costs_its_units_once(tables: Tables, tenant: TenantId) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        store = DynamoTenantStore(client, ROWS)
        await store.create(tenant, FULL, AT_MS)
        reader = TenantReader(store, SystemClock())
        for _ in range(10):
            assert await reader.find(tenant) is not None
            assert await reader.find(TenantId("nobody")) is None
        looks = client.ledger[patterns.READ_SETTINGS.name]
        assert (looks.calls, looks.read_units) == (2, 2)


async def test_the_largest_settings_that_are_allowed_fit_into_their_item(
    tables: Tables, tenant: TenantId
) -> None:
    rate = RateLimit(per_s=999_999.9, burst=1_000_000)
    largest = TenantSettings(
        name="\N{GRINNING FACE}" * 32,
        tokens=TokenSettings(
            audiences=tuple("\x01" * 128 for _ in range(16)),
            jwks_url="https://" + "\\" * 1016,
            skew_s=300,
        ),
        rates=RateOverrides(tenant=rate, user=rate, address=rate),
    )
    async with open_client(tables.url, REGION, tables.prefix) as client:
        await TenantService(DynamoTenantStore(client, ROWS), SystemClock()).create(tenant, largest)
        row = await client.get(patterns.READ_SETTINGS, {"tenant": tenant, "item": "settings"})
        assert row is not None
        assert len(row["settings"]) <= 16 * 1024
        assert len(row["name"].encode()) <= 128
