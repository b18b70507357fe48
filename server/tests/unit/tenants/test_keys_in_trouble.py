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
    run,
    sealed,
)

from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId
from tidings.tenants.key_ring import RETRY_S
from tidings.tenants.model import FINGERPRINT

OTHER = TenantId("other")


def test_who_has_keys_goes_on_while_the_table_is_away_and_looks_again_soon() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        content = await sealed(process, b"hello")
        world.store.is_down = True
        world.clock.now_s += REFRESH_S
        assert await opened(process, content) == b"hello"
        looks = world.store.lists
        await sealed(process, b"more")
        assert world.store.lists == looks, "not at every message"
        world.clock.now_s += RETRY_S
        world.store.is_down = False
        await sealed(process, b"more")
        assert world.store.lists == looks + 1

    run(check())


def test_who_has_none_is_told_to_try_again() -> None:
    async def check() -> None:
        for part in ("store", "kms"):
            world = TenantsEnv()
            getattr(world, part).is_down = True
            process = world.process()
            assert await refusal(process.of(ACME)) is Code.KEYS_UNAVAILABLE
            getattr(world, part).is_down = False
            assert (await process.of(ACME)).active_version == 1

    run(check())


def test_a_key_that_is_due_seals_on_while_the_key_service_is_away() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        await process.of(ACME)
        world.kms.is_down = True
        world.clock.now_s += 91 * 86_400
        assert (await process.of(ACME)).active_version == 1
        world.kms.is_down = False
        world.clock.now_s += REFRESH_S
        assert (await process.of(ACME)).active_version == 2

    run(check())


def test_a_key_that_is_due_seals_on_while_no_new_one_can_be_made() -> None:
    async def check() -> None:
        world = TenantsEnv()
        await world.process().of(ACME)
        world.kms.makes_no_more = True
        world.clock.now_s += 91 * 86_400
        assert (await world.process().of(ACME)).active_version == 1

    run(check())


def test_a_key_of_another_length_is_not_used() -> None:
    async def check() -> None:
        world = TenantsEnv()
        await world.process().of(ACME)
        world.kms.made = {
            wrapped: (made_for, key[:16]) for wrapped, (made_for, key) in world.kms.made.items()
        }
        assert await refusal(world.process().of(ACME)) is Code.KEYS_UNAVAILABLE

    run(check())


def test_a_key_service_that_cannot_unwrap_what_is_there_wraps_nothing_new() -> None:
    """A wrong key file must not create the next key: a tenant would have keys of two master keys."""

    async def check() -> None:
        world = TenantsEnv()
        await world.process().of(ACME)
        rows = dict(world.rows())
        world.clock.now_s += 91 * 86_400
        world.kms = MemoryKms({b"another": ("", b"")})
        assert await refusal(world.process().of(ACME)) is Code.KEYS_UNAVAILABLE
        assert await refusal(world.process().rotate(ACME)) is Code.KEYS_UNAVAILABLE
        assert world.rows() == rows

    run(check())


async def three_keys(world: TenantsEnv) -> list[bytes]:
    writer = world.process()
    contents = [await sealed(writer, b"1")]
    for n in (2, 3):
        await writer.rotate(ACME)
        contents.append(await sealed(writer, b"%d" % n))
    return contents


def test_an_older_key_that_was_altered_makes_unreadable_what_it_sealed_and_nothing_else() -> None:
    async def check() -> None:
        world = TenantsEnv()
        contents = await three_keys(world)
        world.store.alter(ACME, content_key(2), b"altered")
        reader = world.process()
        keys = await reader.to_read(ACME, contents)
        assert keys.unseal(CHAT, 1, contents[0]) == b"1"
        assert keys.unseal(CHAT, 1, contents[2]) == b"3"
        unwraps, lists = world.kms.unwraps, world.store.lists
        assert await refusal(opened(reader, contents[1])) is Code.DECRYPTION_FAILED
        assert (world.kms.unwraps, world.store.lists) == (unwraps, lists), "asked again for nothing"

    run(check())


def test_a_wrapped_key_under_another_version_or_in_another_tenant_does_not_unwrap() -> None:
    async def check() -> None:
        world = TenantsEnv()
        await three_keys(world)
        await world.process().of(OTHER)
        first = world.rows()[content_key(1)].wrapped
        for victim, newest in ((ACME, content_key(3)), (OTHER, content_key(1))):
            world.store.alter(victim, newest, first)
            assert await refusal(world.process().of(victim)) is Code.KEYS_UNAVAILABLE

    run(check())


def test_a_fingerprint_key_that_is_gone_is_not_replaced_in_silence() -> None:
    async def check() -> None:
        world = TenantsEnv()
        await world.process().of(ACME)
        del world.rows()[FINGERPRINT]
        assert await refusal(world.process().of(ACME)) is Code.KEYS_UNAVAILABLE
        assert world.rows().keys() == {content_key(1)}

    run(check())


def test_a_process_that_died_between_the_two_first_keys_is_finished_by_the_next() -> None:
    async def check() -> None:
        world = TenantsEnv()
        await world.process().of(ACME)
        before = (await world.process().of(ACME)).fingerprint(b"hello")
        del world.rows()[content_key(1)]
        keys = await world.process().of(ACME)
        assert keys.fingerprint(b"hello") == before
        assert keys.active_version == 1

    run(check())


def test_a_tenant_that_was_made_anew_gets_its_new_keys_within_the_bound() -> None:
    async def check() -> None:
        world = TenantsEnv()
        process = world.process()
        old = await sealed(process, b"old")
        world.rows().clear()
        await world.process().of(ACME)
        world.clock.now_s += REFRESH_S
        assert await refusal(opened(process, old)) is Code.DECRYPTION_FAILED
        assert await opened(world.process(), await sealed(process, b"new")) == b"new"

    run(check())
