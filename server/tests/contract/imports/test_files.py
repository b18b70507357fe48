"""Files of imported messages on a real bucket: rows and objects as of other uploads, repeats, and continued imports."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.imports.test_import import (
    Lines,
    chat_lines,
    deps_of,
    group_key,
    header,
    message,
    placed,
    stored,
)
from contract.media.test_worker import jpeg, sweeper, worker
from fixtures.media_env import MediaEnv, fetch
from fixtures.use_cases import ANNA, BEN, asked, code_of

from tidings.app.wiring.imports import ProductChecks
from tidings.imports.importer import Importer
from tidings.imports.model import ImportStats
from tidings.imports.ports import ImportDeps
from tidings.imports.reader import ImportFolder
from tidings.imports.validation import ImportReport, ImportValidator
from tidings.kernel.errors import Code, TidingsError
from tidings.media.file_import import FileImporter
from tidings.media.model import CheckState, Upload, UploadState
from tidings.messages.model import Entry
from tidings.platform.s3.client import S3Client
from tidings.tenants.model import MediaPolicy


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "beach.jpg").write_bytes(jpeg())
    (tmp_path / "notes.txt").write_text("Minutes of the meeting")
    return tmp_path


def lines(*paths: str) -> Lines:
    parts: list[dict[str, Any]] = [{"path": path} for path in paths]
    return [*header(), *chat_lines("C1", 1), message("C1", 2, text="", attachments=parts)]


def file_deps(media: MediaEnv, files: Path) -> ImportDeps:
    checks = ProductChecks(ImportFolder(files), media.policy)
    store = FileImporter(media.uploads, media.bucket, media.tasks, media.policy, media.use_cases.clock).store
    return replace(deps_of(media.use_cases), checks=checks, store_file=store)


async def run(media: MediaEnv, given: Lines, deps: ImportDeps) -> ImportStats:
    report = check(media, given, deps)
    assert report.problems == []
    return await Importer(deps, media.tenant).run(placed(given))


def check(media: MediaEnv, given: Lines, deps: ImportDeps) -> ImportReport:
    return ImportValidator(deps.checks, media.use_cases.clock.now_ms()).validate(placed(given))


async def imported(media: MediaEnv) -> tuple[Entry, list[Upload]]:
    """Return the message with files, and their rows."""
    entry = (await media.use_cases.history.one(group_key(media.use_cases, "C1"), BEN, 3)).entry
    rows = await media.uploads.find_many(media.tenant, entry.attachments)
    return entry, [rows[upload] for upload in entry.attachments]


async def test_files_are_stored_processed_and_downloaded_as_other_uploads(
    media: MediaEnv, files: Path
) -> None:
    done = await run(media, lines("files/beach.jpg", "notes.txt"), file_deps(media, files))
    assert done.attachments == 2
    entry, [photo, notes] = await imported(media)
    for upload in (photo, notes):
        assert (upload.state, upload.owner, upload.sequence) == (UploadState.ATTACHED, ANNA, entry.sequence)
        assert (upload.client_key, upload.expires_ms) == (entry.client_key, None)
    assert (photo.name, photo.type, notes.name, notes.size) == ("beach.jpg", "image/jpeg", "notes.txt", 22)
    assert {task.upload for task in media.tasks.published} == set(entry.attachments)
    await worker(media).handle(media.tasks.published)
    link = await media.service.link(group_key(media.use_cases, "C1"), BEN, entry.sequence, photo.id)
    assert (link.upload.check, link.upload.facts.width) == (CheckState.READY, 64)
    status, body, _ = await fetch(link.url)
    assert (status, b"secret-place" in body) == (200, False)
    assert await media.uploads.total_bytes(media.tenant) == photo.size + notes.size
    swept = await sweeper(media).sweep(media.tenant)
    assert (swept.rows, swept.expired, swept.orphans, swept.missing) == (2, 0, 0, 0)


async def test_a_file_is_deleted_with_its_message(media: MediaEnv, files: Path) -> None:
    await run(media, lines("notes.txt"), file_deps(media, files))
    entry, [notes] = await imported(media)
    await media.use_cases.change.redact(asked(group_key(media.use_cases, "C1"), ANNA, entry.sequence))
    assert (await media.now(notes)).state is UploadState.DELETING
    assert (await run(media, lines("notes.txt"), file_deps(media, files))).attachments == 0
    await sweeper(media).sweep(media.tenant)
    assert await media.keys() == []


async def test_the_content_describes_the_files(media: MediaEnv, files: Path) -> None:
    await run(media, lines("notes.txt"), file_deps(media, files))
    entry, _ = await imported(media)
    shown = await media.use_cases.history.one(group_key(media.use_cases, "C1"), BEN, entry.sequence)
    assert shown.content is not None
    described = {"name": "notes.txt", "type": "text/plain", "size": 22}
    assert shown.content.data == {"attachments": {entry.attachments[0]: described}}


async def test_a_second_import_stores_nothing(media: MediaEnv, files: Path) -> None:
    given = lines("files/beach.jpg", "notes.txt")
    await run(media, given, file_deps(media, files))
    before = await imported(media)
    assert (await run(media, given, file_deps(media, files))).attachments == 0
    assert await imported(media) == before
    assert len(await media.keys()) == 2


class BrokenBucket:
    """Fails before or after a file is stored, like a process that is killed."""

    def __init__(self, bucket: S3Client, *, is_stored: bool) -> None:
        self._bucket, self._is_stored = bucket, is_stored

    async def put_file(self, key: str, path: Path, *, size: int, sha256: str, content_type: str) -> None:
        if self._is_stored:
            await self._bucket.put_file(key, path, size=size, sha256=sha256, content_type=content_type)
        raise TidingsError(Code.OVERLOADED, "killed")


def broken(media: MediaEnv, files: Path, *, is_stored: bool) -> ImportDeps:
    bucket = BrokenBucket(media.bucket, is_stored=is_stored)
    store = FileImporter(media.uploads, bucket, media.tasks, media.policy, media.use_cases.clock).store
    return replace(file_deps(media, files), store_file=store)


@pytest.mark.parametrize("is_stored", [False, True])
async def test_an_interrupted_upload_is_continued_and_counted_once(
    media: MediaEnv, files: Path, *, is_stored: bool
) -> None:
    given = lines("notes.txt")
    stopped = await code_of(run(media, given, broken(media, files, is_stored=is_stored)))
    assert stopped is Code.OVERLOADED
    assert await stored(media.use_cases, group_key(media.use_cases, "C1")) == [], "a message without its file"
    media.use_cases.clock.ahead_ms += 30 * 24 * 3_600_000
    await sweeper(media).sweep(media.tenant)
    assert (await run(media, given, file_deps(media, files))).attachments == 1
    _, [notes] = await imported(media)
    assert notes.state is UploadState.ATTACHED
    assert await media.keys() == [notes.original]
    assert await media.uploads.total_bytes(media.tenant) == notes.size


async def test_files_that_changed_since_an_interruption_are_refused(media: MediaEnv, files: Path) -> None:
    given = lines("notes.txt")
    await code_of(run(media, given, broken(media, files, is_stored=True)))
    (files / "notes.txt").write_text("Other minutes")
    assert await code_of(run(media, given, file_deps(media, files))) is Code.REQUEST_INVALID


async def test_files_above_the_limits_of_the_tenant_are_refused(media: MediaEnv, files: Path) -> None:
    (files / "large.bin").write_bytes(bytes(1024 * 1024 + 1))
    media.policy = MediaPolicy(max_file_mb=1, types=("image/*",))
    reasons = [
        problem.reason
        for path in ("large.bin", "notes.txt", "files/beach.jpg")
        for problem in check(media, lines(path), file_deps(media, files)).problems
    ]
    assert reasons == [
        "The file has 1048577 bytes; 1 to 1048576 are allowed.",
        "Files of the type text/plain are not allowed.",
    ]


async def test_an_import_stops_when_the_tenant_has_no_space_and_continues_with_more(
    media: MediaEnv, files: Path
) -> None:
    for name in ("a.bin", "b.bin"):
        (files / name).write_bytes(bytes(700 * 1024))
    media.policy = MediaPolicy(total_mb=1)
    given = [*lines("a.bin"), message("C1", 3, attachments=[{"path": "b.bin"}])]
    assert await code_of(run(media, given, file_deps(media, files))) is Code.STORAGE_FULL
    media.policy = MediaPolicy(total_mb=2)
    done = await run(media, given, file_deps(media, files))
    assert (done.chats, done.attachments) == (1, 1)


async def test_an_installation_without_a_bucket_refuses_files(media: MediaEnv) -> None:
    [problem] = check(media, lines("notes.txt"), deps_of(media.use_cases)).problems
    assert problem.reason == "This installation has no attachments."
