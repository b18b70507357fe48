import asyncio

import pytest
from fixtures.memory_keys import AdjustableClock
from fixtures.memory_tenants import MemoryTenantStore
from msgspec.structs import replace

from tidings.kernel.cache import CachePolicy
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.tenants.model import SETTINGS_FORM, TenantSettings, TokenSettings
from tidings.tenants.rate_settings import RateLimit, RateOverrides
from tidings.tenants.settings import TenantReader, TenantService

ACME = TenantId("acme")


@pytest.fixture
def store() -> MemoryTenantStore:
    store = MemoryTenantStore()
    store.put("acme")
    return store


async def test_a_change_is_seen_within_the_bound_and_not_paid_for_before(store: MemoryTenantStore) -> None:
    clock = AdjustableClock()
    reader = TenantReader(store, clock, CachePolicy(fresh_s=30))
    await reader.find(ACME)
    await TenantService(store, clock).change("acme", lambda settings: replace(settings, has_phone_login=True))
    reads = store.reads
    for _ in range(5):
        found = await reader.find(ACME)
        assert found is not None
        assert not found.settings.has_phone_login
    assert store.reads == reads
    clock.now_s += 30
    found = await reader.find(ACME)
    assert found is not None
    assert found.settings.has_phone_login


async def test_ten_thousand_requests_for_a_missing_tenant_cost_one_read(
    store: MemoryTenantStore,
) -> None:
    reader = TenantReader(store, AdjustableClock())
    await asyncio.gather(*(reader.find(TenantId("nobody")) for _ in range(10_000)))
    for _ in range(100):
        assert await reader.find(TenantId("nobody")) is None
    assert store.reads == 1


@pytest.mark.parametrize("name", ["", "_system", "a#b", "a.b", "A", "a" * 33, "-a", "a\n", "ä", "a b"])
async def test_an_invalid_tenant_name_costs_no_read_and_cannot_be_created(
    store: MemoryTenantStore, name: str
) -> None:
    assert await TenantReader(store, AdjustableClock()).find(TenantId(name)) is None
    assert store.reads == 0
    with pytest.raises(TidingsError) as caught:
        await TenantService(store, AdjustableClock()).create(name, TenantSettings(name="x"))
    assert caught.value.code is Code.REQUEST_INVALID


async def test_a_tenant_is_not_created_twice_and_not_changed_before_it_exists(
    store: MemoryTenantStore,
) -> None:
    tenants = TenantService(store, AdjustableClock())
    for asking in (
        tenants.create("acme", TenantSettings(name="again")),
        tenants.change("nobody", lambda settings: settings),
        tenants.read("nobody"),
    ):
        with pytest.raises(TidingsError) as caught:
            await asking
        assert caught.value.code is Code.REQUEST_INVALID
    assert store.rows[ACME].settings.name == "acme"


@pytest.mark.parametrize(
    "settings",
    [
        TenantSettings(name=""),
        TenantSettings(name="x" * 33),
        TenantSettings(name="x", tokens=TokenSettings(audiences=())),
        TenantSettings(name="x", tokens=TokenSettings(audiences=("a",) * 17)),
        TenantSettings(name="x", tokens=TokenSettings(audiences=("",))),
        TenantSettings(name="x", tokens=TokenSettings(skew_s=301)),
        TenantSettings(name="x", tokens=TokenSettings(skew_s=-1)),
        TenantSettings(name="x", tokens=TokenSettings(jwks_url="ftp://example.com")),
        TenantSettings(name="x", tokens=TokenSettings(jwks_url="https://" + "x" * 1024)),
        TenantSettings(name="x", rates=RateOverrides(user=RateLimit(per_s=0, burst=1))),
        TenantSettings(name="x", form=SETTINGS_FORM + 1),
    ],
    ids=str,
)
async def test_settings_over_their_bounds_are_refused(
    store: MemoryTenantStore, settings: TenantSettings
) -> None:
    tenants = TenantService(store, AdjustableClock())
    for asking in (tenants.create("new", settings), tenants.change("acme", lambda _: settings)):
        with pytest.raises(TidingsError) as caught:
            await asking
        assert caught.value.code is Code.REQUEST_INVALID
