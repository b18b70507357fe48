import hmac
import re

import pytest
from fixtures.memory_accounts import MemoryApiKeyStore
from fixtures.memory_keys import AdjustableClock
from msgspec.structs import replace

from tidings.accounts.api_keys import CACHE_POLICY, USE_S, ApiKeyName, ApiKeyService, IssuedApiKey
from tidings.accounts.model import Principal, Scope
from tidings.accounts.rules import CredentialRejectedError
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

ACME, GLOBEX = TenantId("acme"), TenantId("globex")


class AccessTokenEnv:
    def __init__(self) -> None:
        self.store = MemoryApiKeyStore()
        self.clock = AdjustableClock()
        self.keys = self.process()

    def process(self) -> ApiKeyService:
        return ApiKeyService(self.store, self.clock)

    async def issue(self, tenant: TenantId = ACME, *scopes: Scope) -> IssuedApiKey:
        return await self.keys.issue(tenant, "backend", scopes or (Scope.USERS,))

    async def why_not(self, text: str) -> str:
        with pytest.raises(CredentialRejectedError) as caught:
            await self.keys.examine(text)
        return caught.value.reason


@pytest.fixture
def env() -> AccessTokenEnv:
    return AccessTokenEnv()


async def test_an_issued_key_has_its_tenant_and_scopes(env: AccessTokenEnv) -> None:
    issued = await env.issue(ACME, Scope.USERS, Scope.NOTIFICATIONS)
    text = issued.text.reveal()
    assert re.fullmatch(r"tidings_sk\.acme\.[0-9A-Z]{26}\.[\w-]{43}", text)
    assert await env.keys.verify(text) == Principal(
        tenant=ACME, scopes=frozenset({Scope.USERS, Scope.NOTIFICATIONS}), api_key=issued.key.name.key
    )


async def test_the_secret_is_stored_nowhere_and_prints_nowhere(env: AccessTokenEnv) -> None:
    issued = await env.issue()
    secret = issued.text.reveal().rpartition(".")[2]
    assert secret not in repr(env.store.rows)
    assert secret not in repr(issued)
    assert len(issued.key.secret_hash) == 32


async def test_another_secret_is_refused_by_a_comparison_in_constant_time(
    env: AccessTokenEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(hmac, "compare_digest", compare)
    text = (await env.issue()).text.reveal()
    assert "secret" in await env.why_not(text[:-1] + ("A" if text[-1] != "A" else "Q"))
    assert len(compared) == 1


async def test_a_key_is_valid_only_for_its_own_tenant(env: AccessTokenEnv) -> None:
    _, _, key, secret = (await env.issue(ACME)).text.reveal().split(".")
    await env.issue(GLOBEX)
    assert "globex has no API key" in await env.why_not(f"tidings_sk.globex.{key}.{secret}")


@pytest.mark.parametrize(
    "text",
    [
        "tidings_sk.",
        "tidings_sk.acme",
        "tidings_sk.acme..",
        "tidings_sk.acme." + "A" * 26 + "." + "x" * 42,
        "tidings_sk.acme." + "A" * 26 + "." + "x" * 44,
        "tidings_sk.acme." + "A" * 26 + "." + "x" * 43 + "\n",
        "tidings_sk.ac#me." + "A" * 26 + "." + "x" * 43,
        "tidings_sk.acme." + "#" * 26 + "." + "x" * 43,
        "tidings_sk.acme." + "A" * 26 + ".x." + "x" * 41,
        "tidings_sk." + "a" * 1_000_000,
    ],
)
async def test_a_malformed_key_costs_no_read(env: AccessTokenEnv, text: str) -> None:
    assert "form" in await env.why_not(text)
    assert env.store.finds == 0


async def test_all_refusals_read_the_same(env: AccessTokenEnv) -> None:
    issued = await env.issue()
    text = issued.text.reveal()
    await env.keys.revoke(issued.key.name)
    errors = []
    for bad in (text, text[:-3] + "AAA", text.replace("acme", "globex"), "tidings_sk.x"):
        with pytest.raises(TidingsError) as caught:
            await env.keys.verify(bad)
        errors.append((caught.value.code, caught.value.message, caught.value.hint))
    assert set(errors) == {errors[0]}
    assert errors[0][0] is Code.CREDENTIAL_INVALID


async def test_a_revoked_key_stops_here_at_once_and_elsewhere_within_the_bound(env: AccessTokenEnv) -> None:
    issued = await env.issue()
    elsewhere = env.process()
    text = issued.text.reveal()
    await elsewhere.verify(text)
    await env.keys.verify(text)
    await env.keys.revoke(issued.key.name)
    assert "revoked" in await env.why_not(text)
    env.clock.now_s += CACHE_POLICY.fresh_s
    with pytest.raises(CredentialRejectedError, match="revoked"):
        await elsewhere.examine(text)


async def test_known_and_unknown_keys_are_read_once_per_interval(env: AccessTokenEnv) -> None:
    text = (await env.issue()).text.reveal()
    unknown = text.replace("acme", "globex")
    for _ in range(50):
        await env.keys.verify(text)
        await env.why_not(unknown)
    assert env.store.finds == 2


async def test_rotation_leaves_the_old_one_until_it_is_revoked(env: AccessTokenEnv) -> None:
    old = await env.issue(ACME, Scope.NOTIFICATIONS)
    new = await env.keys.rotate(old.key.name)
    assert (new.key.title, new.key.scopes) == (old.key.title, old.key.scopes)
    before, after = await env.keys.verify(old.text.reveal()), await env.keys.verify(new.text.reveal())
    assert replace(before, api_key=after.api_key) == after
    await env.keys.revoke(old.key.name)
    assert "revoked" in await env.why_not(old.text.reveal())
    await env.keys.verify(new.text.reveal())
    assert [key.name for key in await env.keys.list(ACME)] == sorted([old.key.name, new.key.name])


async def test_missing_and_revoked_keys_are_not_rotated_and_missing_keys_not_revoked(
    env: AccessTokenEnv,
) -> None:
    issued = await env.issue()
    await env.keys.revoke(issued.key.name)
    unknown = ApiKeyName(ACME, "0" * 26)
    for asking in (env.keys.rotate(issued.key.name), env.keys.rotate(unknown), env.keys.revoke(unknown)):
        with pytest.raises(TidingsError) as caught:
            await asking
        assert caught.value.code is Code.REQUEST_INVALID


async def test_a_key_expires_as_issued_and_its_successor_has_the_same_lifetime(
    env: AccessTokenEnv,
) -> None:
    issued = await env.keys.issue(ACME, "backend", [Scope.USERS], life_s=90 * 86_400)
    text = issued.text.reveal()
    env.clock.now_s += 90 * 86_400 - 1
    await env.keys.verify(text)
    successor = await env.keys.rotate(issued.key.name)
    env.clock.now_s += 1
    assert "expired" in await env.why_not(text)
    with pytest.raises(TidingsError) as caught:
        await env.keys.verify(text)
    assert caught.value.code is Code.CREDENTIAL_EXPIRED
    assert "api-key new" in str(caught.value.hint)
    assert "refresh token" not in str(caught.value.hint)
    env.clock.now_s += 90 * 86_400 - 2
    await env.keys.verify(successor.text.reveal())
    env.clock.now_s += 1
    assert "expired" in await env.why_not(successor.text.reveal())


async def test_the_last_use_of_a_key_is_written_once_an_hour_by_all_processes(env: AccessTokenEnv) -> None:
    issued = await env.issue()
    text, elsewhere = issued.text.reveal(), env.process()
    for hour in range(2):
        for _ in range(20):
            await env.keys.verify(text)
            await elsewhere.verify(text)
            env.clock.now_s += 60
        assert env.store.uses == hour + 1
        env.clock.now_s += USE_S
    used_at_ms = (await env.keys.list(ACME))[0].last_used_at_ms
    assert used_at_ms is not None
    assert env.clock.now_ms() - used_at_ms < 2 * USE_S * 1000


async def test_reading_a_key_does_not_count_as_use_and_a_failed_write_rejects_no_request(
    env: AccessTokenEnv,
) -> None:
    text = (await env.issue()).text.reveal()
    await env.keys.examine(text)
    assert (env.store.uses, env.store.use_calls) == (0, 0)
    env.store.is_down = True
    for _ in range(20):
        await env.keys.verify(text)
    assert env.store.use_calls == 1


@pytest.mark.parametrize("title", ["", "x" * 33])
async def test_a_title_is_bounded(env: AccessTokenEnv, title: str) -> None:
    with pytest.raises(TidingsError):
        await env.keys.issue(ACME, title, [])


async def test_known_keys_stay_valid_for_a_minute_while_the_table_is_unavailable(env: AccessTokenEnv) -> None:
    text = (await env.issue()).text.reveal()
    await env.keys.verify(text)
    env.store.is_down = True
    env.clock.now_s += CACHE_POLICY.outage_s - 1
    await env.keys.verify(text)
    env.clock.now_s += 1
    with pytest.raises(TidingsError) as caught:
        await env.keys.verify(text)
    assert caught.value.code is Code.KEYS_UNAVAILABLE
