"""When and how often keys are loaded, and how long they are used while the source is unavailable."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fixtures.loops import until
from fixtures.memory_accounts import pair
from fixtures.memory_keys import AdjustableClock
from unit.accounts.accounts_env import URL, AccountsUnitEnv

from tidings.accounts.model import Revocation
from tidings.accounts.signing_keys import (
    BadKeyError,
    PublicKey,
    SigningKey,
    make_pair,
    public_part,
    read_jwks,
    read_key,
)
from tidings.accounts.verification_keys import PUBLISHED, REGISTERED, KeySetCache
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId
from tidings.tenants.model import TokenSettings


@pytest.fixture
def env() -> AccountsUnitEnv:
    env = AccountsUnitEnv()
    env.publish(pair("first"))
    return env


async def refused_code(env: AccountsUnitEnv, token: str) -> Code:
    return (await env.refuses(token)).code


async def test_a_key_that_is_published_verifies_and_is_fetched_once(env: AccountsUnitEnv) -> None:
    env.publish(key := pair("p"))
    await asyncio.gather(*(env.admits(env.token(key, sub=f"u{n}")) for n in range(50)))
    assert env.published.fetched == [URL]


async def test_registered_keys_stay_valid_with_a_url(env: AccountsUnitEnv) -> None:
    await env.admits(env.token())
    assert env.published.fetched == []


async def test_a_new_key_at_the_url_is_found_by_its_first_token(env: AccountsUnitEnv) -> None:
    env.publish(old := pair("old"))
    await env.admits(env.token(old))
    env.publish(old, new := pair("new"))
    env.clock.now_s += PUBLISHED.unknown_s
    await env.admits(env.token(new))
    assert len(env.published.fetched) == 2


async def test_any_number_of_unknown_kids_costs_one_fetch_per_interval(env: AccountsUnitEnv) -> None:
    await env.why_not(env.token(pair("x0")))
    for n in range(100):
        env.clock.now_s += 0.29
        await env.why_not(env.token(pair("k1") | {"kid": f"x{n}"}))
    assert len(env.published.fetched) == 1
    env.clock.now_s += 2
    unknown = [env.token(pair("k1") | {"kid": f"y{n}"}) for n in range(20)]
    await asyncio.gather(*(env.why_not(token) for token in unknown))
    assert len(env.published.fetched) == 2


async def test_unknown_kids_of_one_tenant_do_not_delay_another(env: AccountsUnitEnv) -> None:
    url = "https://id.globex.example/keys"
    env.tenants.put("globex", TokenSettings(jwks_url=url))
    env.published.put(url, key := pair("g"))
    await env.why_not(env.token(pair("x")))
    await env.admits(env.token(key, tenant="globex"))


async def test_a_request_during_a_fetch_of_keys_waits_for_it(env: AccountsUnitEnv) -> None:
    env.publish(key := pair("p"))
    env.published.gate = asyncio.Event()
    waiting = [asyncio.create_task(env.admits(env.token(key, sub=f"u{n}"))) for n in range(3)]
    await until(lambda: env.published.fetched)
    waiting.append(asyncio.create_task(env.admits(env.token(key, sub="late"))))
    await asyncio.sleep(0)
    env.published.gate.set()
    assert len(await asyncio.gather(*waiting)) == 4
    assert env.published.fetched == [URL]


async def test_a_refresh_does_not_delay_requests(env: AccountsUnitEnv) -> None:
    env.publish(key := pair("p"))
    await env.admits(env.token(key))
    env.published.gate = asyncio.Event()
    env.clock.now_s += PUBLISHED.refresh_s
    await env.admits(env.token(key, sub="bert"))
    await until(lambda: len(env.published.fetched) == 2)
    env.published.gate.set()


async def test_a_key_removed_from_the_url_is_refused_after_its_time_even_without_requests(
    env: AccountsUnitEnv,
) -> None:
    env.publish(key := pair("p"))
    await env.admits(env.token(key))
    env.publish(pair("other"))
    env.clock.now_s += 2 * PUBLISHED.refresh_s
    assert "no key 'p'" in await env.why_not(env.token(key))


async def test_while_the_url_fails_keys_stay_valid_for_their_bound_and_fetches_are_spaced(
    env: AccountsUnitEnv,
) -> None:
    env.publish(key := pair("p"))
    await env.admits(env.token(key))
    env.published.documents.clear()
    env.clock.now_s += PUBLISHED.outage_s - 1
    for _ in range(50):
        await env.admits(env.token(key))
    assert len(env.published.fetched) == 2
    env.clock.now_s += 2
    assert await refused_code(env, env.token(key)) is Code.KEYS_UNAVAILABLE


async def test_a_url_that_never_answered_is_retried_at_intervals_and_reported_as_unavailable(
    env: AccountsUnitEnv,
) -> None:
    env.published.documents.clear()
    key = pair("p")
    for _ in range(20):
        assert await refused_code(env, env.token(key)) is Code.KEYS_UNAVAILABLE
    assert len(env.published.fetched) == 1
    env.publish(key)
    env.clock.now_s += PUBLISHED.retry_s
    await env.admits(env.token(key))


async def test_while_the_url_fails_a_new_key_is_reported_as_unavailable(env: AccountsUnitEnv) -> None:
    env.publish(old := pair("old"))
    await env.admits(env.token(old))
    env.published.documents.clear()
    env.clock.now_s += PUBLISHED.unknown_s
    assert await refused_code(env, env.token(pair("new"))) is Code.KEYS_UNAVAILABLE
    await env.admits(env.token(old))


async def test_keys_evicted_during_their_fetch_are_still_returned() -> None:
    clock, gate, loads = AdjustableClock(), asyncio.Event(), []

    async def load(source: str) -> Mapping[str, PublicKey]:
        loads.append(source)
        await gate.wait()
        return {"k": read_key(USABLE | {"kid": "k"})}

    sets: KeySetCache[str] = KeySetCache(load, clock, replace(PUBLISHED, count=1))
    waiting = [asyncio.create_task(sets.find(source, "k")) for source in ("a", "b", "a")]
    await until(lambda: len(loads) == 2)
    gate.set()
    assert None not in await asyncio.gather(*waiting)


async def test_a_fetch_that_began_before_an_eviction_is_neither_cached_nor_joined() -> None:
    gate, loads = asyncio.Event(), []

    async def load(source: str) -> Mapping[str, PublicKey]:
        loads.append(source)
        found = {"k": read_key(USABLE | {"kid": "k"})} if len(loads) == 1 else {}
        await gate.wait()
        return found

    sets: KeySetCache[str] = KeySetCache(load, AdjustableClock(), PUBLISHED)
    early = asyncio.create_task(sets.find("a", "k"))
    await until(lambda: loads)
    sets.evict("a")
    late = asyncio.create_task(sets.find("a", "k"))
    await until(lambda: len(loads) == 2)
    gate.set()
    assert await early is not None
    assert await late is None
    assert await sets.find("a", "k") is None


async def test_a_token_that_is_verified_while_its_key_is_revoked_is_not_cached() -> None:
    env = AccountsUnitEnv()
    env.users = env.process(kept_s=600)
    token, listed = env.token(), env.registered.list
    gate = asyncio.Event()

    async def read_then_wait(tenant: TenantId, /) -> Sequence[SigningKey]:
        rows = await listed(tenant)
        await gate.wait()
        return rows

    env.registered.list = read_then_wait  # type: ignore[method-assign]
    early = asyncio.create_task(env.admits(token))
    await until(lambda: env.registered.lists)
    env.registered.rows.clear()
    env.users.evict(Revocation(tenant=TenantId("acme"), kid="k1", from_ms=0))
    gate.set()
    await early
    await env.refuses(token)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"keys": 1}', b'{"keys":' + b"[" * 5000])
async def test_an_invalid_jwks_does_not_replace_valid_keys(env: AccountsUnitEnv, body: bytes) -> None:
    env.publish(key := pair("p"))
    await env.admits(env.token(key))
    env.published.documents[URL] = body
    env.clock.now_s += 2 * PUBLISHED.refresh_s
    await env.admits(env.token(key))


async def test_another_url_is_another_set_of_keys(env: AccountsUnitEnv) -> None:
    env.publish(old := pair("old"))
    await env.admits(env.token(old))
    env.tenants.put("acme", TokenSettings(jwks_url="https://new.example/keys"))
    env.published.put("https://new.example/keys", pair("new"))
    env.clock.now_s += 30
    assert "no key 'old'" in await env.why_not(env.token(old))


async def test_a_key_just_registered_is_found_by_its_first_token_and_one_retired_is_seen_in_time(
    env: AccountsUnitEnv,
) -> None:
    env.tenants.put("acme")
    await env.admits(env.token())
    env.registered.register("acme", new := pair("new"))
    env.clock.now_s += REGISTERED.unknown_s
    await env.admits(env.token(new))
    env.registered.register("acme", new, not_after_ms=1)
    env.clock.now_s += 2 * REGISTERED.refresh_s
    assert "retired" in await env.why_not(env.token(new))


async def test_while_the_table_is_unavailable_registered_keys_stay_valid_for_their_bound(
    env: AccountsUnitEnv,
) -> None:
    env.tenants.put("acme")
    await env.admits(env.token())
    env.registered.is_down = True
    env.clock.now_s += REGISTERED.outage_s - 1
    await env.admits(env.token())
    env.clock.now_s += 2
    assert await refused_code(env, env.token()) is Code.KEYS_UNAVAILABLE


USABLE = public_part(make_pair("Ed25519"))
CURVED = public_part(make_pair("P-256"))


@pytest.mark.parametrize(
    "jwk",
    [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "a"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "a"},
        USABLE | {"kid": None},
        USABLE | {"kid": 7},
        USABLE | {"kid": ""},
        USABLE | {"kid": "x" * 129},
        USABLE | {"use": "enc"},
        USABLE | {"key_ops": ["encrypt"]},
        USABLE | {"key_ops": 7},
        USABLE | {"alg": "ES256"},
        USABLE | {"alg": ["EdDSA"]},
        USABLE | {"crv": "X25519"},
        USABLE | {"crv": "Ed448"},
        USABLE | {"crv": ["Ed25519"]},
        USABLE | {"x": "AAAA"},
        USABLE | {"x": 7},
        {name: value for name, value in USABLE.items() if name != "x"},
        CURVED | {"crv": "P-384"},
        CURVED | {"y": CURVED["x"]},
        "a text",
        None,
        [],
    ],
)
def test_unusable_keys_are_skipped(jwk: Any) -> None:
    with pytest.raises(BadKeyError):
        read_key(jwk)
    assert list(read_jwks(json.dumps({"keys": [jwk, USABLE]}).encode())) == [USABLE["kid"]]


def test_a_document_that_is_not_text_is_refused() -> None:
    with pytest.raises(BadKeyError):
        read_jwks(b'{"keys": "\xff"}')


def test_the_number_of_keys_is_bounded() -> None:
    with pytest.raises(BadKeyError):
        read_jwks(json.dumps({"keys": [USABLE] * 51}).encode())


@pytest.mark.parametrize("kind", ["Ed25519", "P-256"])
def test_the_public_part_of_a_pair_has_no_private_fields(kind: Any) -> None:
    private = make_pair(kind)
    assert "d" in private
    assert public_part(private).keys() <= {"kty", "crv", "x", "y", "kid", "use", "alg"}
    assert not read_key(private).key.is_private
