"""The key ring when the table or the KMS is unavailable, and when keys are missing or altered."""

from fixtures.memory_keys import MemoryKms
from unit.tenants.tenants_env import (
    ACME,
    CHAT,
    REFRESH_S,
    TenantsEnv,
    content_key,
    opened,
    refusal,
    sealed,
)

from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId
from tidings.tenants.key_ring import RETRY_S
from tidings.tenants.model import FINGERPRINT

OTHER = TenantId("other")


async def test_cached_keys_are_used_while_the_table_is_unavailable() -> None:
    env = TenantsEnv()
    process = env.process()
    content = await sealed(process, b"hello")
    env.store.is_down = True
    env.clock.now_s += REFRESH_S
    assert await opened(process, content) == b"hello"
    looks = env.store.lists
    await sealed(process, b"more")
    assert env.store.lists == looks, "not at every message"
    env.clock.now_s += RETRY_S
    env.store.is_down = False
    await sealed(process, b"more")
    assert env.store.lists == looks + 1


async def test_without_cached_keys_the_error_is_retryable() -> None:
    for part in ("store", "kms"):
        env = TenantsEnv()
        getattr(env, part).is_down = True
        process = env.process()
        assert await refusal(process.of(ACME)) is Code.KEYS_UNAVAILABLE
        getattr(env, part).is_down = False
        assert (await process.of(ACME)).active_version == 1


async def test_a_due_key_still_seals_while_the_key_service_is_unavailable() -> None:
    env = TenantsEnv()
    process = env.process()
    await process.of(ACME)
    env.kms.is_down = True
    env.clock.now_s += 91 * 86_400
    assert (await process.of(ACME)).active_version == 1
    env.kms.is_down = False
    env.clock.now_s += REFRESH_S
    assert (await process.of(ACME)).active_version == 2


async def test_a_due_key_still_seals_while_no_new_one_can_be_created() -> None:
    env = TenantsEnv()
    await env.process().of(ACME)
    env.kms.makes_no_more = True
    env.clock.now_s += 91 * 86_400
    assert (await env.process().of(ACME)).active_version == 1


async def test_a_key_of_another_length_is_not_used() -> None:
    env = TenantsEnv()
    await env.process().of(ACME)
    env.kms.made = {wrapped: (made_for, key[:16]) for wrapped, (made_for, key) in env.kms.made.items()}
    assert await refusal(env.process().of(ACME)) is Code.KEYS_UNAVAILABLE


async def test_a_key_service_that_cannot_unwrap_existing_keys_wraps_no_new_ones() -> None:
    """A wrong key file must not create the next key: a tenant would have keys of two master keys."""
    env = TenantsEnv()
    await env.process().of(ACME)
    rows = dict(env.rows())
    env.clock.now_s += 91 * 86_400
    env.kms = MemoryKms({b"another": ("", b"")})
    assert await refusal(env.process().of(ACME)) is Code.KEYS_UNAVAILABLE
    assert await refusal(env.process().rotate(ACME)) is Code.KEYS_UNAVAILABLE
    assert env.rows() == rows


async def three_keys(env: TenantsEnv) -> list[bytes]:
    writer = env.process()
    contents = [await sealed(writer, b"1")]
    for n in (2, 3):
        await writer.rotate(ACME)
        contents.append(await sealed(writer, b"%d" % n))
    return contents


async def test_an_altered_older_key_makes_only_its_own_content_unreadable() -> None:
    env = TenantsEnv()
    contents = await three_keys(env)
    env.store.alter(ACME, content_key(2), b"altered")
    reader = env.process()
    keys = await reader.to_read(ACME, contents)
    assert keys.unseal(CHAT, 1, contents[0]) == b"1"
    assert keys.unseal(CHAT, 1, contents[2]) == b"3"
    unwraps, lists = env.kms.unwraps, env.store.lists
    assert await refusal(opened(reader, contents[1])) is Code.DECRYPTION_FAILED
    assert (env.kms.unwraps, env.store.lists) == (unwraps, lists), "asked again for nothing"


async def test_a_wrapped_key_under_another_version_or_in_another_tenant_does_not_unwrap() -> None:
    env = TenantsEnv()
    await three_keys(env)
    await env.process().of(OTHER)
    first = env.rows()[content_key(1)].wrapped
    for victim, newest in ((ACME, content_key(3)), (OTHER, content_key(1))):
        env.store.alter(victim, newest, first)
        assert await refusal(env.process().of(victim)) is Code.KEYS_UNAVAILABLE


async def test_a_missing_fingerprint_key_is_not_silently_replaced() -> None:
    env = TenantsEnv()
    await env.process().of(ACME)
    del env.rows()[FINGERPRINT]
    assert await refusal(env.process().of(ACME)) is Code.KEYS_UNAVAILABLE
    assert env.rows().keys() == {content_key(1)}


async def test_a_process_that_died_between_the_two_first_keys_is_finished_by_the_next() -> None:
    env = TenantsEnv()
    await env.process().of(ACME)
    before = (await env.process().of(ACME)).fingerprint(b"hello")
    del env.rows()[content_key(1)]
    keys = await env.process().of(ACME)
    assert keys.fingerprint(b"hello") == before
    assert keys.active_version == 1


async def test_a_recreated_tenant_gets_its_new_keys_within_the_bound() -> None:
    env = TenantsEnv()
    process = env.process()
    old = await sealed(process, b"old")
    env.rows().clear()
    await env.process().of(ACME)
    env.clock.now_s += REFRESH_S
    assert await refusal(opened(process, old)) is Code.DECRYPTION_FAILED
    assert await opened(env.process(), await sealed(process, b"new")) == b"new"
