"""The ring of keys: when it looks at the table, what it makes, what it unwraps."""

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
    run,
    sealed,
)

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.tenants.model import FINGERPRINT


def test_the_first_use_makes_the_keys_and_the_next_one_asks_nobody() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        keys = await process.of(ACME)
        assert world.rows().keys() == {FINGERPRINT, content_key(1)}
        assert await process.of(ACME) is keys
        assert (world.store.lists, world.kms.unwraps) == (1, 2)

    run(check())


def test_all_who_ask_at_once_share_one_look() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        await asyncio.gather(*(process.of(ACME) for _ in range(100)))
        assert (world.store.lists, len(world.kms.made), world.kms.unwraps) == (1, 2, 2)

    run(check())


def test_two_processes_that_make_the_first_keys_at_once_end_with_the_same() -> None:
    async def check() -> None:
        world = TenantsEnv()
        one, other = world.process(), world.process()
        a, b = await asyncio.gather(one.of(ACME), other.of(ACME))
        assert len(world.kms.made) == 4, "both made them, or this test shows nothing"
        assert b.unseal(CHAT, 1, a.seal(CHAT, 1, b"hello")) == b"hello"
        assert a.fingerprint(b"hello") == b.fingerprint(b"hello")

    run(check())


def test_one_who_is_cancelled_stops_the_look_for_nobody() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        first = asyncio.ensure_future(process.of(ACME))
        second = asyncio.ensure_future(process.of(ACME))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).tenant == ACME
        assert world.store.lists == 1

    run(check())


def test_a_look_that_fails_after_all_were_cancelled_is_not_an_unseen_error() -> None:
    async def check() -> None:
        unseen: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, found: unseen.append(found))
        world = TenantsEnv()
        world.store.is_down = True
        asking = asyncio.ensure_future(world.process().of(ACME))
        await asyncio.sleep(0)
        asking.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert asking.cancelled()
        del asking
        gc.collect()
        assert unseen == []

    run(check())


def test_tenants_do_not_share_keys() -> None:
    async def check() -> None:
        process = TenantsEnv().process()
        mine, theirs = await process.of(ACME), await process.of(TenantId("other"))
        assert mine.fingerprint(b"hello") != theirs.fingerprint(b"hello")
        stolen = ChatKey(TenantId("other"), ChatId("c"))
        with pytest.raises(TidingsError) as caught:
            theirs.unseal(stolen, 1, mine.seal(CHAT, 1, b"hello"))
        assert caught.value.code is Code.DECRYPTION_FAILED

    run(check())


def test_a_rotation_is_used_at_once_here_and_within_the_bound_elsewhere() -> None:
    async def check() -> None:
        world = TenantsEnv()
        one, other = world.process(), world.process()
        await sealed(other, b"warm")
        assert await one.rotate(ACME) == 2
        assert (await one.of(ACME)).active_version == 2
        world.clock.now_s += REFRESH_S - 1
        assert (await other.of(ACME)).active_version == 1
        world.clock.now_s += 1
        assert (await other.of(ACME)).active_version == 2

    run(check())


def test_two_who_rotate_at_once_make_one_key() -> None:
    async def check() -> None:
        world = TenantsEnv()
        one, other = world.process(), world.process()
        await asyncio.gather(one.of(ACME), other.of(ACME))
        versions = await asyncio.gather(one.rotate(ACME), other.rotate(ACME))
        assert list(versions) == [2, 2]
        assert await opened(other, await sealed(one, b"hello")) == b"hello"

    run(check())


def test_a_key_that_is_due_is_replaced_at_the_next_look_by_whoever_looks() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        old = await sealed(process, b"old")
        world.clock.now_s += 90 * 86_400 - 1
        assert (await process.of(ACME)).active_version == 1
        world.clock.now_s += REFRESH_S
        assert (await process.of(ACME)).active_version == 2
        assert await opened(process, old) == b"old"

    run(check())


def test_a_key_made_elsewhere_is_found_by_one_look_when_its_content_is_read() -> None:
    async def check() -> None:
        world = TenantsEnv()
        one, other = world.process(), world.process()
        await other.of(ACME)
        await one.rotate(ACME)
        content = await sealed(one, b"hello")
        looks = world.store.lists
        assert await opened(other, content) == b"hello"
        assert world.store.lists == looks + 1

    run(check())


@pytest.mark.parametrize("early_by", ["refreshing", "searching"])
def test_a_look_that_began_before_the_key_was_made_does_not_make_decryption_failed(early_by: str) -> None:
    async def check() -> None:
        world = TenantsEnv()
        one, other = world.process(), world.process()
        first = await sealed(one, b"first")
        await other.of(ACME)
        world.clock.now_s += REFRESH_S if early_by == "refreshing" else 0
        gate = world.store.gate = asyncio.Event()
        early = asyncio.ensure_future(other.to_read(ACME, [first[:1] + (9).to_bytes(4) + first[5:]]))
        for _ in range(3):
            await asyncio.sleep(0)
        world.store.gate = None
        await one.rotate(ACME)
        content = await sealed(one, b"hello")
        late = asyncio.ensure_future(opened(other, content))
        await asyncio.sleep(0)
        looks = world.store.lists
        gate.set()
        assert await late == b"hello"
        assert world.store.lists == looks + 1, "the early look has seen the new key: nothing is shown"
        await early

    run(check())


def test_a_key_that_nobody_has_costs_one_look_and_is_then_unreadable() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        content = await sealed(process, b"hello")
        forged = content[:1] + (9).to_bytes(4) + content[5:]
        looks = world.store.lists
        assert await refusal(opened(process, forged)) is Code.DECRYPTION_FAILED
        assert world.store.lists == looks + 1
        assert await opened(process, content) == b"hello"

    run(check())


def test_while_the_table_is_away_an_unknown_key_is_not_called_unreadable() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        content = await sealed(process, b"hello")
        world.store.is_down = True
        forged = content[:1] + (9).to_bytes(4) + content[5:]
        assert await refusal(opened(process, forged)) is Code.KEYS_UNAVAILABLE

    run(check())


def test_older_keys_are_unwrapped_when_they_are_needed_once() -> None:
    async def check() -> None:
        world = TenantsEnv()
        writer = world.process()
        contents = []
        for version in range(1, 6):
            contents.append(await sealed(writer, b"%d" % version))
            await writer.rotate(ACME)
        world.kms.unwraps = 0
        reader = world.process()
        await reader.of(ACME)
        assert world.kms.unwraps == 2, "the newest, and the fingerprint's"
        await asyncio.gather(*(reader.to_read(ACME, contents[:2]) for _ in range(10)))
        assert world.kms.unwraps == 4
        world.clock.now_s += REFRESH_S
        assert [await opened(reader, content) for content in contents] == [b"1", b"2", b"3", b"4", b"5"]
        assert world.kms.unwraps == 7

    run(check())


def test_who_reads_without_saying_what_is_told_so() -> None:
    async def check() -> None:
        world = TenantsEnv()
        content = await sealed(world.process(), b"hello")
        await world.process().rotate(ACME)
        keys = await world.process().of(ACME)
        with pytest.raises(TidingsError) as caught:
            keys.unseal(CHAT, 1, content)
        assert caught.value.code is Code.KEYS_UNAVAILABLE

    run(check())


@given(st.lists(st.sampled_from(["rotate", "seal", "refresh", "restart", "switch"]), max_size=30), st.data())
def test_whatever_is_rotated_by_whom_everything_stays_readable(steps: list[str], data: st.DataObject) -> None:
    async def check() -> None:
        world = TenantsEnv()
        processes = [world.process(), world.process()]
        stored: list[tuple[int, bytes]] = []
        for step, name in enumerate(steps, 1):
            who = data.draw(st.integers(0, 1))
            match name:
                case "rotate":
                    await processes[who].rotate(ACME)
                case "seal":
                    stored.append((step, await sealed(processes[who], b"%d" % step, step)))
                case "refresh":
                    world.clock.now_s += REFRESH_S
                case "restart":
                    processes[who] = world.process()
                case _:
                    processes[who] = world.process(is_encrypting=False)
        for reader in (*processes, world.process()):
            assert [await opened(reader, content, at) for at, content in stored] == [
                b"%d" % at for at, _ in stored
            ]

    run(check())


def test_fingerprints_outlive_rotations_restarts_and_the_mode() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        before = (await process.of(ACME)).fingerprint(b"hello")
        await process.rotate(ACME)
        assert (await process.of(ACME)).fingerprint(b"hello") == before
        assert (await world.process(is_encrypting=False).of(ACME)).fingerprint(b"hello") == before

    run(check())


def test_tenants_that_were_not_used_for_longest_are_forgotten() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process(tenants_kept=2)
        for name in ("a", "b", "a", "c"):
            await process.of(TenantId(name))
        assert list(process._cache) == ["a", "c"]
        lists = world.store.lists
        await process.of(TenantId("a"))
        assert world.store.lists == lists

    run(check())
