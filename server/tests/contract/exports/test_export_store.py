"""The rows of exports on both engines."""

from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from msgspec.structs import replace

from tidings.exports.model import Export, ExportCounts, ExportId, ExportState
from tidings.exports.store.exports import DynamoExportStore

FIRST, SECOND = ExportId("01M7Q7YT1FMEJH4B4KBTWBBXBZ"), ExportId("01M7Q7YT1FMEJH4B4KBTWBBXC0")


def export(env: UseCaseEnv) -> Export:
    return Export(
        tenant=env.tenant, user=ANNA, id=FIRST, requested_ms=env.clock.now_ms(), requested_by="api_key:k"
    )


async def test_an_export_is_stored_as_given_and_replaced_only_by_who_has_read_it(
    use_cases: UseCaseEnv,
) -> None:
    store, first = DynamoExportStore(use_cases.client), export(use_cases)
    assert await store.read(use_cases.tenant, ANNA) is None
    assert await store.create(first, None) == first
    second = replace(first, id=SECOND)
    assert await store.create(second, None) == first
    assert await store.create(second, first) == second
    assert await store.create(second, first) == second, "a repeat finds its own export"
    assert await store.create(replace(first, id=ExportId("01M7Q7YT1FMEJH4B4KBTWBBXC1")), first) == second
    assert await store.read(use_cases.tenant, ANNA) == second
    assert await store.read(use_cases.tenant, BEN) is None
    await store.delete(use_cases.tenant, ANNA)
    assert await store.read(use_cases.tenant, ANNA) is None


async def test_only_the_worker_of_the_last_turn_stores_progress(use_cases: UseCaseEnv) -> None:
    store, first = DynamoExportStore(use_cases.client), export(use_cases)
    await store.create(first, None)
    taken = await store.take(first)
    assert taken == replace(first, turn=1)
    assert await store.take(first) is None
    cursor = replace(taken, cursor=b"{}", counts=ExportCounts(chats=2, entries=7))
    assert await store.save(cursor)
    assert await store.take(taken) is None, "the turn before has gone on since it was read"
    later = await store.take(cursor)
    assert later is not None
    assert not await store.save(replace(cursor, cursor=b"other"))
    assert await store.read(use_cases.tenant, ANNA) == later
    ready = replace(later, state=ExportState.READY, cursor=None, finished_ms=9, archive_bytes=5, failure="x")
    assert await store.save(ready)
    assert await store.read(use_cases.tenant, ANNA) == ready
    assert await store.take(ready) is None, "it is over"
    assert not await store.save(ready)


async def test_a_deleted_export_is_not_stored_again(use_cases: UseCaseEnv) -> None:
    store, first = DynamoExportStore(use_cases.client), export(use_cases)
    await store.create(first, None)
    taken = await store.take(first)
    assert taken is not None
    await store.delete(use_cases.tenant, ANNA)
    assert not await store.save(replace(taken, state=ExportState.READY))
    assert await store.take(first) is None
    assert await store.read(use_cases.tenant, ANNA) is None
