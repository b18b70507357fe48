"""Content keys of users: created once, read in batches, cached, rotated, and unusable once destroyed."""

import asyncio
from dataclasses import dataclass, field

import pytest
from fixtures.memory_keys import MemoryUserKeyStore
from unit.tenants.tenants_env import ACME, CHAT, TenantsEnv, refusal

from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings.tenants.model import UserKeyRow
from tidings.tenants.sealing import version_of
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing

ANNA, BEN = UserId("anna"), UserId("ben")
KEEP_S = 3600.0


@dataclass
class UserKeysEnv(TenantsEnv):
    user_store: MemoryUserKeyStore = field(default_factory=MemoryUserKeyStore)

    def ring(self, *, users_kept: int = 100, is_encrypting: bool = True) -> UserKeyRing:
        policy = UserKeyPolicy(
            is_encrypting=is_encrypting,
            keep_s=KEEP_S,
            max_cached_users=users_kept,
        )
        return UserKeyRing(self.user_store, self.process(), self.clock, policy)


@pytest.fixture
def env() -> UserKeysEnv:
    return UserKeysEnv()


async def sealed(ring: UserKeyRing, user: UserId, body: bytes = b"hello", sequence: int = 1) -> bytes:
    return (await ring.of(ACME, user)).seal(CHAT, sequence, body)


async def opened(ring: UserKeyRing, user: UserId, content: bytes, sequence: int = 1) -> bytes | None:
    return (await ring.to_read(ACME, [(user, content)])).unseal(CHAT, sequence, user, content)


async def test_another_process_opens_what_a_user_sealed(env: UserKeysEnv) -> None:
    assert await opened(env.ring(), ANNA, await sealed(env.ring(), ANNA)) == b"hello"


async def test_the_key_of_one_user_does_not_open_the_content_of_another(env: UserKeysEnv) -> None:
    ring = env.ring()
    content, _ = await sealed(ring, ANNA), await sealed(ring, BEN)
    keys = await ring.to_read(ACME, [(BEN, content)])
    with pytest.raises(Exception, match="cannot be read") as caught:
        keys.unseal(CHAT, 1, BEN, content)
    assert getattr(caught.value, "code", None) is Code.DECRYPTION_FAILED


async def test_processes_that_create_a_key_at_the_same_time_use_one(env: UserKeysEnv) -> None:
    one, two = env.ring(), env.ring()
    contents = await asyncio.gather(*(sealed(ring, ANNA) for ring in (one, two) for _ in range(5)))
    assert len(env.user_store.rows[ACME, ANNA].wrapped) == 1
    assert [await opened(env.ring(), ANNA, content) for content in contents] == [b"hello"] * 10


async def test_a_page_of_many_authors_is_one_batch_when_cold_and_none_when_warm(env: UserKeysEnv) -> None:
    writer = env.ring()
    users = [UserId(f"user-{n}") for n in range(50)]
    contents = [(user, await sealed(writer, user)) for user in users]
    reader = env.ring()
    env.user_store.reads.clear()
    for _ in range(3):
        keys = await reader.to_read(ACME, contents)
        assert all(keys.unseal(CHAT, 1, user, content) == b"hello" for user, content in contents)
    assert env.user_store.reads == [(frozenset(users), False)]


async def test_concurrent_readers_of_a_key_share_one_read(env: UserKeysEnv) -> None:
    contents = [(user, await sealed(env.ring(), user)) for user in (ANNA, BEN)]
    reader = env.ring()
    env.user_store.reads.clear()
    env.user_store.gate = asyncio.Event()
    first = asyncio.create_task(reader.to_read(ACME, contents[:1]))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(reader.to_read(ACME, contents)) for _ in range(5)]
    await asyncio.sleep(0.01)
    first.cancel()
    env.user_store.gate.set()
    for keys in await asyncio.gather(*others):
        assert [keys.unseal(CHAT, 1, user, content) for user, content in contents] == [b"hello"] * 2
    assert env.user_store.reads == [(frozenset({ANNA}), False), (frozenset({BEN}), False)]


async def test_a_key_that_an_eventually_consistent_read_misses_is_read_again(env: UserKeysEnv) -> None:
    """Otherwise content that was written just now would appear as erased."""
    env.user_store.stale = {}
    content = await sealed(env.ring(), ANNA)
    assert await opened(env.ring(), ANNA, content) == b"hello"
    assert len(env.user_store.rows) == 1


async def test_a_version_newer_than_the_cached_row_is_read_again(env: UserKeysEnv) -> None:
    writer, reader = env.ring(), env.ring()
    assert await opened(reader, ANNA, await sealed(writer, ANNA)) == b"hello"
    assert await writer.rotate(ACME, ANNA) == 2
    assert await opened(reader, ANNA, await sealed(writer, ANNA, b"new")) == b"new"


async def test_a_rotated_key_still_opens_and_the_fingerprint_stays(env: UserKeysEnv) -> None:
    ring = env.ring()
    old, fingerprint = await sealed(ring, ANNA), (await ring.of(ACME, ANNA)).fingerprint(b"request")
    await ring.rotate(ACME, ANNA)
    new = await sealed(ring, ANNA, b"new", 2)
    assert len(env.user_store.rows[ACME, ANNA].wrapped) == 2
    assert (old[1:5], new[1:5]) == ((1).to_bytes(4), (2).to_bytes(4))
    assert (await opened(ring, ANNA, old), await opened(ring, ANNA, new, 2)) == (b"hello", b"new")
    assert (await ring.of(ACME, ANNA)).fingerprint(b"request") == fingerprint


async def test_after_a_rotation_of_the_tenants_key_a_user_gets_a_new_key_with_the_next_message(
    env: UserKeysEnv,
) -> None:
    running = env.ring()
    content = await sealed(running, ANNA)
    assert await env.process().rotate(ACME) == 2
    started = env.ring()
    assert await opened(started, ANNA, content) == b"hello"
    assert len(env.user_store.rows[ACME, ANNA].wrapped) == 1, "reading creates no key"
    for number in range(2, 5):
        assert version_of(await sealed(started, ANNA)) == 2
        assert version_of(await sealed(started, BEN)) == 1, f"a user who is new, message {number}"
    env.clock.now_s += KEEP_S
    assert version_of(await sealed(running, ANNA)) == 2, (
        "a running process follows when it reads the keys again"
    )
    assert len(env.user_store.rows[ACME, ANNA].wrapped) == 2


async def test_after_keys_are_destroyed_nothing_opens_and_copies_of_content_are_worthless(
    env: UserKeysEnv,
) -> None:
    ring = env.ring()
    content = await sealed(ring, ANNA)
    preview = (await ring.of(ACME, ANNA)).seal_preview(CHAT, 1, b"he")
    await ring.destroy(ACME, ANNA)
    for process in (ring, env.ring()):
        keys = await process.to_read(ACME, [(ANNA, content)])
        assert keys.unseal(CHAT, 1, ANNA, content) is None
        assert keys.unseal_preview(CHAT, 1, ANNA, preview) is None
    assert env.user_store.erased == [(ACME, ANNA)]


async def test_an_erased_user_gets_no_new_key(env: UserKeysEnv) -> None:
    ring = env.ring()
    await sealed(ring, ANNA)
    await env.ring().destroy(ACME, ANNA)
    env.clock.now_s += KEEP_S
    assert await refusal(ring.of(ACME, ANNA)) is Code.USER_ERASED
    assert await refusal(env.ring().of(ACME, ANNA)) is Code.USER_ERASED
    assert env.user_store.rows[ACME, ANNA].wrapped == ()


async def test_a_process_forgets_a_destroyed_key_within_the_configured_time(env: UserKeysEnv) -> None:
    ring = env.ring()
    content = await sealed(ring, ANNA)
    await env.ring().destroy(ACME, ANNA)
    assert await opened(ring, ANNA, content) == b"hello", "from the cache"
    env.clock.now_s += KEEP_S
    assert await opened(ring, ANNA, content) is None


async def test_one_erased_author_does_not_affect_the_others_of_a_page(env: UserKeysEnv) -> None:
    ring = env.ring()
    contents = [(user, await sealed(ring, user)) for user in (ANNA, BEN)]
    await ring.destroy(ACME, ANNA)
    keys = await env.ring().to_read(ACME, contents)
    assert [keys.unseal(CHAT, 1, user, content) for user, content in contents] == [None, b"hello"]


async def test_a_wrapped_key_moved_to_another_user_or_tenant_is_not_used(env: UserKeysEnv) -> None:
    ring = env.ring()
    content = await sealed(ring, ANNA)
    row = env.user_store.rows[ACME, ANNA]
    env.user_store.rows[ACME, BEN] = row
    other = TenantId("other")
    env.user_store.rows[other, ANNA] = row
    assert await refusal(env.ring().of(ACME, BEN)) is Code.KEYS_UNAVAILABLE
    assert await refusal(env.ring().of(other, ANNA)) is Code.KEYS_UNAVAILABLE
    keys = await env.ring().to_read(ACME, [(BEN, content)])
    assert keys.unseal(CHAT, 1, BEN, content) is None


async def test_a_key_in_clear_is_never_accepted(env: UserKeysEnv) -> None:
    """An attacker with write access to the table cannot insert a key that they know."""
    plain = (await TenantsEnv(env.store, env.kms, env.clock).process(is_encrypting=False).of(ACME)).seal(
        CHAT, 1, bytes(32)
    )
    env.user_store.rows[ACME, ANNA] = UserKeyRow((plain,))
    assert await refusal(env.ring().of(ACME, ANNA)) is Code.KEYS_UNAVAILABLE


async def test_the_cache_is_bounded(env: UserKeysEnv) -> None:
    ring = env.ring(users_kept=10)
    for n in range(50):
        await sealed(ring, UserId(f"user-{n}"))
    assert len(ring._cache) == 10


async def test_while_the_table_is_down_cached_keys_work_and_others_are_unavailable(env: UserKeysEnv) -> None:
    ring = env.ring()
    content = await sealed(ring, ANNA)
    env.user_store.is_down = True
    assert await opened(ring, ANNA, content) == b"hello"
    assert await refusal(ring.of(ACME, BEN)) is Code.KEYS_UNAVAILABLE
    assert await refusal(ring.to_read(ACME, [(BEN, content)])) is Code.KEYS_UNAVAILABLE
    env.user_store.is_down = False
    assert await sealed(ring, BEN), "a failed read is not cached"


async def test_with_encryption_off_content_is_readable_and_still_authentic(env: UserKeysEnv) -> None:
    content = await sealed(env.ring(is_encrypting=False), ANNA)
    assert content.endswith(b"hello")
    assert await opened(env.ring(), ANNA, content) == b"hello"
    assert await opened(env.ring(is_encrypting=False), ANNA, await sealed(env.ring(), ANNA)) == b"hello"
    assert b"hello" not in b"".join(env.user_store.rows[ACME, ANNA].wrapped)
