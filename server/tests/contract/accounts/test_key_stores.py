"""Contract of the stores of API keys and signing keys: in memory and on both engines."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import pytest
from fixtures.engines import Namespace
from fixtures.memory_accounts import MemoryApiKeyStore, MemorySigningKeyStore
from fixtures.memory_keys import memory_rows
from fixtures.tables import REGION, Tables
from msgspec.structs import replace

from tidings.accounts.api_keys import ApiKey, ApiKeyName, ApiKeyService, ApiKeyStore
from tidings.accounts.model import Scope
from tidings.accounts.signing_keys import (
    SigningKey,
    SigningKeyService,
    SigningKeyStore,
    make_pair,
    public_part,
)
from tidings.accounts.store.keys import DynamoApiKeyStore, DynamoSigningKeyStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, new_ulid
from tidings.platform.dynamo.codec import Attributes
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.patterns import accounts as patterns

AT_MS = 1_794_700_000_007
ROWS = memory_rows()


class Stores(NamedTuple):
    api_keys: ApiKeyStore
    signing_keys: SigningKeyStore


type Opened = Callable[[], AbstractAsyncContextManager[Stores]]


@pytest.fixture
def tenant(space: Namespace) -> TenantId:
    return TenantId(space.tenant)


@pytest.fixture(params=["memory", "local", "dynoxide"])
def opened(request: pytest.FixtureRequest) -> Opened:
    @asynccontextmanager
    async def in_memory() -> AsyncIterator[Stores]:
        yield Stores(MemoryApiKeyStore(), MemorySigningKeyStore())

    if request.param == "memory":
        return in_memory
    tables: Tables = request.getfixturevalue(f"tables_{request.param}")

    @asynccontextmanager
    async def in_dynamo() -> AsyncIterator[Stores]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield Stores(DynamoApiKeyStore(client, ROWS), DynamoSigningKeyStore(client, ROWS))

    return in_dynamo


def api_key(tenant: TenantId, *scopes: Scope) -> ApiKey:
    return ApiKey(
        name=ApiKeyName(tenant, new_ulid()),
        title="Bäckend",
        scopes=frozenset(scopes),
        secret_hash=bytes(range(32)),
        created_at_ms=AT_MS,
    )


def signing_key(tenant: TenantId) -> SigningKey:
    jwk = public_part(make_pair("P-256"))
    return SigningKey(tenant=tenant, kid=jwk["kid"], jwk=jwk, created_at_ms=AT_MS)


async def test_an_api_key_is_read_back_as_it_was_added(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        key, bare = api_key(tenant, *Scope), api_key(tenant)
        await stores.api_keys.add(key)
        await stores.api_keys.add(bare)
        assert await stores.api_keys.find(key.name) == key
        assert await stores.api_keys.find(bare.name) == bare
        assert await stores.api_keys.find(ApiKeyName(tenant, "0" * 26)) is None
        assert await stores.api_keys.find(ApiKeyName(TenantId("other"), key.name.key)) is None


async def test_an_api_key_does_not_replace_one_of_its_name(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        key = api_key(tenant)
        await stores.api_keys.add(key)
        with pytest.raises(TidingsError):
            await stores.api_keys.add(replace(key, secret_hash=bytes(32)))
        assert await stores.api_keys.find(key.name) == key


async def test_a_revocation_is_permanent_and_keeps_its_first_time(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        key = api_key(tenant, Scope.USERS)
        assert not await stores.api_keys.revoke(key.name, AT_MS)
        await stores.api_keys.add(key)
        assert await stores.api_keys.revoke(key.name, AT_MS + 1)
        assert await stores.api_keys.revoke(key.name, AT_MS + 2)
        assert await stores.api_keys.find(key.name) == replace(key, revoked_at_ms=AT_MS + 1)


async def test_an_api_key_keeps_its_expiry_and_its_last_use_and_is_revoked_after_it(
    opened: Opened, tenant: TenantId
) -> None:
    async with opened() as stores:
        key = replace(api_key(tenant, Scope.USERS), expires_at_ms=AT_MS + 90)
        await stores.api_keys.use(key.name, AT_MS, AT_MS)
        assert await stores.api_keys.find(key.name) is None
        await stores.api_keys.add(key)
        await stores.api_keys.use(key.name, AT_MS + 5, AT_MS)
        await stores.api_keys.use(key.name, AT_MS + 6, AT_MS + 5)
        used = replace(key, last_used_at_ms=AT_MS + 5)
        assert await stores.api_keys.find(key.name) == used
        await stores.api_keys.use(key.name, AT_MS + 7, AT_MS + 6)
        assert await stores.api_keys.revoke(key.name, AT_MS + 8)
        ended = replace(key, last_used_at_ms=AT_MS + 7, revoked_at_ms=AT_MS + 8)
        assert list(await stores.api_keys.list(tenant)) == [ended]


async def test_a_list_of_api_keys_is_the_tenants_own(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        keys = [api_key(tenant) for _ in range(3)]
        for key in (*keys, api_key(TenantId(tenant + "x"))):
            await stores.api_keys.add(key)
        listed = await stores.api_keys.list(tenant)
        assert [key.name for key in listed] == sorted(key.name for key in keys)


async def test_a_signing_key_is_read_back_added_once_and_retired(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        key = signing_key(tenant)
        assert not await stores.signing_keys.retire(key, AT_MS)
        assert await stores.signing_keys.add(key)
        assert not await stores.signing_keys.add(replace(signing_key(tenant), kid=key.kid))
        assert list(await stores.signing_keys.list(tenant)) == [key]
        assert list(await stores.signing_keys.list(TenantId(tenant[:-1]))) == []
        assert await stores.signing_keys.retire(key, AT_MS + 9)
        assert list(await stores.signing_keys.list(tenant)) == [replace(key, not_after_ms=AT_MS + 9)]


async def test_of_concurrent_adds_of_one_kid_one_succeeds(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        keys = [replace(signing_key(tenant), kid="same") for _ in range(8)]
        won = await asyncio.gather(*(stores.signing_keys.add(key) for key in keys))
        assert sum(won) == 1
        assert list(await stores.signing_keys.list(tenant)) == [keys[won.index(True)]]


async def test_an_operator_adds_lists_and_retires_signing_keys(opened: Opened, tenant: TenantId) -> None:
    async with opened() as stores:
        keys = SigningKeyService(stores.signing_keys, SystemClock())
        made = await keys.make(tenant, "Ed25519")
        assert "d" not in made.key.jwk
        theirs = make_pair("P-256") | {"kid": "their-own-2026"}
        assert "d" not in (await keys.add(tenant, theirs)).jwk
        assert {key.kid for key in await keys.list(tenant)} == {made.key.kid, "their-own-2026"}
        await keys.retire(tenant, made.key.kid, AT_MS)
        ends = {key.kid: key.not_after_ms for key in await keys.list(tenant)}
        assert ends == {made.key.kid: AT_MS, "their-own-2026": None}
        for asking in (
            keys.add(tenant, theirs),
            keys.add(tenant, {"kty": "RSA"}),
            keys.retire(tenant, "nobody", AT_MS),
        ):
            with pytest.raises(TidingsError) as caught:
                await asking
            assert caught.value.code is Code.REQUEST_INVALID


async def test_a_kid_that_can_not_be_part_of_a_key_is_not_stored(tables: Tables, tenant: TenantId) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        keys = SigningKeyService(DynamoSigningKeyStore(client, ROWS), SystemClock())
        for kid in ("a#b", "x" * 27):
            with pytest.raises(TidingsError) as caught:
                await keys.add(tenant, make_pair("Ed25519") | {"kid": kid})
            assert caught.value.code is Code.REQUEST_INVALID


async def test_key_kinds_are_listed_separately_and_an_unknown_scope_grants_nothing(
    tables: Tables, tenant: TenantId
) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        stores = Stores(DynamoApiKeyStore(client, ROWS), DynamoSigningKeyStore(client, ROWS))
        await stores.signing_keys.add(signing_key(tenant))
        key = api_key(tenant, Scope.USERS)
        await stores.api_keys.add(key)
        row = await client.get(patterns.FIND_API_KEY, {"tenant": tenant, "item": f"key#{key.name.key}"})
        assert row is not None
        later: Attributes = row | {"item": "key#" + "Z" * 26, "scopes": ["users", "of_a_later_tidings"]}
        await client.put(patterns.PUT_API_KEY, await ROWS.sign(tenant, later))
        assert len(await stores.api_keys.list(tenant)) == 2
        for listed in await stores.api_keys.list(tenant):
            assert listed.scopes == {Scope.USERS}
        assert len(await stores.signing_keys.list(tenant)) == 1


async def test_the_units_of_a_verified_api_key_and_of_keys(tables: Tables, tenant: TenantId) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        api_keys = ApiKeyService(DynamoApiKeyStore(client, ROWS), SystemClock())
        text = (await api_keys.issue(tenant, "x", Scope)).text.reveal()
        for _ in range(20):
            await api_keys.verify(text)
        finds = client.ledger[patterns.FIND_API_KEY.name]
        assert (finds.calls, finds.read_units) == (1, 1)
        await DynamoSigningKeyStore(client, ROWS).add(signing_key(tenant))
        await DynamoSigningKeyStore(client, ROWS).list(tenant)
        lists = client.ledger[patterns.LIST_SIGNING_KEYS.name]
        assert (lists.calls, lists.read_units) == (1, 1)


async def test_a_table_that_does_not_answer_is_reported_as_unavailable() -> None:
    async with open_client("http://127.0.0.1:9", REGION, "none-") as client:
        api_keys, signing_keys, name = (
            DynamoApiKeyStore(client, ROWS),
            DynamoSigningKeyStore(client, ROWS),
            TenantId("t"),
        )
        key = api_key(name)
        for asking in (
            api_keys.add(key),
            api_keys.find(key.name),
            api_keys.list(name),
            api_keys.revoke(key.name, 0),
            api_keys.use(key.name, 0, 0),
            signing_keys.list(name),
            signing_keys.add(signing_key(name)),
            signing_keys.retire(signing_key(name), 0),
        ):
            with pytest.raises(TidingsError) as caught:
                await asking
            assert caught.value.code is Code.KEYS_UNAVAILABLE
