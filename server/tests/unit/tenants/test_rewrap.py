"""Rewrapped data keys still open the content that they sealed."""

from collections.abc import Mapping

import pytest
from unit.tenants.tenants_env import ACME, TenantsEnv, content_key, opened, refusal, sealed

from tidings.kernel.errors import Code
from tidings.tenants.key_ring import KeyRewrapper
from tidings.tenants.model import FINGERPRINT, GeneratedKey


async def _used(env: TenantsEnv) -> bytes:
    """Seal content with the first of three keys, then change the master key."""
    content = await sealed(env.process(), b"before")
    await env.process().rotate(ACME)
    env.kms.renew()
    return content


async def test_every_key_is_rewrapped_once_and_opens_what_it_sealed() -> None:
    env = TenantsEnv()
    content = await _used(env)
    before, running = dict(env.rows()), env.process()
    assert await opened(running, content) == b"before"

    done = await KeyRewrapper(env.store, env.kms).rewrap([ACME])
    assert (done.rewrapped, done.present, done.failed) == (3, 0, [])
    after = env.rows()
    assert all(after[name].wrapped != row.wrapped for name, row in before.items())
    assert [row.created_at_ms for row in after.values()] == [row.created_at_ms for row in before.values()]
    assert env.kms.formers.isdisjoint(row.wrapped for row in after.values())
    for process in (running, env.process()):
        assert await opened(process, content) == b"before"

    again = await KeyRewrapper(env.store, env.kms).rewrap([ACME])
    assert (again.rewrapped, again.present, env.rows()) == (0, 3, after)


async def test_an_interrupted_run_is_continued() -> None:
    env = TenantsEnv()
    await _used(env)
    rewrapper, first = KeyRewrapper(env.store, env.kms), env.rows()[FINGERPRINT].wrapped
    answer = env.store.replace

    async def once(*given: object) -> bool:
        is_done = await answer(*given)  # type: ignore[arg-type]  # as they come
        env.store.is_down = True
        return is_done

    env.store.replace = once  # type: ignore[method-assign]  # goes down after the first
    assert await refusal(rewrapper.rewrap([ACME])) is Code.KEYS_UNAVAILABLE
    assert env.rows()[FINGERPRINT].wrapped != first
    env.store.replace, env.store.is_down = answer, False  # type: ignore[method-assign]
    done = await rewrapper.rewrap([ACME])
    assert (done.rewrapped, done.present) == (2, 1)


async def test_a_key_that_does_not_unwrap_is_reported_and_left_alone() -> None:
    env = TenantsEnv()
    await _used(env)
    env.store.alter(ACME, content_key(1), b"altered")
    done = await KeyRewrapper(env.store, env.kms).rewrap([ACME])
    assert (done.rewrapped, len(done.failed)) == (2, 1)
    assert done.failed[0].startswith("acme content-0000000001: ")
    assert env.rows()[content_key(1)].wrapped == b"altered"


async def test_a_key_that_another_operator_rewrapped_meanwhile_is_not_overwritten() -> None:
    env = TenantsEnv()
    await _used(env)
    rows = dict(env.rows())
    rewrapper = KeyRewrapper(env.store, env.kms)
    await rewrapper.rewrap([ACME])
    theirs = dict(env.rows())

    async def read_before(*_: object) -> list[object]:
        return list(rows.values())

    env.store.list = read_before  # type: ignore[assignment,method-assign]
    done = await rewrapper.rewrap([ACME])
    assert (done.rewrapped, done.present, env.rows()) == (0, 3, theirs)


async def test_a_key_service_that_returns_another_key_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    env = TenantsEnv()
    content = await _used(env)

    async def another(_: bytes, context: Mapping[str, str], /) -> GeneratedKey:
        return await env.kms.generate(context)

    monkeypatch.setattr(env.kms, "rewrap", another)
    done = await KeyRewrapper(env.store, env.kms).rewrap([ACME])
    assert (done.rewrapped, len(done.failed)) == (0, 3)
    assert await opened(env.process(), content) == b"before"
