"""The media worker and the sweeper on both engines and a real bucket, killed between every two steps."""

import io
from collections.abc import Awaitable, Callable

import pytest
from fixtures.media_env import MediaEnv, fetch, send
from fixtures.use_cases import ANNA, BEN, asked, code_of
from PIL import Image

from tidings.exports.bucket import ExportObjects
from tidings.kernel.errors import Code
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.media.model import CheckState, MediaFacts, MediaTask, UploadState, object_key
from tidings.media.ports import FileScanner
from tidings.media.sandbox import run_decoder
from tidings.media.store.sweep_lease import LEASE_MS, DynamoSweepLease
from tidings.media.sweeper import LeaseLostError, MediaSweeper, SweeperDeps, SweepStats
from tidings.media.worker import MediaStats, MediaWorker, MediaWorkerDeps


class KilledError(Exception):
    """Stands for a process that ends here."""


class Kill(Failpoints):
    """Ends the worker at the n-th step, and never again."""

    def __init__(self, at: int = 10**9) -> None:
        self.left = at

    async def hit(self, name: str, /) -> None:
        self.left -= 1
        if self.left == 0:
            raise KilledError(name)


async def _strips(_: TenantId) -> bool:
    return True


def worker(
    media: MediaEnv, kill: Failpoints | None = None, scanner: FileScanner | None = None
) -> MediaWorker:
    deps = MediaWorkerDeps(
        uploads=media.uploads,
        objects=media.bucket,
        decode=run_decoder,
        strips_metadata=_strips,
        scanner=scanner,
        failpoints=kill or Failpoints(),
    )
    return MediaWorker(deps, MediaStats())


def sweeper(
    media: MediaEnv,
    erased: frozenset[UserId] = frozenset(),
    kill: Failpoints | None = None,
    lease: DynamoSweepLease | None = None,
) -> MediaSweeper:
    async def tenants() -> list[TenantId]:
        return [media.tenant]

    async def is_erased(_: TenantId, user: UserId) -> bool:
        return user in erased

    def fail(_: str, error: BaseException) -> None:
        raise error

    deps = SweeperDeps(
        uploads=media.uploads,
        objects=media.bucket,
        tasks=media.tasks,
        worker=worker(media, kill),
        clock=media.use_cases.clock,
        list_tenants=tenants,
        is_erased=is_erased,
        sweep_exports=lambda tenant: ExportObjects(media.bucket).sweep(
            tenant, media.use_cases.clock.now_ms(), is_erased
        ),
        on_error=fail,
        lease=lease,
        failpoints=kill or Failpoints(),
    )
    return MediaSweeper(deps)


def jpeg() -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "secret-place"
    out = io.BytesIO()
    Image.new("RGB", (64, 48), (10, 200, 30)).save(out, "JPEG", exif=exif)
    return out.getvalue()


def process(media: MediaEnv, upload: str) -> MediaTask:
    return MediaTask(tenant=media.tenant, upload=upload, action="process")


async def until_done(make: Callable[[int], Awaitable[object]]) -> int:
    """Run something that is killed at its first step, then at its second, until it ends. Return the number of kills."""
    for at in range(1, 50):
        try:
            await make(at)
        except KilledError:
            continue
        return at - 1
    raise AssertionError("did not end")


async def test_an_image_is_replaced_by_one_without_metadata(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, jpeg(), type_="image/jpeg", name="beach.jpg")
    sequence = await media.message(chat, upload)
    await worker(media).run(process(media, upload.id))
    now = await media.now(upload)
    assert (now.check, now.facts.width, now.facts.height) == (CheckState.READY, 64, 48)
    assert await media.keys() == sorted([now.clean, now.thumbnail])
    link = await media.service.link(chat, BEN, sequence, upload.id)
    status, body, headers = await fetch(link.url)
    assert status == 200
    assert b"secret-place" not in body
    assert headers["Content-Type"] == "image/jpeg"
    assert headers["Content-Disposition"].startswith("inline; ")
    assert link.thumbnail_url is not None
    assert (await fetch(link.thumbnail_url))[0] == 200


async def test_processing_survives_a_kill_after_every_step(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, jpeg(), type_="image/jpeg")
    await media.message(chat, upload)
    kills = await until_done(lambda at: worker(media, Kill(at)).run(process(media, upload.id)))
    assert kills >= 2
    now = await media.now(upload)
    assert now.check is CheckState.READY
    assert await media.keys() == sorted([now.clean, now.thumbnail])


async def test_deletion_after_a_redaction_survives_a_kill_after_every_step(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, jpeg(), type_="image/jpeg")
    sequence = await media.message(chat, upload)
    await worker(media).run(process(media, upload.id))
    await media.use_cases.change.redact(asked(chat, ANNA, sequence))
    task = MediaTask(tenant=media.tenant, upload=upload.id, action="delete")
    kills = await until_done(lambda at: worker(media, Kill(at)).run(task))
    assert kills >= 3
    assert await media.keys() == []
    assert await media.uploads.find(media.tenant, upload.id) is None
    assert await media.uploads.total_bytes(media.tenant) == 0


async def test_bytes_that_do_not_match_the_checksum_are_refused(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    await media.bucket.put(upload.original, b"HELLO, ATTACHMENT", "text/plain")
    await worker(media).run(process(media, upload.id))
    now = await media.now(upload)
    assert now.check is CheckState.REFUSED
    assert "checksum" in (now.facts.reason or "")


async def test_a_sweep_of_a_consistent_bucket_changes_nothing(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    attached, free = await media.put(chat, jpeg()), await media.put(chat)
    await media.message(chat, attached)
    for each in (attached, free):
        await worker(media).run(process(media, each.id))
    pending = (await media.start(chat)).upload
    before = await media.keys()
    assert await sweeper(media).sweep_all() == SweepStats(rows=3, objects=3)
    assert await media.keys() == before
    assert (await media.now(pending)).state is UploadState.PENDING


async def test_a_sweep_deletes_objects_without_a_row_and_reports_rows_without_an_object(
    media: MediaEnv,
) -> None:
    chat = await media.use_cases.group(BEN)
    kept, lost = await media.put(chat), await media.put(chat)
    await media.message(chat, lost)
    await media.bucket.delete(lost.original)
    orphan = object_key(media.tenant, new_ulid(), "clean")
    await media.bucket.put(orphan, b"x", "text/plain")
    found = await sweeper(media).sweep_all()
    assert (found.orphans, found.missing) == (1, 1)
    assert await media.keys() == [kept.original]


async def test_an_upload_that_no_message_refers_to_expires_and_one_of_a_message_does_not(
    media: MediaEnv,
) -> None:
    chat = await media.use_cases.group(BEN)
    attached, free = await media.put(chat), await media.put(chat)
    sequence = await media.message(chat, attached)
    pending = (await media.start(chat)).upload
    media.use_cases.clock.ahead_ms = 2 * 86_400_000
    assert (await sweeper(media).sweep_all()).expired == 2
    assert await media.keys() == [attached.original]
    for each in (free, pending):
        assert await media.uploads.find(media.tenant, each.id) is None
    await media.service.link(chat, ANNA, sequence, attached.id)
    assert media.tasks.published[-1] == process(media, attached.id), "it was not processed yet"


async def test_a_file_that_arrives_after_its_upload_expired_is_deleted_by_the_next_sweep(
    media: MediaEnv,
) -> None:
    chat = await media.use_cases.group(BEN)
    started = await media.start(chat)
    assert started.put is not None
    media.use_cases.clock.ahead_ms = 2 * 86_400_000
    await sweeper(media).sweep_all()
    assert await send("PUT", started.put.url, b"hello, attachment", started.put.headers) == 200
    assert (await sweeper(media).sweep_all()).orphans == 1
    assert await media.keys() == []
    assert (
        await code_of(media.service.complete(media.tenant, ANNA, started.upload.id)) is Code.UPLOAD_NOT_FOUND
    )


async def test_the_files_of_an_erased_user_are_deleted(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    annas, bens = await media.put(chat), await media.put(chat, user=BEN)
    await media.message(chat, annas)
    await sweeper(media, erased=frozenset({ANNA})).sweep_all()
    assert await media.keys() == [bens.original]


async def test_multipart_uploads_without_a_row_are_aborted(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    body = b"v" * (16 * 1024 * 1024 + 1)
    used = (await media.start(chat, body)).upload
    stray = object_key(media.tenant, new_ulid(), "original")
    await media.bucket.start_multipart(stray, "video/mp4")
    assert (await sweeper(media).sweep_all()).aborted == 0, "it may get its row soon"
    media.use_cases.clock.ahead_ms = 3_600_000
    assert (await sweeper(media).sweep_all()).aborted == 1
    assert [found.key async for found in media.bucket.open_multiparts(f"{media.tenant}/")] == [used.original]


async def test_redaction_of_an_expired_upload_leaves_nothing_after_the_next_sweep(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    sequence = await media.message(chat, upload, ttl_s=60)
    media.use_cases.clock.ahead_ms = 120_000
    await sweeper(media).sweep_all()
    assert await media.keys() == []
    await media.use_cases.change.redact(asked(chat, ANNA, sequence))
    await sweeper(media).sweep_all()
    assert await media.uploads.find(media.tenant, upload.id) is None
    assert await media.uploads.total_bytes(media.tenant) == 0


@pytest.mark.parametrize("at", range(1, 5))
async def test_a_killed_sweep_is_finished_by_the_next(media: MediaEnv, at: int) -> None:
    chat = await media.use_cases.group(BEN)
    uploads = [await media.put(chat) for _ in range(2)]
    media.use_cases.clock.ahead_ms = 2 * 86_400_000
    with pytest.raises(KilledError):
        await sweeper(media, kill=Kill(at)).sweep_all()
    await sweeper(media).sweep_all()
    assert await media.keys() == []
    assert not await media.uploads.find_many(media.tenant, [upload.id for upload in uploads])


def lease(media: MediaEnv, holder: str) -> DynamoSweepLease:
    return DynamoSweepLease(media.use_cases.client, media.use_cases.clock, holder, name=media.tenant)


async def test_one_worker_sweeps_and_another_takes_over_when_it_does_not_renew_its_lease(
    media: MediaEnv,
) -> None:
    clock, one, other = media.use_cases.clock, lease(media, "one"), lease(media, "other")
    assert await one.take()
    assert not await other.take()
    clock.ahead_ms += LEASE_MS * 3 // 4
    assert await one.take(), "renewed"
    clock.ahead_ms += LEASE_MS // 2
    assert not await other.take()
    clock.ahead_ms += LEASE_MS
    assert await other.take(), "the first one was killed"
    await media.put(await media.use_cases.group())
    with pytest.raises(LeaseLostError):
        await sweeper(media, lease=one).sweep_all()


async def test_after_a_sweep_all_workers_wait_for_half_an_interval(media: MediaEnv) -> None:
    clock, one, other = media.use_cases.clock, lease(media, "one"), lease(media, "other")
    first, second = sweeper(media, lease=one), sweeper(media, lease=other)
    await media.put(await media.use_cases.group())
    await first.sweep_in_turn()
    clock.ahead_ms += 1_000_000
    for each in (first, second):
        await each.sweep_in_turn()
    assert (first.stats.rows, second.stats.rows) == (1, 0)
    assert second.finished_at_ms == first.finished_at_ms
    clock.ahead_ms += 1_000_000
    await second.sweep_in_turn()
    assert (first.stats.rows, second.stats.rows) == (1, 1)


async def test_the_first_result_of_a_file_stays(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, jpeg(), type_="image/jpeg")
    slow = MediaFacts(reason="the file cannot be processed within the limits")
    await worker(media).run(process(media, upload.id))
    assert not await media.uploads.record_facts(upload, CheckState.REFUSED, slow)
    now = await media.now(upload)
    assert await media.uploads.record_facts(upload, CheckState.READY, now.facts), "a repeated attempt"
    assert now.check is CheckState.READY


async def test_a_worker_whose_result_is_not_the_first_leaves_the_objects_of_the_first(
    media: MediaEnv,
) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, jpeg(), type_="image/jpeg")
    await media.message(chat, upload)

    class Overtaken(Failpoints):
        async def hit(self, name: str, /) -> None:
            if name == "media.objects_written":
                facts = MediaFacts(type="image/jpeg", has_thumbnail=True, width=1, height=1)
                await media.uploads.record_facts(upload, CheckState.READY, facts)

    await worker(media, Overtaken()).run(process(media, upload.id))
    assert (await sweeper(media).sweep_all()).missing == 0
    now = await media.now(upload)
    assert await media.keys() == sorted([now.original, now.thumbnail])
