"""Each trap by name. `why_not` is what an operator is told; `refuses` what the bearer is."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from typing import Any

import pytest
from fixtures.memory_accounts import claims_of, mint, pair
from unit.accounts.world import URL, World

from tidings.accounts.token_form import MAX_TOKEN_BYTES
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.tenants.model import TokenSettings


@pytest.fixture
def world() -> World:
    return World()


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(("kind", "alg"), [("Ed25519", "EdDSA"), ("Ed25519", "Ed25519"), ("P-256", "ES256")])
async def test_a_good_token_gives_tenant_user_and_device(world: World, kind: Any, alg: str) -> None:
    key = pair("k2", kind)
    world.registered.register("acme", key)
    token = world.token(key, {"alg": alg}, device="phone-1")
    principal = await world.admits(token)
    assert (principal.tenant, principal.user, principal.device) == (
        TenantId("acme"),
        UserId("anna"),
        DeviceId("phone-1"),
    )
    assert principal.expires_at_ms == round(world.clock.now_s + 600) * 1000
    assert principal.scopes == frozenset()
    assert principal.session is None


async def test_keys_are_not_shared_by_kid_two_tenants_have_the_same(world: World) -> None:
    assert world.key["kid"] == world.others_key["kid"]
    await world.admits(world.token())
    await world.admits(world.token(world.others_key, tenant="globex"))
    assert "signature" in await world.why_not(world.token(world.others_key))
    assert "signature" in await world.why_not(world.token(tenant="globex"))


async def test_a_token_that_names_another_tenant_is_not_believed_with_ones_own_key(world: World) -> None:
    own = pair("only-acme")
    world.registered.register("acme", own)
    await world.admits(world.token(own))
    assert "globex has no key" in await world.why_not(world.token(own, tenant="globex"))


async def test_the_same_kid_at_two_tenants_urls_is_two_keys(world: World) -> None:
    mine, theirs = pair("shared"), pair("shared")
    world.publish(mine)
    world.tenants.put("globex", TokenSettings(jwks_url="https://id.globex.example/keys"))
    world.published.put("https://id.globex.example/keys", theirs)
    await world.admits(world.token(mine))
    assert "signature" in await world.why_not(world.token(theirs))
    assert "signature" in await world.why_not(world.token(mine, tenant="globex"))
    await world.admits(world.token(theirs, tenant="globex"))


@pytest.mark.parametrize("name", ["jku", "x5u"])
async def test_a_url_in_the_header_is_refused_and_never_fetched(world: World, name: str) -> None:
    evil = pair("evil")
    world.publish()
    world.published.put("https://evil.example/keys", evil)
    token = world.token(evil, {name: "https://evil.example/keys"})
    assert name in await world.why_not(token)
    assert "https://evil.example/keys" not in world.published.fetched


async def test_a_url_in_the_claims_is_never_fetched(world: World) -> None:
    evil = pair("evil")
    world.publish()
    world.published.put("https://evil.example/keys", evil)
    where = {"iss": "https://evil.example/keys", "jku": "https://evil.example/keys", "jwks_url": URL}
    assert "no key 'evil'" in await world.why_not(world.token(evil, **where))
    assert set(world.published.fetched) == {URL}


@pytest.mark.parametrize("name", ["jwk", "x5c"])
async def test_a_key_in_the_header_is_refused(world: World, name: str) -> None:
    evil = pair("k1")
    public = {part: evil[part] for part in ("kty", "crv", "x")}
    token = world.token(evil, {name: public if name == "jwk" else ["MII"]})
    assert name in await world.why_not(token)


@pytest.mark.parametrize("alg", ["HS256", "HS512"])
async def test_a_public_key_is_not_taken_for_a_secret(world: World, alg: str) -> None:
    """The confusion: the verifier takes `alg` from the token, and its public key for the secret of an HMAC."""
    digest = {"HS256": hashlib.sha256, "HS512": hashlib.sha512}[alg]
    x = base64.urlsafe_b64decode(world.key["x"] + "==")
    public = json.dumps({part: world.key[part] for part in ("kty", "crv", "x")})
    for secret in (x, world.key["x"].encode(), public.encode()):
        signed = b64(json.dumps({"alg": alg, "kid": "k1"}).encode())
        signed += "." + b64(json.dumps(claims_of(world.clock.now_s)).encode())
        token = f"{signed}.{b64(hmac.new(secret, signed.encode(), digest).digest())}"
        assert "`alg`" in await world.why_not(token)


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, 7, ["EdDSA"], "RS256", "ES384", "HS256"])
async def test_an_algorithm_that_is_not_ours_is_refused(world: World, alg: object) -> None:
    header = b64(json.dumps({"alg": alg, "kid": "k1"}).encode())
    claims = b64(json.dumps(claims_of(world.clock.now_s)).encode())
    for signature in ("", b64(b"x" * 64)):
        assert "`alg`" in await world.why_not(f"{header}.{claims}.{signature}")
    assert world.registered.lists == 0, "its key was looked for"


async def test_a_key_is_used_with_the_algorithm_of_its_kind_only(world: World) -> None:
    world.registered.register("acme", curved := pair("p256", "P-256"))
    token = world.token(curved)
    _, claims, signature = token.split(".")
    for wrong in ("EdDSA", "Ed25519"):
        header = b64(json.dumps({"alg": wrong, "kid": "p256"}).encode())
        assert "`alg`" in await world.why_not(f"{header}.{claims}.{signature}")


@pytest.mark.parametrize("crit", [["b64"], ["exp"], ["whatever"], [], "b64"])
async def test_what_must_be_understood_and_is_not_is_refused(world: World, crit: object) -> None:
    assert "crit" in await world.why_not(world.token(header={"crit": crit, "whatever": 1}))


async def test_a_header_that_says_more_than_we_know_is_fine(world: World) -> None:
    await world.admits(world.token(header={"cty": "x", "x-own": "y", "typ": None}))


async def test_a_changed_token_is_refused(world: World) -> None:
    header, claims, signature = world.token().split(".")
    other = world.token(sub="bert").split(".")[1]
    assert "signature" in await world.why_not(f"{header}.{other}.{signature}")
    assert "signature" in await world.why_not(f"{header}.{claims}.")
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]
    assert "signature" in await world.why_not(f"{header}.{claims}.{flipped}")


async def test_expiry_with_skew_and_that_it_is_told_from_invalid(world: World) -> None:
    token = world.token()  # good for 600 s, 60 s of skew
    world.clock.now_s += 659
    await world.admits(token)
    world.clock.now_s += 1
    assert (await world.refuses(token)).code is Code.CREDENTIAL_EXPIRED


@pytest.mark.parametrize(
    "changed", [{"aud": "other"}, {"sub": "a#b"}, {"nbf": 9_999_999_999}, {"tenant": "nobody"}]
)
async def test_only_a_token_that_was_good_is_said_to_be_expired(world: World, changed: Any) -> None:
    token = world.token(**changed)
    world.clock.now_s += 5000
    assert (await world.refuses(token)).code is Code.CREDENTIAL_INVALID
    forged = world.token(pair("k1"), exp=int(world.clock.now_s) - 5000, iat=None)
    assert (await world.refuses(forged)).code is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize("name", ["nbf", "iat"])
async def test_a_token_from_the_future_is_good_within_the_skew_only(world: World, name: str) -> None:
    now = world.clock.now_s
    await world.admits(world.token(**{name: now + 60}))
    assert name in await world.why_not(world.token(**{name: now + 61}))


async def test_the_skew_is_the_tenants(world: World) -> None:
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
async def test_times_are_numbers_of_seconds_and_the_end_is_required(world: World, changed: Any) -> None:
    assert f"`{next(iter(changed))}`" in await world.why_not(world.token(**changed))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_numbers_that_json_does_not_have_are_refused(world: World, number: str) -> None:
    claims = json.dumps(claims_of(world.clock.now_s, exp=0)).replace('"exp": 0', f'"exp": {number}')
    assert await world.why_not(mint(world.key, claims))
    elsewhere = json.dumps(claims_of(world.clock.now_s))[:-1] + f', "x": {number}}}'
    if number != "1e999":
        assert "not JSON" in await world.why_not(mint(world.key, elsewhere))


async def test_a_life_longer_than_allowed_is_refused_with_iat_and_without(world: World) -> None:
    now = int(world.clock.now_s)
    await world.admits(world.token(exp=now + 3600))
    assert "lives for" in await world.why_not(world.token(exp=now + 3601))
    assert "lives for" in await world.why_not(world.token(iat=now - 3600, exp=now + 1))
    assert "lives for" in await world.why_not(world.token(iat=None, exp=now + 3661))


@pytest.mark.parametrize(
    "audience", [None, "other", [], ["other"], 7, {"tidings": 1}, "Tidings", [["tidings"]]]
)
async def test_a_token_for_another_audience_is_refused(world: World, audience: object) -> None:
    assert "`aud`" in await world.why_not(world.token(aud=audience))


async def test_one_of_the_tenants_audiences_is_enough(world: World) -> None:
    world.tenants.put("acme", TokenSettings(audiences=("chat", "inbox")))
    await world.admits(world.token(aud=["other", "inbox"]))
    assert "`aud`" in await world.why_not(world.token())


@pytest.mark.parametrize("name", ["sub", "device"])
@pytest.mark.parametrize("value", ["", "a#b", "a*", "x" * 65, 7, ["a"], "\ud800", {}])
async def test_ids_that_can_not_be_part_of_a_key_are_refused(world: World, name: str, value: object) -> None:
    assert f"`{name}`" in await world.why_not(world.token(**{name: value}))


async def test_a_user_is_required_a_device_is_not(world: World) -> None:
    assert "`sub`" in await world.why_not(world.token(sub=None))
    assert (await world.admits(world.token())).device is None


@pytest.mark.parametrize("tenant", [None, 7, "", "nobody", "acme#x", "_system", "ACME", "\ud800"])
async def test_a_tenant_that_is_not_there_is_refused_and_its_keys_are_not_looked_for(
    world: World, tenant: object
) -> None:
    assert "tenant" in await world.why_not(world.token(tenant=tenant))
    assert world.registered.lists == 0


async def test_a_retired_key_is_refused_from_its_moment_on(world: World) -> None:
    end_ms = world.clock.now_ms() + 10_000
    world.registered.register("acme", world.key, not_after_ms=end_ms)
    token = world.token()
    world.clock.now_s += 9.999
    await world.admits(token)
    world.clock.now_s += 0.001
    assert "retired" in await world.why_not(token)


async def test_a_key_retired_in_the_table_does_not_come_back_by_the_url(world: World) -> None:
    world.registered.register("acme", world.key, not_after_ms=1)
    world.publish(world.key)
    assert "retired" in await world.why_not(world.token())


async def test_a_token_of_absurd_size_is_refused_before_it_is_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def must_not(*_: object, **__: object) -> None:
        raise AssertionError("it was parsed")

    token = world.token(padding="x" * MAX_TOKEN_BYTES)
    monkeypatch.setattr(json, "loads", must_not)
    assert "longer than" in await world.why_not(token)
    assert "longer than" in await world.why_not("x" * 10_000_000)


async def test_a_token_up_to_the_bound_is_taken(world: World) -> None:
    token = world.token(padding="x" * (MAX_TOKEN_BYTES * 3 // 4 - 400))
    assert MAX_TOKEN_BYTES * 0.95 < len(token) <= MAX_TOKEN_BYTES
    await world.admits(token)


async def test_a_name_that_stands_twice_is_refused_in_header_claims_and_below(world: World) -> None:
    good = json.dumps(claims_of(world.clock.now_s))
    for claims in (
        good[:-1] + ', "sub": "bert"}',
        '{"tenant": "globex", ' + good[1:],
        good[:-1] + ', "x": {"a": 1, "a": 2}}',
    ):
        assert "twice" in await world.why_not(mint(world.key, claims))
    _, claims, signature = world.token().split(".")
    header = b64(b'{"alg": "none", "kid": "k1", "alg": "EdDSA"}')
    assert "twice" in await world.why_not(f"{header}.{claims}.{signature}")


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        "a.b.c.d.e",
        "{}.{}.x",
        "e30.e30.",
        " e30.e30.e30",
        "e30.e30.e30\n",
        "W10.W10.e30",
        "ä.ö.ü",
        "\ud800.a.a",
        b64(b"\xff\xfe") + ".e30.e30",
        b64(b"[" * 5000) + ".e30.e30",
        b64(b"{" * 10) + ".e30.e30",
        b64(b"1" * 5000) + ".e30.e30",
        b64(b"null") + ".e30.e30",
    ],
)
async def test_what_is_no_token_is_refused_in_order(world: World, token: str) -> None:
    assert await world.why_not(token)
    assert (await world.refuses(token)).code is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize("kid", [None, "", 7, "x" * 129, ["k1"]])
async def test_a_key_must_be_named(world: World, kid: object) -> None:
    assert "kid" in await world.why_not(world.token(header={"kid": kid}))


async def test_all_refusals_but_expiry_read_the_same_and_the_reason_goes_to_the_debug_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "tidings.accounts")
    bad = [world.token(pair("k1")), world.token(tenant="nobody"), world.token(aud="x"), "junk"]
    errors = [await world.refuses(token) for token in bad]
    assert len({(each.code, each.message, each.hint, str(each.details)) for each in errors}) == 1
    assert "no tenant 'nobody'" in caplog.text
    assert not any(token in caplog.text for token in bad[:3])


async def test_while_the_table_is_away_a_token_is_neither_good_nor_bad(world: World) -> None:
    world.registered.is_down = True
    error = await world.refuses(world.token())
    assert error.code is Code.KEYS_UNAVAILABLE
    assert error.retryable


async def test_a_verified_token_is_taken_again_for_a_moment_and_no_longer_than_it_lives(world: World) -> None:
    world.users = world.process(kept_s=10)
    token = world.token(exp=int(world.clock.now_s) + 5)
    first = await world.admits(token)
    world.registered.rows.clear()
    world.registered.is_down = True
    world.clock.now_s += 4
    assert await world.admits(token) is first
    world.clock.now_s += 70
    assert (await world.refuses(token)).code is not None


async def test_a_verified_token_is_looked_at_again_after_its_moment(world: World) -> None:
    world.users = world.process(kept_s=10)
    token = world.token()
    await world.admits(token)
    world.registered.register("acme", world.key, not_after_ms=1)
    world.clock.now_s += 40
    assert (await world.refuses(token)).code is Code.CREDENTIAL_INVALID


async def test_the_number_of_verified_tokens_that_are_kept_is_bounded(world: World) -> None:
    world.users = world.process(kept_s=10)
    await asyncio.gather(*(world.admits(world.token(sub=f"u{n}")) for n in range(20)))
    assert len(world.users._verified) == 3
