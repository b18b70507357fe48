"""An export as a job: its archive in the bucket is complete, although its workers die at every step, and it is deleted."""

from typing import Any

import pytest
from contract.exports.test_export import check_is_complete, check_manifest, entries_by_chat
from contract.media.test_worker import sweeper
from fixtures.export_env import ExportEnv
from fixtures.kill_at import KillAt, KilledError
from fixtures.media_env import fetch
from fixtures.use_cases import ANNA, BEN, CLEO, code_of

from tidings.accounts.model import Scope
from tidings.exports import bucket, exporter, worker
from tidings.exports.rules import KEPT_MS, MAX_RUN_MS, archive_key
from tidings.exports.store.exports import DynamoExportStore
from tidings.jobs.model import ChunkRef, JobState
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, UserId

MIB = 1024 * 1024


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "PAGE_ENTRIES", 3)
    monkeypatch.setattr(exporter, "READ_ENTRIES", 2)
    monkeypatch.setattr(exporter, "STEP_CHATS", 2)


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """End a turn after one step."""
    monkeypatch.setattr(worker, "RUN_MS", 0)


@pytest.mark.usefixtures("small_steps", "short_turns")
async def test_the_archive_in_the_bucket_has_what_the_user_can_read(exports: ExportEnv) -> None:
    await exports.populate()
    ref = await exports.request(BEN)
    await exports.finish(ref)
    archive = await exports.download(BEN)
    await check_is_complete(exports, archive, BEN)
    shown = await exports.shown(BEN)
    assert shown["counts"] == archive.json("manifest.json")["counts"]
    assert shown["counts"]["attachments"] == 1
    jobs = exports.api.notifications.jobs
    progress = await jobs.progress(ref.tenant, ref.job)
    assert (progress.state, progress.done, progress.failed) == (JobState.DONE, 1, 0)
    (only,) = await exports.objects()
    assert only.endswith(f"/{ref.job}/archive.zip"), "no parts are left"


@pytest.mark.usefixtures("small_steps")
async def test_workers_may_die_at_every_step_while_members_send(exports: ExportEnv) -> None:
    chats = await exports.populate()
    ref, reached = await exports.request(BEN), set[str]()
    deaths = 0
    while True:
        # Every worker dies at another failpoint than the one before, so each step is repeated.
        failpoints = KillAt(2 + deaths % 3)
        try:
            await exports.worker(failpoints).process(ref)
        except KilledError as death:
            deaths, reached = deaths + 1, reached | {str(death)}
            await exports.say(chats["direct"], ANNA, f"meanwhile {deaths}")
            if "exports.file_added" in reached:
                break
    # The archive is written in one turn: each worker dies at the next failpoint.
    nth = 2
    while not await exports.is_done(ref):
        try:
            await exports.worker(KillAt(nth)).process(ref)
        except KilledError as death:
            nth, reached = nth + 1, reached | {str(death)}
    assert reached == {
        *("exports.parts_stored", "exports.step_done", "exports.file_added", "exports.part_uploaded"),
        *("exports.archive_stored", "exports.ended", "exports.object_deleted"),
    }
    archive = await exports.download(BEN)
    check_manifest(archive)
    entries, reader = entries_by_chat(archive), exports.api.user(BEN)
    for name in ("rejoined", "left"):
        chat = chats[name].chat
        assert entries[chat] == await exports.readable_entries(reader, chat)
    direct = [each["id"] for each in entries[chats["direct"].chat]]
    now = await exports.readable_entries(reader, chats["direct"].chat)
    assert direct == [each["id"] for each in now[: len(direct)]]
    assert archive.files["index.html"].count(b"<tr><td>") == 3
    assert len(await exports.objects()) == 1
    assert [each async for each in exports.media.bucket.open_multiparts("")] == []


class KillOn(Failpoints):
    """Ends the process at a failpoint."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def hit(self, name: str, /) -> None:
        if name == self.name:
            raise KilledError(name)


class Overtaken(Failpoints):
    """Lets another worker run a turn while this one is between the parts and the cursor of a step.

    Messages arrive in between, so the step of the other worker can have other entries.
    """

    def __init__(self, env: ExportEnv, ref: ChunkRef, *chats: ChatKey) -> None:
        self.env, self.ref, self.chats, self.count = env, ref, chats, 0

    async def hit(self, name: str, /) -> None:
        if name == "exports.parts_stored":
            self.count += 1
            for chat in self.chats:
                await self.env.say(chat, ANNA, "meanwhile")
            await self.env.worker().process(self.ref)


@pytest.mark.usefixtures("small_steps", "short_turns")
async def test_a_worker_that_was_overtaken_adds_nothing_to_the_archive(exports: ExportEnv) -> None:
    chats = await exports.populate()
    ref, overtaken = await exports.request(BEN), 0
    while not await exports.is_done(ref):
        slow = Overtaken(exports, ref, chats["direct"], chats["rejoined"])
        await exports.worker(slow).process(ref)
        assert slow.count <= 1, "it stops when it cannot store its cursor"
        overtaken += slow.count
    assert overtaken > 5
    archive = await exports.download(BEN)
    check_manifest(archive)
    for chat, lines in entries_by_chat(archive).items():
        sequences = [line["sequence"] for line in lines]
        assert sequences == sorted(set(sequences)), chat
    assert archive.files["index.html"].count(b"<tr><td>") == 3


async def test_a_large_archive_is_uploaded_in_parts(
    exports: ExportEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "UPLOAD_BYTES", 5 * MIB)
    chat = await exports.use_cases.group(BEN)
    body = bytes(range(256)) * (11 * MIB // 256)
    await exports.media.message(chat, await exports.media.put(chat, body))
    await exports.api.settle()
    ref, failpoints = await exports.request(ANNA), KillAt()
    await exports.worker(failpoints).process(ref)
    assert failpoints.reached.count("exports.part_uploaded") == 3
    archive = await exports.download(ANNA)
    check_manifest(archive)
    (file,) = archive.lines("media.jsonl")
    assert archive.files[file["file"]] == body


async def test_one_export_of_a_user_runs_at_a_time(exports: ExportEnv) -> None:
    await exports.populate()
    server, first = exports.api.server(Scope.USERS), await exports.request(BEN)
    assert await exports.request(BEN) == first, "a repeated request returns the export that runs"
    other = await exports.request(ANNA)
    assert other.job != first.job
    await exports.finish(first)
    assert (await server.ok("GET", f"/v1/users/{ANNA}/export"))["state"] == "running"
    second = await exports.request(BEN)
    assert second.job > first.job
    await exports.worker().process(first)
    await exports.finish(second)
    (kept,) = await exports.objects()
    assert f"/{second.job}/" in kept, "the archive of the earlier export is deleted"


async def test_the_end_of_an_export_leaves_the_parts_of_a_later_one(exports: ExportEnv) -> None:
    await exports.populate()
    first = await exports.request(BEN)
    with pytest.raises(KilledError):
        await exports.worker(KillOn("exports.ended")).process(first)
    over = await DynamoExportStore(exports.use_cases.client).read(first.tenant, BEN)
    assert over is not None
    second = await exports.request(BEN)
    with pytest.raises(KilledError):
        await exports.worker(KillOn("exports.step_done")).process(second)
    parts = [key for key in await exports.objects() if f"/{second.job}/" in key]
    # A worker of the first export that was slow.
    await bucket.ExportObjects(exports.media.bucket).delete_leftovers(over)
    assert set(await exports.objects()) == {*parts, archive_key(over)}
    await exports.worker().process(first)
    assert await exports.objects() == parts, "the archive of a replaced export is deleted"
    assert await exports.is_done(first)
    await exports.finish(second)
    await check_is_complete(exports, await exports.download(BEN), BEN)


async def test_a_link_is_short_lived_and_an_archive_expires(exports: ExportEnv) -> None:
    await exports.populate()
    await exports.finish(await exports.request(BEN))
    clock, shown = exports.use_cases.clock, await exports.shown(BEN)
    assert "X-Amz-Expires=300" in shown["url"]
    unsigned = shown["url"].partition("?")[0]
    assert (await fetch(unsigned))[0] == 403
    clock.ahead_ms += KEPT_MS - 100_000
    shown = await exports.shown(BEN)
    life_s = int(shown["url"].partition("X-Amz-Expires=")[2].partition("&")[0])
    assert 80 <= life_s <= 100, "a link does not outlive the archive"
    assert shown["url_expires_at"] <= shown["expires_at"]
    clock.ahead_ms += 200_000
    shown = await exports.shown(BEN)
    assert shown["state"] == "expired"
    assert "url" not in shown


async def test_the_sweeper_deletes_expired_archives_and_those_of_erased_users(exports: ExportEnv) -> None:
    await exports.populate()
    for user in (ANNA, BEN):
        await exports.finish(await exports.request(user))
    await exports.request(CLEO)
    with pytest.raises(KilledError):
        await exports.worker(KillAt(4)).process(await exports.request(CLEO))
    multipart = f"{exports.use_cases.tenant}/exports/{BEN}/{(await exports.shown(BEN))['id']}/archive.zip"
    await exports.media.bucket.start_multipart(multipart, "application/zip")
    before = await exports.objects()
    found = await sweeper(exports.media, frozenset({ANNA})).sweep(exports.use_cases.tenant)
    assert found.exports == 1, "of the erased user"
    exports.use_cases.clock.ahead_ms += KEPT_MS - 60_000
    assert (await sweeper(exports.media).sweep(exports.use_cases.tenant)).exports == 0
    exports.use_cases.clock.ahead_ms += 120_000
    found = await sweeper(exports.media).sweep(exports.use_cases.tenant)
    assert found.exports == len(before) - 1
    assert await exports.objects() == []
    assert [each async for each in exports.media.bucket.open_multiparts(multipart)] == []


async def test_an_export_that_takes_too_long_fails_before_its_parts_are_swept(exports: ExportEnv) -> None:
    await exports.populate()
    ref = await exports.request(BEN)
    with pytest.raises(KilledError):
        await exports.worker(KillAt(4)).process(ref)
    exports.use_cases.clock.ahead_ms += MAX_RUN_MS
    await exports.worker().process(ref)
    shown = await exports.shown(BEN)
    assert (shown["state"], shown["failure"]) == ("failed", "timed_out")
    assert await exports.is_done(ref)
    assert await exports.objects() == []
    assert (await exports.request(BEN)).job != ref.job


async def test_an_export_whose_parts_are_gone_fails(exports: ExportEnv) -> None:
    await exports.populate()
    ref = await exports.request(BEN)
    with pytest.raises(KilledError):
        await exports.worker(KillAt(5)).process(ref)
    for key in await exports.objects():
        await exports.media.bucket.delete(key)
    await exports.worker().process(ref)
    shown = await exports.shown(BEN)
    assert (shown["state"], shown["failure"]) == ("failed", "internal")
    progress = await exports.api.notifications.jobs.progress(ref.tenant, ref.job)
    assert (progress.done, progress.failed) == (0, 1)


async def test_an_export_of_an_erased_user_leaves_nothing(exports: ExportEnv) -> None:
    """A worker that runs while the erasure deletes the export deletes what it has stored."""
    await exports.populate()
    ref = await exports.request(BEN)
    store = DynamoExportStore(exports.use_cases.client)

    class Erased(Failpoints):
        async def hit(self, name: str, /) -> None:
            if name == "exports.archive_stored":
                eraser = bucket.ExportEraser(store, bucket.ExportObjects(exports.media.bucket))
                assert await eraser.delete_user(ref.tenant, BEN) > 1
                await exports.media.bucket.put(key, b"too late", "application/zip")

    before = await store.read(ref.tenant, BEN)
    assert before is not None
    key = archive_key(before)
    await exports.worker(Erased()).process(ref)
    assert await exports.is_done(ref)
    assert await exports.objects() == []
    assert await store.read(ref.tenant, BEN) is None


async def test_users_who_do_not_exist_or_are_being_erased_are_not_exported(exports: ExportEnv) -> None:
    await exports.populate()
    server = exports.api.server(Scope.USERS)
    assert await server.code("POST", "/v1/users/nobody/export") is Code.USER_NOT_FOUND
    assert await server.code("GET", f"/v1/users/{BEN}/export") is Code.JOB_NOT_FOUND
    await server.ok("DELETE", f"/v1/users/{BEN}")
    assert await server.code("POST", f"/v1/users/{BEN}/export") is Code.USER_NOT_FOUND
    await exports.request(UserId("dora"))  # Has no profile, only chats.


async def test_an_export_can_be_paused_and_not_cancelled(exports: ExportEnv) -> None:
    await exports.populate()
    ref, jobs = await exports.request(BEN), exports.api.notifications.jobs
    assert await code_of(jobs.cancel(ref.tenant, ref.job)) is Code.NO_CHANGE
    await jobs.pause(ref.tenant, ref.job)
    await exports.worker().process(ref)
    assert await exports.objects() == []
    await jobs.resume(ref.tenant, ref.job)
    exports.api.chunks.take()
    await exports.finish(ref)


async def test_a_bucket_that_does_not_answer_is_tried_again(
    exports: ExportEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    await exports.populate()
    ref = await exports.request(BEN)

    async def unavailable(*_: object, **__: object) -> Any:
        raise UnavailableError("S3: it is down")

    with monkeypatch.context() as patched:
        patched.setattr(exports.media.bucket, "put", unavailable)
        with pytest.raises(TidingsError) as refused:
            await exports.worker().process(ref)
    assert refused.value.retryable
    await exports.finish(ref)
    await check_is_complete(exports, await exports.download(BEN), BEN)
