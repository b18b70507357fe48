"""Known attacks on JWTs. `why_not` returns the reason for operators; `refuses` the error for the client."""

import asyncio
import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from fixtures.memory_accounts import claims_of, mint, pair
from unit.accounts.accounts_env import URL, AccountsUnitEnv

from tidings.accounts.credentials import TokenPolicy
from tidings.accounts.jwt import MAX_TOKEN_BYTES, check_signature
from tidings.accounts.signing_keys import PublicKey
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.tenants.model import TokenSettings


@pytest.fixture
def env() -> AccountsUnitEnv:
    return AccountsUnitEnv()


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(("kind", "alg"), [("Ed25519", "EdDSA"), ("Ed25519", "Ed25519"), ("P-256", "ES256")])
async def test_a_valid_token_has_tenant_user_and_device(env: AccountsUnitEnv, kind: Any, alg: str) -> None:
    key = pair("k2", kind)
    env.registered.register("acme", key)
    token = env.token(key, {"alg": alg}, device="phone-1")
    principal = await env.admits(token)
    assert (principal.tenant, principal.user, principal.device) == (
        TenantId("acme"),
        UserId("anna"),
        DeviceId("phone-1"),
    )
    assert principal.expires_at_ms == round(env.clock.now_s + 600) * 1000
    assert principal.scopes == frozenset()
    assert principal.session is None


async def test_two_tenants_with_the_same_kid_do_not_share_keys(env: AccountsUnitEnv) -> None:
    assert env.key["kid"] == env.others_key["kid"]
    await env.admits(env.token())
    await env.admits(env.token(env.others_key, tenant="globex"))
    assert "signature" in await env.why_not(env.token(env.others_key))
    assert "signature" in await env.why_not(env.token(tenant="globex"))


async def test_a_token_for_another_tenant_is_rejected_with_the_tenants_own_key(
    env: AccountsUnitEnv,
) -> None:
    own = pair("only-acme")
    env.registered.register("acme", own)
    await env.admits(env.token(own))
    assert "globex has no key" in await env.why_not(env.token(own, tenant="globex"))


async def test_the_same_kid_at_two_tenants_urls_is_two_keys(env: AccountsUnitEnv) -> None:
    mine, theirs = pair("shared"), pair("shared")
    env.publish(mine)
    env.tenants.put("globex", TokenSettings(jwks_url="https://id.globex.example/keys"))
    env.published.put("https://id.globex.example/keys", theirs)
    await env.admits(env.token(mine))
    assert "signature" in await env.why_not(env.token(theirs))
    assert "signature" in await env.why_not(env.token(mine, tenant="globex"))
    await env.admits(env.token(theirs, tenant="globex"))


@pytest.mark.parametrize("name", ["jku", "x5u"])
async def test_a_url_in_the_header_is_refused_and_never_fetched(env: AccountsUnitEnv, name: str) -> None:
    evil = pair("evil")
    env.publish()
    env.published.put("https://evil.example/keys", evil)
    token = env.token(evil, {name: "https://evil.example/keys"})
    assert name in await env.why_not(token)
    assert "https://evil.example/keys" not in env.published.fetched


async def test_a_url_in_the_claims_is_never_fetched(env: AccountsUnitEnv) -> None:
    evil = pair("evil")
    env.publish()
    env.published.put("https://evil.example/keys", evil)
    where = {"iss": "https://evil.example/keys", "jku": "https://evil.example/keys", "jwks_url": URL}
    assert "no key 'evil'" in await env.why_not(env.token(evil, **where))
    assert set(env.published.fetched) == {URL}


@pytest.mark.parametrize("name", ["jwk", "x5c"])
async def test_a_key_in_the_header_is_refused(env: AccountsUnitEnv, name: str) -> None:
    evil = pair("k1")
    public = {part: evil[part] for part in ("kty", "crv", "x")}
    token = env.token(evil, {name: public if name == "jwk" else ["MII"]})
    assert name in await env.why_not(token)


@pytest.mark.parametrize("alg", ["HS256", "HS512"])
async def test_a_public_key_is_not_used_as_an_hmac_secret(env: AccountsUnitEnv, alg: str) -> None:
    """Algorithm confusion: the verifier trusts `alg` and uses the public key as the secret of an HMAC."""
    digest = {"HS256": hashlib.sha256, "HS512": hashlib.sha512}[alg]
    x = base64.urlsafe_b64decode(env.key["x"] + "==")
    public = json.dumps({part: env.key[part] for part in ("kty", "crv", "x")})
    for secret in (x, env.key["x"].encode(), public.encode()):
        signed = b64(json.dumps({"alg": alg, "kid": "k1"}).encode())
        signed += "." + b64(json.dumps(claims_of(env.clock.now_s)).encode())
        token = f"{signed}.{b64(hmac.new(secret, signed.encode(), digest).digest())}"
        assert "`alg`" in await env.why_not(token)


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, 7, ["EdDSA"], "RS256", "ES384", "HS256"])
async def test_an_unsupported_algorithm_is_refused(env: AccountsUnitEnv, alg: object) -> None:
    header = b64(json.dumps({"alg": alg, "kid": "k1"}).encode())
    claims = b64(json.dumps(claims_of(env.clock.now_s)).encode())
    for signature in ("", b64(b"x" * 64)):
        assert "`alg`" in await env.why_not(f"{header}.{claims}.{signature}")
    assert env.registered.lists == 0, "its key was looked for"


async def test_a_key_is_used_with_the_algorithm_of_its_kind_only(env: AccountsUnitEnv) -> None:
    env.registered.register("acme", curved := pair("p256", "P-256"))
    token = env.token(curved)
    _, claims, signature = token.split(".")
    for wrong in ("EdDSA", "Ed25519"):
        header = b64(json.dumps({"alg": wrong, "kid": "p256"}).encode())
        assert "`alg`" in await env.why_not(f"{header}.{claims}.{signature}")


@pytest.mark.parametrize("crit", [["b64"], ["exp"], ["whatever"], [], "b64"])
async def test_a_critical_header_that_is_not_supported_is_refused(env: AccountsUnitEnv, crit: object) -> None:
    assert "crit" in await env.why_not(env.token(header={"crit": crit, "whatever": 1}))


async def test_unknown_header_fields_are_accepted(env: AccountsUnitEnv) -> None:
    await env.admits(env.token(header={"cty": "x", "x-own": "y", "typ": None}))


async def test_a_changed_token_is_refused(env: AccountsUnitEnv) -> None:
    header, claims, signature = env.token().split(".")
    other = env.token(sub="bert").split(".")[1]
    assert "signature" in await env.why_not(f"{header}.{other}.{signature}")
    assert "signature" in await env.why_not(f"{header}.{claims}.")
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]
    assert "signature" in await env.why_not(f"{header}.{claims}.{flipped}")


async def test_a_retired_key_is_refused_from_its_end(env: AccountsUnitEnv) -> None:
    end_ms = env.clock.now_ms() + 10_000
    env.registered.register("acme", env.key, not_after_ms=end_ms)
    token = env.token()
    env.clock.now_s += 9.999
    await env.admits(token)
    env.clock.now_s += 0.001
    assert "retired" in await env.why_not(token)


async def test_a_key_retired_in_the_table_is_not_accepted_from_the_url(env: AccountsUnitEnv) -> None:
    env.registered.register("acme", env.key, not_after_ms=1)
    env.publish(env.key)
    assert "retired" in await env.why_not(env.token())


async def test_an_oversized_token_is_refused_before_it_is_parsed(
    env: AccountsUnitEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def must_not(*_: object, **__: object) -> None:
        raise AssertionError("it was parsed")

    token = env.token(padding="x" * MAX_TOKEN_BYTES)
    monkeypatch.setattr(json, "loads", must_not)
    assert "longer than" in await env.why_not(token)
    assert "longer than" in await env.why_not("x" * 10_000_000)


async def test_a_token_of_the_maximum_size_is_accepted(env: AccountsUnitEnv) -> None:
    token = env.token(padding="x" * (MAX_TOKEN_BYTES * 3 // 4 - 400))
    assert MAX_TOKEN_BYTES * 0.95 < len(token) <= MAX_TOKEN_BYTES
    await env.admits(token)


async def test_duplicate_names_are_rejected_in_header_claims_and_nested_objects(env: AccountsUnitEnv) -> None:
    good = json.dumps(claims_of(env.clock.now_s))
    for claims in (
        good[:-1] + ', "sub": "bert"}',
        '{"tenant": "globex", ' + good[1:],
        good[:-1] + ', "x": {"a": 1, "a": 2}}',
    ):
        assert "duplicate name" in await env.why_not(mint(env.key, claims))
    _, claims, signature = env.token().split(".")
    header = b64(b'{"alg": "none", "kid": "k1", "alg": "EdDSA"}')
    assert "duplicate name" in await env.why_not(f"{header}.{claims}.{signature}")


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
async def test_a_text_that_is_not_a_user_token_is_refused(env: AccountsUnitEnv, token: str) -> None:
    assert await env.why_not(token)
    assert (await env.refuses(token)).code is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize("kid", [None, "", 7, "x" * 129, ["k1"]])
async def test_a_key_must_be_named(env: AccountsUnitEnv, kid: object) -> None:
    assert "kid" in await env.why_not(env.token(header={"kid": kid}))


async def test_while_the_table_is_unavailable_a_token_is_neither_accepted_nor_refused(
    env: AccountsUnitEnv,
) -> None:
    env.registered.is_down = True
    error = await env.refuses(env.token())
    assert error.code is Code.KEYS_UNAVAILABLE
    assert error.retryable


async def test_a_verified_token_is_cached_briefly_and_not_beyond_its_expiry(
    env: AccountsUnitEnv,
) -> None:
    env.users = env.process(kept_s=10)
    token = env.token(exp=int(env.clock.now_s) + 5)
    first = await env.admits(token)
    env.clock.now_s += 4
    assert await env.admits(token) is first
    env.clock.now_s += 2
    assert await env.admits(token) is not first, "past its end it is judged anew, skew and all"


async def test_a_verified_token_is_verified_again_after_the_cache_time(env: AccountsUnitEnv) -> None:
    env.users = env.process(kept_s=10)
    token = env.token()
    await env.admits(token)
    env.registered.register("acme", env.key, not_after_ms=1)
    env.clock.now_s += 40
    assert (await env.refuses(token)).code is Code.CREDENTIAL_INVALID


async def test_the_number_of_cached_tokens_is_bounded(env: AccountsUnitEnv) -> None:
    env.users = env.process(kept_s=10)
    await asyncio.gather(*(env.admits(env.token(sub=f"u{n}")) for n in range(20)))
    assert len(env.users._verified) == 3


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the tokens whose signature is verified."""
    seen: list[str] = []

    def note(token: str, key: PublicKey) -> None:
        seen.append(token)
        check_signature(token, key)

    monkeypatch.setattr("tidings.accounts.jwt.check_signature", note)
    return seen


async def test_the_signature_of_a_repeated_token_is_verified_once_even_after_keys_are_read_again(
    env: AccountsUnitEnv, checked: list[str]
) -> None:
    token = env.token(exp=int(env.clock.now_s) + 3000)
    for _ in range(3):
        await env.admits(token)
        env.clock.now_s += 100
    assert checked == [token]


async def test_a_cached_signature_is_not_valid_for_another_key_with_the_same_kid(
    env: AccountsUnitEnv,
) -> None:
    token = env.token(exp=int(env.clock.now_s) + 3000)
    await env.admits(token)
    env.registered.register("acme", pair("k1"))
    env.clock.now_s += 100
    assert "its signature does not match key" in await env.why_not(token)


async def test_a_forged_token_is_verified_each_time(env: AccountsUnitEnv, checked: list[str]) -> None:
    forged = env.token(env.others_key)
    for _ in range(2):
        assert "its signature does not match key" in await env.why_not(forged)
    assert checked == [forged] * 2


async def test_the_number_of_cached_signatures_is_bounded(env: AccountsUnitEnv, checked: list[str]) -> None:
    policy = TokenPolicy(max_lifetime_s=3600, cache_s=0.0, signed_count=2)
    users = env.process(policy=policy)
    tokens = [env.token(sub=f"user{n}") for n in range(3)]
    for token in (*tokens, tokens[2], tokens[0]):
        await users.verify(token)
    assert checked == [*tokens, tokens[0]]
