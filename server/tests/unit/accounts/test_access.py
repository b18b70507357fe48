"""Access tokens: minted tokens verify, altered ones do not; and rotation of the keys that sign them."""

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fixtures.memory_keys import AdjustableClock, MemoryKeyStore, MemoryKms
from fixtures.use_cases import code_of
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey
from msgspec.structs import replace

from tidings.accounts.model import Principal, SessionId
from tidings.accounts.session_tokens import MAX_ACCESS_TOKEN_CHARS, AccessTokenService
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.model import KeyKind, KeyName
from tidings.tenants.signing_key_ring import SigningKeyRing, SigningPolicy

ACME, BETA = TenantId("acme"), TenantId("beta")
LIFE_S, REFRESH_S, ROTATE_S = 600, 300, 90 * 86_400
WHO = Principal(tenant=ACME, user=UserId("anna"), device=DeviceId("laptop"), session=SessionId("s1"))


@dataclass
class AccessTokenEnv:
    store: MemoryKeyStore = field(default_factory=MemoryKeyStore)
    kms: MemoryKms = field(default_factory=MemoryKms)
    clock: AdjustableClock = field(default_factory=AdjustableClock)

    def ring(self) -> SigningKeyRing:
        policy = SigningPolicy(token_life_s=LIFE_S, refresh_s=REFRESH_S, rotate_after_s=ROTATE_S)
        return SigningKeyRing(self.store, self.kms, self.clock, policy)

    def process(self) -> AccessTokenService:
        return AccessTokenService(self.ring(), self.clock, LIFE_S)


def part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    head, body, _ = token.split(".")
    read = [json.loads(base64.urlsafe_b64decode(one + "==")) for one in (head, body)]
    return read[0], read[1]


def signed(key: bytes, header: dict[str, Any], claims: dict[str, Any]) -> str:
    signed_part = f"{part(header)}.{part(claims)}"
    return f"{signed_part}.{part(hmac.digest(key, signed_part.encode(), hashlib.sha256))}"


async def key_of(env: AccessTokenEnv, tenant: TenantId = ACME) -> bytes:
    return (await env.ring().signing_key(tenant))[1]


async def test_a_token_of_one_process_is_verified_by_another() -> None:
    env = AccessTokenEnv()
    token = await env.process().mint(WHO)
    header, claims = parts(token)
    assert header == {"alg": "HS256", "typ": "at+jwt", "kid": "acme/1"}
    now_s = env.clock.now_ms() // 1000
    assert claims == {
        "iss": "tidings",
        "tenant": "acme",
        "sub": "anna",
        "device": "laptop",
        "session": "s1",
        "iat": now_s,
        "exp": now_s + LIFE_S,
    }
    assert await env.process().verify(token) == replace(
        WHO, issued_at_ms=now_s * 1000, expires_at_ms=(now_s + LIFE_S) * 1000
    )


async def test_the_largest_token_is_within_the_bound() -> None:
    env = AccessTokenEnv()
    largest = Principal(
        tenant=TenantId("t" * 32),
        user=UserId("ä" * 32),
        device=DeviceId("ä" * 32),
        session=SessionId("0" * 26),
    )
    token = await env.process().mint(largest)
    assert len(token) < MAX_ACCESS_TOKEN_CHARS
    assert (await env.process().verify(token)).user == largest.user


async def test_a_token_expires() -> None:
    env = AccessTokenEnv()
    token = await env.process().mint(WHO)
    env.clock.now_s += LIFE_S - 1
    await env.process().verify(token)
    env.clock.now_s += 1
    assert await code_of(env.process().verify(token)) is Code.CREDENTIAL_EXPIRED


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({"alg": "none"}, {}),
        ({"alg": "HS512"}, {}),
        ({"alg": "hs256"}, {}),
        ({"typ": "JWT"}, {}),
        ({"kid": "acme/2"}, {}),
        ({"kid": "beta/1"}, {}),
        ({"kid": "1"}, {}),
        ({"kid": "acme/1 "}, {}),
        ({"kid": "acme/-1"}, {}),
        ({"kid": "_system/1"}, {}),
        ({"kid": 1}, {}),
        ({"crit": ["exp"]}, {}),
        ({"jku": "https://example.com"}, {}),
        ({"jwk": {"kty": "oct", "k": "AAAA"}}, {}),
        ({}, {"iss": "another"}),
        ({}, {"tenant": "beta"}),
        ({}, {"sub": None}),
        ({}, {"exp": "later"}),
        ({}, {"exp": 10**12}),
        ({}, {"iat": 10**12, "exp": 10**12 + 60}),
        ({}, {"iat": 1.5}),
    ],
)
async def test_a_token_with_changed_claims_is_refused_although_its_signature_is_valid(
    header: dict[str, Any], claims: dict[str, Any]
) -> None:
    env = AccessTokenEnv()
    good_header, good_claims = parts(await env.process().mint(WHO))
    changed = signed(await key_of(env), good_header | header, good_claims | claims)
    assert await code_of(env.process().verify(changed)) is Code.CREDENTIAL_INVALID


async def test_a_token_that_is_signed_again_unchanged_is_accepted() -> None:
    env = AccessTokenEnv()
    again = signed(await key_of(env), *parts(await env.process().mint(WHO)))
    assert (await env.process().verify(again)).user == "anna"


@pytest.mark.parametrize("missing", ["iss", "tenant", "sub", "device", "session", "iat", "exp"])
async def test_no_claim_may_be_missing(missing: str) -> None:
    env = AccessTokenEnv()
    header, claims = parts(await env.process().mint(WHO))
    del claims[missing]
    token = signed(await key_of(env), header, claims)
    assert await code_of(env.process().verify(token)) is Code.CREDENTIAL_INVALID


async def test_a_token_without_a_signature_is_refused() -> None:
    env = AccessTokenEnv()
    header, claims = parts(await env.process().mint(WHO))
    for token in (
        f"{part(header | {'alg': 'none'})}.{part(claims)}.",
        f"{part(header)}.{part(claims)}.",
        f"{part(header)}.{part(claims)}",
    ):
        assert await code_of(env.process().verify(token)) is Code.CREDENTIAL_INVALID


async def test_the_same_version_of_another_tenants_key_does_not_verify() -> None:
    """If keys were cached by `kid` alone, a token of beta would be accepted for acme."""
    env = AccessTokenEnv()
    await env.process().mint(WHO)
    process = env.process()
    await process.mint(replace(WHO, tenant=BETA))
    header, claims = parts(await process.mint(WHO))
    betas = await key_of(env, BETA)
    assert betas != await key_of(env)
    assert await code_of(process.verify(signed(betas, header, claims))) is Code.CREDENTIAL_INVALID
    moved = signed(betas, header | {"kid": "beta/1"}, claims)
    assert await code_of(process.verify(moved)) is Code.CREDENTIAL_INVALID


async def test_an_algorithm_of_key_pairs_is_refused() -> None:
    env = AccessTokenEnv()
    header, claims = parts(await env.process().mint(WHO))
    pair = ECKey.import_key(ec.generate_private_key(ec.SECP256R1()))
    token = jwt.encode(header | {"alg": "ES256"}, claims, pair, algorithms=["ES256"])
    assert await code_of(env.process().verify(token)) is Code.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "token", ["", ".", "..", "a.b.c", "é.b.c", "x" * (MAX_ACCESS_TOKEN_CHARS + 1), "eyJ.eyJ.x"]
)
async def test_a_text_that_is_not_a_token_is_refused(token: str) -> None:
    assert await code_of(AccessTokenEnv().process().verify(token)) is Code.CREDENTIAL_INVALID


async def test_a_token_over_the_bound_is_refused_before_anything_is_read() -> None:
    env = AccessTokenEnv()
    header, claims = parts(await env.process().mint(WHO))
    large = signed(await key_of(env), header, claims | {"more": "x" * MAX_ACCESS_TOKEN_CHARS})
    looks = env.store.lists
    assert await code_of(env.process().verify(large)) is Code.CREDENTIAL_INVALID
    assert env.store.lists == looks


async def test_an_unauthenticated_request_creates_no_key_for_a_tenant() -> None:
    env = AccessTokenEnv()
    header = {"alg": "HS256", "typ": "at+jwt", "kid": "ghost/1"}
    process = env.process()
    for _ in range(5):
        assert await code_of(process.verify(signed(b"k" * 32, header, {}))) is Code.CREDENTIAL_INVALID
    assert env.store.rows == {}
    assert env.kms.made == {}
    assert env.store.lists <= 2


async def test_only_a_session_of_a_user_gets_a_token() -> None:
    with pytest.raises(ValueError, match="session"):
        await AccessTokenEnv().process().mint(Principal(tenant=ACME))


async def test_a_due_key_is_replaced_and_every_process_knows_the_new_one() -> None:
    env = AccessTokenEnv()
    old, other = env.process(), env.process()
    await other.verify(await old.mint(WHO))
    env.clock.now_s += ROTATE_S
    other_looked_just_before = other
    await other_looked_just_before.verify(await env.process().mint(WHO))
    seen = set()
    for _ in range(30):
        env.clock.now_s += 30
        token = await old.mint(WHO)
        seen.add(parts(token)[0]["kid"])
        await other.verify(token)
        await env.process().verify(token)
    assert seen == {"acme/1", "acme/2"}


async def test_tokens_of_the_previous_key_are_valid_until_they_expire_and_it_verifies_no_later_ones() -> None:
    env = AccessTokenEnv()
    await env.process().mint(WHO)
    leaked = await key_of(env)
    assert await env.ring().rotate(ACME) == 2
    env.clock.now_s += REFRESH_S + 60 - 1
    last = await env.process().mint(WHO)
    assert parts(last)[0]["kid"] == "acme/1"
    env.clock.now_s += LIFE_S - 1
    await env.process().verify(last)
    env.clock.now_s += 62
    now_s = env.clock.now_ms() // 1000
    header, claims = parts(last)
    forged = signed(leaked, header, claims | {"iat": now_s, "exp": now_s + 60})
    assert await code_of(env.process().verify(forged)) is Code.CREDENTIAL_INVALID
    assert parts(await env.process().mint(WHO))[0]["kid"] == "acme/2"


async def test_a_process_that_read_before_the_first_key_knows_it_a_second_later() -> None:
    env = AccessTokenEnv()
    early, late = env.process(), env.process()
    header = {"alg": "HS256", "typ": "at+jwt", "kid": "acme/1"}
    await code_of(early.verify(signed(b"k" * 32, header, {})))
    token = await late.mint(WHO)
    env.clock.now_s += 1
    assert (await early.verify(token)).user == "anna"


async def test_a_due_key_still_signs_while_the_key_service_is_unavailable() -> None:
    env = AccessTokenEnv()
    process = env.process()
    await process.mint(WHO)
    env.clock.now_s += ROTATE_S + 1
    env.kms.makes_no_more = True
    assert parts(await process.mint(WHO))[0]["kid"] == "acme/1"


async def test_a_first_login_does_not_prevent_content_keys() -> None:
    """An access key may be the tenant's first key. The other keys of the tenant are then created, not missing."""
    env = AccessTokenEnv()
    await env.process().mint(WHO)
    await KeyRing(env.store, env.kms, env.clock, KeyPolicy()).of(ACME)
    assert {name.kind for name in env.store.rows[ACME]} == set(KeyKind) - {KeyKind.CERTIFICATE}


async def test_many_first_logins_at_once_make_one_key() -> None:
    env = AccessTokenEnv()
    processes = [env.process() for _ in range(5)]
    tokens = await asyncio.gather(*(process.mint(WHO) for process in processes for _ in range(4)))
    assert {parts(token)[0]["kid"] for token in tokens} == {"acme/1"}
    assert list(env.store.rows[ACME]) == [KeyName(KeyKind.ACCESS, 1)]
    assert len(env.kms.made) <= 5
    for token in tokens:
        await processes[0].verify(token)


async def test_a_key_whose_row_was_changed_verifies_nothing_and_signs_nothing() -> None:
    env = AccessTokenEnv()
    token = await env.process().mint(WHO)
    env.store.alter(ACME, KeyName(KeyKind.ACCESS, 1), b"another")
    assert await code_of(env.process().verify(token)) is Code.CREDENTIAL_INVALID
    assert await code_of(env.process().mint(WHO)) is Code.KEYS_UNAVAILABLE


def test_joserfc_accepts_the_key_unchanged() -> None:
    assert OctKey.import_key(b"\x00" * 32).raw_value == b"\x00" * 32
