"""What the claims of a token must be, once its signature was checked; and what its bearer may be told."""

import json
import logging
from typing import Any

import pytest
from fixtures.memory_accounts import claims_of, mint, pair
from unit.accounts.accounts_env import AccountsUnitEnv

from tidings.kernel.errors import Code
from tidings.tenants.model import TokenSettings


@pytest.fixture
def world() -> AccountsUnitEnv:
    return AccountsUnitEnv()


async def test_expiry_with_skew_and_that_it_is_told_from_invalid(world: AccountsUnitEnv) -> None:
    token = world.token()  # good for 600 s, 60 s of skew
    world.clock.now_s += 659
    await world.admits(token)
    world.clock.now_s += 1
    assert (await world.refuses(token)).code is Code.CREDENTIAL_EXPIRED


@pytest.mark.parametrize(
    "changed", [{"aud": "other"}, {"sub": "a#b"}, {"nbf": 9_999_999_999}, {"tenant": "nobody"}]
)
async def test_only_a_token_that_was_good_is_said_to_be_expired(world: AccountsUnitEnv, changed: Any) -> None:
    token = world.token(**changed)
    world.clock.now_s += 5000
    assert (await world.refuses(token)).code is Code.CREDENTIAL_INVALID
    forged = world.token(pair("k1"), exp=int(world.clock.now_s) - 5000, iat=None)
    assert (await world.refuses(forged)).code is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize("name", ["nbf", "iat"])
async def test_a_token_from_the_future_is_good_within_the_skew_only(
    world: AccountsUnitEnv, name: str
) -> None:
    now = world.clock.now_s
    await world.admits(world.token(**{name: now + 60}))
    assert name in await world.why_not(world.token(**{name: now + 61}))


async def test_the_skew_is_the_tenants(world: AccountsUnitEnv) -> None:
    world.tenants.put("acme", TokenSettings(skew_s=0))
    token = world.token(exp=int(world.clock.now_s) + 1)
    world.clock.now_s += 1
    assert (await world.refuses(token)).code is Code.CREDENTIAL_EXPIRED


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"exp": -1},
        {"exp": 10**400},
        {"exp": 1_794_700_600_000},
        {"exp": {}},
        {"iat": "now"},
        {"nbf": []},
    ],
)
async def test_times_are_numbers_of_seconds_and_the_end_is_required(
    world: AccountsUnitEnv, changed: Any
) -> None:
    assert f"`{next(iter(changed))}`" in await world.why_not(world.token(**changed))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_numbers_that_json_does_not_have_are_refused(world: AccountsUnitEnv, number: str) -> None:
    claims = json.dumps(claims_of(world.clock.now_s, exp=0)).replace('"exp": 0', f'"exp": {number}')
    assert await world.why_not(mint(world.key, claims))
    elsewhere = json.dumps(claims_of(world.clock.now_s))[:-1] + f', "x": {number}}}'
    if number != "1e999":
        assert "not JSON" in await world.why_not(mint(world.key, elsewhere))


async def test_a_life_longer_than_allowed_is_refused_with_iat_and_without(world: AccountsUnitEnv) -> None:
    now = int(world.clock.now_s)
    await world.admits(world.token(exp=now + 3600))
    assert "lifetime is longer" in await world.why_not(world.token(exp=now + 3601))
    assert "lifetime is longer" in await world.why_not(world.token(iat=now - 3600, exp=now + 1))
    assert "lifetime is longer" in await world.why_not(world.token(iat=None, exp=now + 3661))


@pytest.mark.parametrize(
    "audience", [None, "other", [], ["other"], 7, {"tidings": 1}, "Tidings", [["tidings"]]]
)
async def test_a_token_for_another_audience_is_refused(world: AccountsUnitEnv, audience: object) -> None:
    assert "`aud`" in await world.why_not(world.token(aud=audience))


async def test_one_of_the_tenants_audiences_is_enough(world: AccountsUnitEnv) -> None:
    world.tenants.put("acme", TokenSettings(audiences=("chat", "inbox")))
    await world.admits(world.token(aud=["other", "inbox"]))
    assert "`aud`" in await world.why_not(world.token())


async def test_issuer_and_typ_are_checked_where_the_tenant_has_set_them(world: AccountsUnitEnv) -> None:
    world.tenants.put("acme", TokenSettings(issuer="https://id.acme.example", typ="at+jwt"))
    good = {"iss": "https://id.acme.example"}
    await world.admits(world.token(header={"typ": "application/AT+JWT"}, **good))
    assert "`iss`" in await world.why_not(
        world.token(header={"typ": "at+jwt"}, iss="https://id.other.example")
    )
    assert "`iss`" in await world.why_not(world.token(header={"typ": "at+jwt"}))
    assert "`typ`" in await world.why_not(world.token(**good))
    assert "`typ`" in await world.why_not(world.token(header={"typ": None}, **good))


@pytest.mark.parametrize("name", ["sub", "device"])
@pytest.mark.parametrize("value", ["", "a#b", "a*", "x" * 65, 7, ["a"], "\ud800", {}])
async def test_ids_that_can_not_be_part_of_a_key_are_refused(
    world: AccountsUnitEnv, name: str, value: object
) -> None:
    assert f"`{name}`" in await world.why_not(world.token(**{name: value}))


async def test_a_user_is_required_a_device_is_not(world: AccountsUnitEnv) -> None:
    assert "`sub`" in await world.why_not(world.token(sub=None))
    assert (await world.admits(world.token())).device is None


@pytest.mark.parametrize("tenant", [None, 7, "", "nobody", "acme#x", "_system", "ACME", "\ud800"])
async def test_a_tenant_that_is_not_there_is_refused_and_its_keys_are_not_looked_for(
    world: AccountsUnitEnv, tenant: object
) -> None:
    assert "tenant" in await world.why_not(world.token(tenant=tenant))
    assert world.registered.lists == 0


async def test_all_refusals_but_expiry_read_the_same_and_the_reason_goes_to_the_security_log(
    world: AccountsUnitEnv, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.kernel.security.MAX_PER_WINDOW", 10**6)
    caplog.set_level(logging.INFO, "tidings.security")
    bad = [world.token(pair("k1")), world.token(tenant="nobody"), world.token(aud="x"), "junk"]
    errors = [await world.refuses(token) for token in bad]
    assert len({(each.code, each.message, each.hint, str(each.details)) for each in errors}) == 1
    reasons = str([line.__dict__["security"] for line in caplog.records])
    assert "tenant 'nobody' does not exist" in reasons
    assert not any(token in reasons for token in bad[:3])
