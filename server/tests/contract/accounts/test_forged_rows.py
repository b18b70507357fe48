"""Rows that grant access carry a MAC: an attacker who can write the tables gains no access."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from fixtures.accounts_env import NUMBER, AccountsEnv, OpenAccountsEnv
from fixtures.use_cases import code_of

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Device, Phone, Scope
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoApiKeyStore, DynamoSigningKeyStore
from tidings.accounts.store.sessions import code_key, session_key
from tidings.accounts.store.user_items import claim_key
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId
from tidings.platform.dynamo.operations import AccessPattern, Operation
from tidings.platform.dynamo.protected_rows import AuthenticatedRows, canonical_bytes
from tidings.platform.dynamo.requests import Put
from tidings.schema.tables.patterns import accounts as patterns
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

type Row = dict[str, Any]
type Reading = Callable[[], Awaitable[object]]

OTHER = "9" * 26
KEYS = frozenset({"tenant", "item", "session_id", "tries"})
THEIRS = "+4915123450002"
UNCLAIMED = "+4915123450003"


def changes(row: Row, keys: frozenset[str]) -> Iterator[Row]:
    """Yield the row with each non-key attribute changed, removed or added."""
    for name, value in row.items():
        if name in keys:
            continue
        yield row | {name: other_than(value)}
        yield {each: kept for each, kept in row.items() if each != name}
    yield row | {"added": "x"}


def other_than(value: object) -> object:
    match value:
        case bytes():
            return bytes([value[0] ^ 1]) + value[1:]
        case str():
            return value[:-1] + ("0" if value[-1] != "0" else "1")
        case list():
            return [*value, "more"]
        case _:
            return int(str(value)) + 1


async def refused(
    accounts: AccountsEnv,
    put: AccessPattern,
    row: Row,
    reading: Reading,
    caplog: pytest.LogCaptureFixture,
    *,
    keys: frozenset[str] = KEYS,
) -> None:
    """Write each forged row directly, and check that readers do not see it."""
    assert await reading(), "the row itself is good"
    for forged in changes(row, keys):
        caplog.clear()
        await write(accounts, put, forged)
        assert not await reading(), forged
        assert any(line.message == "row_rejected" for line in caplog.records)
    await write(accounts, put, row)
    assert await reading()


async def write(accounts: AccountsEnv, pattern: AccessPattern, row: Row) -> None:
    """Write the row directly into the first table of the pattern."""
    if pattern.operation is Operation.PUT_ITEM:
        await accounts.client.put(pattern, row)
    else:
        await accounts.client.transact_write(pattern, [Put(table=pattern.tables[0], item=row)])


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.kernel.security.MAX_PER_WINDOW", 10**6)
    caplog.set_level(logging.INFO, logger="tidings.security")


async def test_forged_settings_keys_and_api_keys_are_refused(
    open_accounts: OpenAccountsEnv, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_accounts() as accounts:
        rows, tenant = AuthenticatedRows(accounts.keys), accounts.tenant
        tenants = DynamoTenantStore(accounts.client, rows)
        await TenantService(tenants, accounts.clock).create(tenant, TenantSettings(name="Acme"))
        signing, api_keys = (
            DynamoSigningKeyStore(accounts.client, rows),
            DynamoApiKeyStore(accounts.client, rows),
        )
        pair = await SigningKeyService(signing, accounts.clock).make(tenant, "Ed25519")
        issued = (await ApiKeyService(api_keys, accounts.clock).issue(tenant, "x", [Scope.USERS])).key.name
        for item, reading in (
            ("settings", lambda: tenants.read(tenant)),
            (f"jwk#{pair.key.kid}", lambda: signing.list(tenant)),
            (f"key#{issued.key}", lambda: api_keys.find(issued)),
        ):
            row = await accounts.client.get(patterns.READ_SETTINGS, {"tenant": tenant, "item": item})
            assert row is not None
            await refused(accounts, patterns.PUT_API_KEY, dict(row), reading, caplog)


async def test_a_key_that_is_copied_to_another_tenant_or_name_is_refused(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        rows, theirs = AuthenticatedRows(accounts.keys), TenantId(f"{accounts.tenant}-b")
        signing, api_keys = (
            DynamoSigningKeyStore(accounts.client, rows),
            DynamoApiKeyStore(accounts.client, rows),
        )
        pair = await SigningKeyService(signing, accounts.clock).make(accounts.tenant, "Ed25519")
        row = await accounts.client.get(
            patterns.READ_SETTINGS, {"tenant": accounts.tenant, "item": f"jwk#{pair.key.kid}"}
        )
        assert row is not None
        for copied in ({"tenant": theirs}, {"item": "jwk#other"}):
            await accounts.client.put(patterns.PUT_SIGNING_KEY, dict(row) | copied)
        assert [key.kid for key in await signing.list(accounts.tenant)] == [pair.key.kid]
        assert await signing.list(theirs) == []
        issued = (
            await ApiKeyService(api_keys, accounts.clock).issue(accounts.tenant, "x", [Scope.USERS])
        ).key.name
        key = await accounts.client.get(
            patterns.FIND_API_KEY, {"tenant": accounts.tenant, "item": f"key#{issued.key}"}
        )
        assert key is not None
        for copied in ({"tenant": theirs}, {"item": f"key#{OTHER}"}):
            await accounts.client.put(patterns.PUT_API_KEY, dict(key) | copied)
        assert await api_keys.find(issued._replace(tenant=theirs)) is None
        assert await api_keys.find(issued._replace(key=OTHER)) is None


async def test_an_api_key_that_was_revoked_twice_at_once_stays_revoked_and_authentic(
    open_accounts: OpenAccountsEnv,
) -> None:
    async with open_accounts() as accounts:
        store = DynamoApiKeyStore(accounts.client, AuthenticatedRows(accounts.keys))
        name = (
            await ApiKeyService(store, accounts.clock).issue(accounts.tenant, "x", [Scope.USERS])
        ).key.name
        assert await store.revoke(name, 1_000)
        assert await store.revoke(name, 2_000)
        found = await store.find(name)
        assert found is not None
        assert found.revoked_at_ms == 1_000


async def test_forged_sessions_are_refused(
    open_accounts: OpenAccountsEnv, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_accounts() as accounts:
        grant = (await accounts.log_in()).grant
        grant = await accounts.refresh(grant, "k" * 16)
        session = grant.session.session
        row = await accounts.client.get(patterns.READ_SESSION, session_key(accounts.tenant, session))
        assert row is not None
        reading = lambda: accounts.session_rows.read(accounts.tenant, session)  # noqa: E731 - it is passed on
        await refused(accounts, patterns.CREATE_SESSION, dict(row), reading, caplog)
        other = await accounts.log_in(device=Device(id=DeviceId("phone")))
        moved = dict(row) | session_key(accounts.tenant, other.grant.session.session)
        await accounts.client.put(patterns.CREATE_SESSION, moved)
        assert await code_of(accounts.refresh(other.grant)) is Code.CREDENTIAL_INVALID
        await accounts.refresh(grant)


async def test_forged_claims_of_phone_numbers_are_refused(
    open_accounts: OpenAccountsEnv, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_accounts() as accounts:
        await accounts.log_in()
        row = await claim_of(accounts, NUMBER)
        reading = lambda: accounts.user_rows.owner(accounts.tenant, Phone(NUMBER))  # noqa: E731 - it is passed on
        keys = frozenset({"user_id"})
        await refused(accounts, patterns.CREATE_WITH_PHONE, row, reading, caplog, keys=keys)


async def test_a_forged_claim_does_not_log_in_as_another_user(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        await accounts.log_in()
        await accounts.log_in(THEIRS)
        victim, own = await claim_of(accounts, NUMBER), await claim_of(accounts, THEIRS)
        unclaimed = claim_key(accounts.tenant, await accounts.hash_of(UNCLAIMED))
        for number, forged in (
            (THEIRS, own | {"owner": victim["owner"]}),
            (THEIRS, victim | {"user_id": own["user_id"]}),
            (UNCLAIMED, victim | unclaimed),
            (UNCLAIMED, unclaimed | {"owner": victim["owner"], "created_at": victim["created_at"]}),
        ):
            await write(accounts, patterns.CREATE_WITH_PHONE, forged)
            assert await code_of(accounts.log_in(number)) is Code.INTERNAL, forged
        await write(accounts, patterns.CREATE_WITH_PHONE, own)
        assert (await accounts.log_in(THEIRS)).grant.session.user == own["owner"]


async def claim_of(accounts: AccountsEnv, number: str) -> Row:
    place = claim_key(accounts.tenant, await accounts.hash_of(number))
    row = await accounts.client.get(patterns.FIND_CLAIM, place)
    assert row is not None
    return dict(row)


async def test_a_code_with_a_changed_time_or_hash_is_rejected(open_accounts: OpenAccountsEnv) -> None:
    async with open_accounts() as accounts:
        for change in ({"ttl": 2_000_000_000}, {"code_hash": b"x" * 32}, {"mac": b"x" * 32}):
            challenge = await accounts.ask()
            code = await accounts.code()
            place = code_key(accounts.tenant, challenge.id)
            row = await accounts.client.get(patterns.READ_SETTINGS, place)
            assert row is not None
            await accounts.client.put(patterns.PUT_CODE, dict(row) | change)
            assert await code_of(accounts.answer(challenge, code)) is Code.CREDENTIAL_INVALID


def test_different_rows_have_different_signed_bytes() -> None:
    tenant, none = TenantId("t"), frozenset[str]()
    rows: list[Row] = [
        {"a": "b", "c": "d"},
        {"a": "bs1:c", "d": ""},
        {"a": "b"},
        {"a": b"b"},
        {"a": ["b"]},
        {"a": ["b", "c"]},
        {"a": 1},
        {"a": True},
        {"a": "1"},
        {"ab": ""},
    ]
    spelled = {canonical_bytes(tenant, row, none) for row in rows} | {
        canonical_bytes(TenantId("u"), rows[0], none)
    }
    assert len(spelled) == len(rows) + 1
