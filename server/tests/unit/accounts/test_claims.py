"""Validation of claims after the signature, and the errors that clients see."""

import json
import logging
from typing import Any

import pytest
from fixtures.memory_accounts import claims_of, mint, pair
from unit.accounts.accounts_env import AccountsUnitEnv

from tidings.kernel.errors import Code
from tidings.tenants.model import TokenSettings


@pytest.fixture
def env() -> AccountsUnitEnv:
    return AccountsUnitEnv()


async def test_an_expired_token_is_reported_as_expired_after_the_skew(env: AccountsUnitEnv) -> None:
    token = env.token()  # good for 600 s, 60 s of skew
    env.clock.now_s += 659
    await env.admits(token)
    env.clock.now_s += 1
    assert (await env.refuses(token)).code is Code.CREDENTIAL_EXPIRED


@pytest.mark.parametrize(
    "changed", [{"aud": "other"}, {"sub": "a#b"}, {"nbf": 9_999_999_999}, {"tenant": "nobody"}]
)
async def test_only_an_otherwise_valid_token_is_reported_as_expired(
    env: AccountsUnitEnv, changed: Any
) -> None:
    token = env.token(**changed)
    env.clock.now_s += 5000
    assert (await env.refuses(token)).code is Code.CREDENTIAL_INVALID
    forged = env.token(pair("k1"), exp=int(env.clock.now_s) - 5000, iat=None)
    assert (await env.refuses(forged)).code is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize("name", ["nbf", "iat"])
async def test_a_token_from_the_future_is_valid_only_within_the_skew(env: AccountsUnitEnv, name: str) -> None:
    now = env.clock.now_s
    await env.admits(env.token(**{name: now + 60}))
    assert name in await env.why_not(env.token(**{name: now + 61}))


async def test_the_skew_is_a_setting_of_the_tenant(env: AccountsUnitEnv) -> None:
    env.tenants.put("acme", TokenSettings(skew_s=0))
    token = env.token(exp=int(env.clock.now_s) + 1)
    env.clock.now_s += 1
    assert (await env.refuses(token)).code is Code.CREDENTIAL_EXPIRED


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
    env: AccountsUnitEnv, changed: Any
) -> None:
    assert f"`{next(iter(changed))}`" in await env.why_not(env.token(**changed))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_numbers_that_json_does_not_have_are_refused(env: AccountsUnitEnv, number: str) -> None:
    claims = json.dumps(claims_of(env.clock.now_s, exp=0)).replace('"exp": 0', f'"exp": {number}')
    assert await env.why_not(mint(env.key, claims))
    elsewhere = json.dumps(claims_of(env.clock.now_s))[:-1] + f', "x": {number}}}'
    if number != "1e999":
        assert "not JSON" in await env.why_not(mint(env.key, elsewhere))


async def test_a_lifetime_longer_than_allowed_is_refused_with_and_without_iat(env: AccountsUnitEnv) -> None:
    now = int(env.clock.now_s)
    await env.admits(env.token(exp=now + 3600))
    assert "lifetime is longer" in await env.why_not(env.token(exp=now + 3601))
    assert "lifetime is longer" in await env.why_not(env.token(iat=now - 3600, exp=now + 1))
    assert "lifetime is longer" in await env.why_not(env.token(iat=None, exp=now + 3661))


@pytest.mark.parametrize(
    "audience", [None, "other", [], ["other"], 7, {"tidings": 1}, "Tidings", [["tidings"]]]
)
async def test_a_token_for_another_audience_is_refused(env: AccountsUnitEnv, audience: object) -> None:
    assert "`aud`" in await env.why_not(env.token(aud=audience))


async def test_one_of_the_tenants_audiences_is_enough(env: AccountsUnitEnv) -> None:
    env.tenants.put("acme", TokenSettings(audiences=("chat", "inbox")))
    await env.admits(env.token(aud=["other", "inbox"]))
    assert "`aud`" in await env.why_not(env.token())


async def test_issuer_and_typ_are_checked_where_the_tenant_has_set_them(env: AccountsUnitEnv) -> None:
    env.tenants.put("acme", TokenSettings(issuer="https://id.acme.example", typ="at+jwt"))
    good = {"iss": "https://id.acme.example"}
    await env.admits(env.token(header={"typ": "application/AT+JWT"}, **good))
    assert "`iss`" in await env.why_not(env.token(header={"typ": "at+jwt"}, iss="https://id.other.example"))
    assert "`iss`" in await env.why_not(env.token(header={"typ": "at+jwt"}))
    assert "`typ`" in await env.why_not(env.token(**good))
    assert "`typ`" in await env.why_not(env.token(header={"typ": None}, **good))


@pytest.mark.parametrize("name", ["sub", "device"])
@pytest.mark.parametrize("value", ["", "a#b", "a*", "x" * 65, 7, ["a"], "\ud800", {}])
async def test_ids_that_can_not_be_part_of_a_key_are_refused(
    env: AccountsUnitEnv, name: str, value: object
) -> None:
    assert f"`{name}`" in await env.why_not(env.token(**{name: value}))


async def test_a_user_is_required_a_device_is_not(env: AccountsUnitEnv) -> None:
    assert "`sub`" in await env.why_not(env.token(sub=None))
    assert (await env.admits(env.token())).device is None


@pytest.mark.parametrize("tenant", [None, 7, "", "nobody", "acme#x", "_system", "ACME", "\ud800"])
async def test_a_missing_tenant_is_refused_and_its_keys_are_not_read(
    env: AccountsUnitEnv, tenant: object
) -> None:
    assert "tenant" in await env.why_not(env.token(tenant=tenant))
    assert env.registered.lists == 0


async def test_all_refusals_but_expiry_read_the_same_and_the_reason_goes_to_the_security_log(
    env: AccountsUnitEnv, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.kernel.security.MAX_PER_WINDOW", 10**6)
    caplog.set_level(logging.INFO, "tidings.security")
    bad = [env.token(pair("k1")), env.token(tenant="nobody"), env.token(aud="x"), "junk"]
    errors = [await env.refuses(token) for token in bad]
    assert len({(each.code, each.message, each.hint, str(each.details)) for each in errors}) == 1
    reasons = str([line.__dict__["security"] for line in caplog.records])
    assert "tenant 'nobody' does not exist" in reasons
    assert not any(token in reasons for token in bad[:3])
