"""The key ring: when it reads the table, creates keys and unwraps them."""

import asyncio
import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
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

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.tenants.model import FINGERPRINT


async def test_the_first_use_creates_the_keys_and_the_next_use_is_cached() -> None:
    env = TenantsEnv()
    process = env.process()
    keys = await process.of(ACME)
    assert env.rows().keys() == {FINGERPRINT, content_key(1)}
    assert await process.of(ACME) is keys
    assert (env.store.lists, env.kms.unwraps) == (1, 2)


async def test_concurrent_calls_share_one_look_up() -> None:
    env = TenantsEnv()
    process = env.process()
    await asyncio.gather(*(process.of(ACME) for _ in range(100)))
    assert (env.store.lists, len(env.kms.made), env.kms.unwraps) == (1, 2, 2)


async def test_two_processes_that_create_the_first_keys_at_once_agree() -> None:
    env = TenantsEnv()
    one, other = env.process(), env.process()
    a, b = await asyncio.gather(one.of(ACME), other.of(ACME))
    assert len(env.kms.made) == 4, "both made them, or this test shows nothing"
    assert b.unseal(CHAT, 1, a.seal(CHAT, 1, b"hello")) == b"hello"
    assert a.fingerprint(b"hello") == b.fingerprint(b"hello")


async def test_a_cancelled_call_does_not_cancel_the_look_up_of_others() -> None:
    env = TenantsEnv()
    process = env.process()
    first = asyncio.ensure_future(process.of(ACME))
    second = asyncio.ensure_future(process.of(ACME))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).tenant == ACME
    assert env.store.lists == 1


async def test_a_look_up_that_fails_after_all_callers_were_cancelled_is_not_an_unhandled_error() -> None:
    unseen: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, found: unseen.append(found))
    env = TenantsEnv()
    env.store.is_down = True
    asking = asyncio.ensure_future(env.process().of(ACME))
    await asyncio.sleep(0)
    asking.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert asking.cancelled()
    del asking
    gc.collect()
    assert unseen == []


async def test_tenants_do_not_share_keys() -> None:
    process = TenantsEnv().process()
    mine, theirs = await process.of(ACME), await process.of(TenantId("other"))
    assert mine.fingerprint(b"hello") != theirs.fingerprint(b"hello")
    stolen = ChatKey(TenantId("other"), ChatId("c"))
    with pytest.raises(TidingsError) as caught:
        theirs.unseal(stolen, 1, mine.seal(CHAT, 1, b"hello"))
    assert caught.value.code is Code.DECRYPTION_FAILED


async def test_a_rotation_is_used_at_once_here_and_within_the_bound_elsewhere() -> None:
    env = TenantsEnv()
    one, other = env.process(), env.process()
    await sealed(other, b"warm")
    assert await one.rotate(ACME) == 2
    assert (await one.of(ACME)).active_version == 2
    env.clock.now_s += REFRESH_S - 1
    assert (await other.of(ACME)).active_version == 1
    env.clock.now_s += 1
    assert (await other.of(ACME)).active_version == 2


async def test_concurrent_rotations_create_one_key() -> None:
    env = TenantsEnv()
    one, other = env.process(), env.process()
    await asyncio.gather(one.of(ACME), other.of(ACME))
    versions = await asyncio.gather(one.rotate(ACME), other.rotate(ACME))
    assert list(versions) == [2, 2]
    assert await opened(other, await sealed(one, b"hello")) == b"hello"


async def test_any_process_replaces_a_due_key_at_its_next_look_up() -> None:
    env = TenantsEnv()
    process = env.process()
    old = await sealed(process, b"old")
    env.clock.now_s += 90 * 86_400 - 1
    assert (await process.of(ACME)).active_version == 1
    env.clock.now_s += REFRESH_S
    assert (await process.of(ACME)).active_version == 2
    assert await opened(process, old) == b"old"


async def test_a_key_created_elsewhere_is_found_by_one_look_up_when_its_content_is_read() -> None:
    env = TenantsEnv()
    one, other = env.process(), env.process()
    await other.of(ACME)
    await one.rotate(ACME)
    content = await sealed(one, b"hello")
    looks = env.store.lists
    assert await opened(other, content) == b"hello"
    assert env.store.lists == looks + 1


@pytest.mark.parametrize("early_by", ["refreshing", "searching"])
async def test_a_look_up_from_before_the_key_existed_does_not_fail_decryption(
    early_by: str,
) -> None:
    env = TenantsEnv()
    one, other = env.process(), env.process()
    first = await sealed(one, b"first")
    await other.of(ACME)
    env.clock.now_s += REFRESH_S if early_by == "refreshing" else 0
    gate = env.store.gate = asyncio.Event()
    early = asyncio.ensure_future(other.to_read(ACME, [first[:1] + (9).to_bytes(4) + first[5:]]))
    for _ in range(3):
        await asyncio.sleep(0)
    env.store.gate = None
    await one.rotate(ACME)
    content = await sealed(one, b"hello")
    late = asyncio.ensure_future(opened(other, content))
    await asyncio.sleep(0)
    looks = env.store.lists
    gate.set()
    assert await late == b"hello"
    assert env.store.lists == looks + 1, "the early look has seen the new key: nothing is shown"
    await early


async def test_an_unknown_key_costs_one_look_up_and_is_then_unreadable() -> None:
    env = TenantsEnv()
    process = env.process()
    content = await sealed(process, b"hello")
    forged = content[:1] + (9).to_bytes(4) + content[5:]
    looks = env.store.lists
    assert await refusal(opened(process, forged)) is Code.DECRYPTION_FAILED
    assert env.store.lists == looks + 1
    assert await opened(process, content) == b"hello"


async def test_while_the_table_is_unavailable_an_unknown_key_is_not_reported_as_unreadable() -> None:
    env = TenantsEnv()
    process = env.process()
    content = await sealed(process, b"hello")
    env.store.is_down = True
    forged = content[:1] + (9).to_bytes(4) + content[5:]
    assert await refusal(opened(process, forged)) is Code.KEYS_UNAVAILABLE


async def test_older_keys_are_unwrapped_when_they_are_needed_once() -> None:
    env = TenantsEnv()
    writer = env.process()
    contents = []
    for version in range(1, 6):
        contents.append(await sealed(writer, b"%d" % version))
        await writer.rotate(ACME)
    env.kms.unwraps = 0
    reader = env.process()
    await reader.of(ACME)
    assert env.kms.unwraps == 2, "the newest, and the fingerprint's"
    await asyncio.gather(*(reader.to_read(ACME, contents[:2]) for _ in range(10)))
    assert env.kms.unwraps == 4
    env.clock.now_s += REFRESH_S
    assert [await opened(reader, content) for content in contents] == [b"1", b"2", b"3", b"4", b"5"]
    assert env.kms.unwraps == 7


async def test_unsealing_without_loading_its_key_reports_keys_unavailable() -> None:
    env = TenantsEnv()
    content = await sealed(env.process(), b"hello")
    await env.process().rotate(ACME)
    keys = await env.process().of(ACME)
    with pytest.raises(TidingsError) as caught:
        keys.unseal(CHAT, 1, content)
    assert caught.value.code is Code.KEYS_UNAVAILABLE


@given(st.lists(st.sampled_from(["rotate", "seal", "refresh", "restart", "switch"]), max_size=30), st.data())
def test_content_stays_readable_after_any_rotations_and_restarts(
    steps: list[str], data: st.DataObject
) -> None:
    async def check() -> None:
        env = TenantsEnv()
        processes = [env.process(), env.process()]
        stored: list[tuple[int, bytes]] = []
        for step, name in enumerate(steps, 1):
            index = data.draw(st.integers(0, 1))
            match name:
                case "rotate":
                    await processes[index].rotate(ACME)
                case "seal":
                    stored.append((step, await sealed(processes[index], b"%d" % step, step)))
                case "refresh":
                    env.clock.now_s += REFRESH_S
                case "restart":
                    processes[index] = env.process()
                case _:
                    processes[index] = env.process(is_encrypting=False)
        for reader in (*processes, env.process()):
            assert [await opened(reader, content, at) for at, content in stored] == [
                b"%d" % at for at, _ in stored
            ]

    asyncio.run(check())


async def test_fingerprints_outlive_rotations_restarts_and_the_mode() -> None:
    env = TenantsEnv()
    process = env.process()
    before = (await process.of(ACME)).fingerprint(b"hello")
    await process.rotate(ACME)
    assert (await process.of(ACME)).fingerprint(b"hello") == before
    assert (await env.process(is_encrypting=False).of(ACME)).fingerprint(b"hello") == before


async def test_the_least_recently_used_tenants_are_evicted() -> None:
    env = TenantsEnv()
    process = env.process(tenants_kept=2)
    for name in ("a", "b", "a", "c"):
        await process.of(TenantId(name))
    assert list(process._cache) == ["a", "c"]
    lists = env.store.lists
    await process.of(TenantId("a"))
    assert env.store.lists == lists
