"""The progress of erasures on both engines, next to the list of erased users in the same table."""

from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from msgspec.structs import replace

from tidings.erasure.model import Erasure, ErasureCursor, ErasureId, ErasureStep
from tidings.erasure.store import DynamoErasureStore
from tidings.kernel.ids import ChatId
from tidings.tenants.store import DynamoUserKeyStore


def erasure(env: UseCaseEnv) -> Erasure:
    return Erasure(
        tenant=env.tenant,
        user=ANNA,
        id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXBZ"),
        requested_ms=env.clock.now_ms(),
        requested_by="operator:eve",
        secret=b"s" * 32,
        step_ms=5,
    )


async def test_an_erasure_is_stored_as_given_and_created_once(use_cases: UseCaseEnv) -> None:
    store, first = DynamoErasureStore(use_cases.client), erasure(use_cases)
    assert await store.read(use_cases.tenant, ANNA) is None
    assert await store.create(first, None) == first
    assert await store.create(replace(first, id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXC0")), None) == first
    assert await store.read(use_cases.tenant, ANNA) == first
    assert await store.read(use_cases.tenant, BEN) is None


async def test_only_one_of_two_workers_stores_the_next_version(use_cases: UseCaseEnv) -> None:
    store, first = DynamoErasureStore(use_cases.client), erasure(use_cases)
    await store.create(first, None)
    cursor = ErasureCursor(chat=ChatId("g1"), sequence=7, named_at=3, part=2, after="x")
    page = replace(first, step=ErasureStep.CHATS, cursor=cursor, counts={"messages": 7}, version=2)
    assert await store.save(page)
    assert not await store.save(replace(page, counts={"messages": 9}))
    assert await store.read(use_cases.tenant, ANNA) == page
    without = replace(page, secret=None, version=3)
    assert await store.save(without)
    assert await store.read(use_cases.tenant, ANNA) == without


async def test_a_restore_reads_the_list_and_no_progress(use_cases: UseCaseEnv) -> None:
    store, keys = DynamoErasureStore(use_cases.client), DynamoUserKeyStore(use_cases.client)
    requested = await store.create(erasure(use_cases), None)
    at_ms = requested.requested_ms + 1
    await keys.destroy(use_cases.tenant, BEN, at_ms)
    listed = [(ANNA, requested.requested_ms), (BEN, at_ms)]
    assert [found async for found in keys.erased(use_cases.tenant, 0)] == listed
    await keys.destroy(use_cases.tenant, ANNA, requested.requested_ms)
    assert await keys.destroy_again(use_cases.tenant, 0) == 2, "the step `keys` does not list it twice"
