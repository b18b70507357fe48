"""Data keys are wrapped by another master key, and open what they sealed as before."""

from collections.abc import Mapping

import pytest
from unit.tenants.tenants_env import ACME, TenantsEnv, content_key, opened, refusal, sealed

from tidings.kernel.errors import Code
from tidings.tenants.key_ring import KeyRewrapper
from tidings.tenants.model import FINGERPRINT, GeneratedKey


async def _used(world: TenantsEnv) -> bytes:
    """Return what the first of three keys sealed; then the master key changes."""
    content = await sealed(world.process(), b"before")
    await world.process().rotate(ACME)
    world.kms.renew()
    return content


async def test_every_key_is_rewrapped_once_and_opens_what_it_sealed() -> None:
    world = TenantsEnv()
    content = await _used(world)
    before, running = dict(world.rows()), world.process()
    assert await opened(running, content) == b"before"

    done = await KeyRewrapper(world.store, world.kms).rewrap([ACME])
    assert (done.rewrapped, done.present, done.failed) == (3, 0, [])
    after = world.rows()
    assert all(after[name].wrapped != row.wrapped for name, row in before.items())
    assert [row.created_at_ms for row in after.values()] == [row.created_at_ms for row in before.values()]
    assert world.kms.formers.isdisjoint(row.wrapped for row in after.values())
    for process in (running, world.process()):
        assert await opened(process, content) == b"before"

    again = await KeyRewrapper(world.store, world.kms).rewrap([ACME])
    assert (again.rewrapped, again.present, world.rows()) == (0, 3, after)


async def test_an_interrupted_run_is_continued() -> None:
    world = TenantsEnv()
    await _used(world)
    rewrapper, first = KeyRewrapper(world.store, world.kms), world.rows()[FINGERPRINT].wrapped
    answer = world.store.replace

    async def once(*given: object) -> bool:
        is_done = await answer(*given)  # type: ignore[arg-type]  # as they come
        world.store.is_down = True
        return is_done

    world.store.replace = once  # type: ignore[method-assign]  # goes down after the first
    assert await refusal(rewrapper.rewrap([ACME])) is Code.KEYS_UNAVAILABLE
    assert world.rows()[FINGERPRINT].wrapped != first
    world.store.replace, world.store.is_down = answer, False  # type: ignore[method-assign]
    done = await rewrapper.rewrap([ACME])
    assert (done.rewrapped, done.present) == (2, 1)


async def test_a_key_that_does_not_unwrap_is_reported_and_left_alone() -> None:
    world = TenantsEnv()
    await _used(world)
    world.store.alter(ACME, content_key(1), b"altered")
    done = await KeyRewrapper(world.store, world.kms).rewrap([ACME])
    assert (done.rewrapped, len(done.failed)) == (2, 1)
    assert done.failed[0].startswith("acme content-0000000001: ")
    assert world.rows()[content_key(1)].wrapped == b"altered"


async def test_a_key_that_another_operator_rewrapped_meanwhile_is_not_overwritten() -> None:
    world = TenantsEnv()
    await _used(world)
    rows = dict(world.rows())
    rewrapper = KeyRewrapper(world.store, world.kms)
    await rewrapper.rewrap([ACME])
    theirs = dict(world.rows())

    async def read_before(*_: object) -> list[object]:
        return list(rows.values())

    world.store.list = read_before  # type: ignore[assignment,method-assign]
    done = await rewrapper.rewrap([ACME])
    assert (done.rewrapped, done.present, world.rows()) == (0, 3, theirs)


async def test_a_key_service_that_returns_another_key_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = TenantsEnv()
    content = await _used(world)

    async def another(_: bytes, context: Mapping[str, str], /) -> GeneratedKey:
        return await world.kms.generate(context)

    monkeypatch.setattr(world.kms, "rewrap", another)
    done = await KeyRewrapper(world.store, world.kms).rewrap([ACME])
    assert (done.rewrapped, len(done.failed)) == (0, 3)
    assert await opened(world.process(), content) == b"before"
