"""Uploads on both DynamoDB engines and a real bucket: limits, states, parts, deletion."""

import asyncio

import pytest
from fixtures.media_env import MediaEnv, send, sha256_base64
from fixtures.use_cases import ANNA, BEN, CLEO, code_of

from tidings.kernel.errors import Code
from tidings.media.model import PART_BYTES, SINGLE_BYTES, CheckState, PartSum, UploadState
from tidings.tenants.model import MediaPolicy


async def test_an_upload_is_pending_until_the_bucket_has_its_bytes(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    started = await media.start(chat, name="../../etc/pass\u202ewd")
    upload = started.upload
    assert (upload.state, upload.name) == (UploadState.PENDING, "passwd")
    assert await code_of(media.service.complete(media.tenant, ANNA, upload.id)) is Code.UPLOAD_INCOMPLETE
    assert started.put is not None
    assert await send("PUT", started.put.url, b"hello, attachmenT", started.put.headers) >= 400
    assert await send("PUT", started.put.url, b"hello, attachment", started.put.headers) == 200
    for _ in range(2):
        done = await media.service.complete(media.tenant, ANNA, upload.id)
        assert (done.state, done.check) == (UploadState.UPLOADED, CheckState.WAITING)
    assert {task.upload for task in media.tasks.published} == {upload.id}


async def test_an_upload_is_complete_without_kafka_and_a_retry_publishes_it(media: MediaEnv) -> None:
    chat = await media.use_cases.group()
    media.tasks.fails = True
    started = await media.start(chat)
    assert started.put is not None
    assert await send("PUT", started.put.url, b"hello, attachment", started.put.headers) == 200
    await media.service.complete(media.tenant, ANNA, started.upload.id)
    assert media.tasks.published == []
    media.tasks.fails = False
    await media.service.complete(media.tenant, ANNA, started.upload.id)
    assert len(media.tasks.published) == 1


async def test_only_members_who_may_send_start_uploads(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    assert await code_of(media.start(chat, user=CLEO)) is Code.CHAT_NOT_FOUND


async def test_an_upload_is_visible_to_its_owner_only(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = (await media.start(chat)).upload
    for asked in (media.service.progress, media.service.complete, media.service.delete):
        assert await code_of(asked(media.tenant, BEN, upload.id)) is Code.UPLOAD_NOT_FOUND


async def test_the_limits_of_a_tenant_are_kept(media: MediaEnv) -> None:
    chat = await media.use_cases.group()
    media.policy = MediaPolicy(max_file_mb=1, total_mb=1, types=("image/*", "text/plain"))
    assert await code_of(media.start(chat, b"x" * (1024 * 1024 + 1))) is Code.UPLOAD_TOO_LARGE
    assert await code_of(media.start(chat, type_="text/html")) is Code.REQUEST_INVALID
    await media.start(chat, b"x" * 600_000, type_="image/png")
    kept = (await media.start(chat, b"x" * 300_000)).upload
    assert await code_of(media.start(chat, b"x" * 200_000)) is Code.STORAGE_FULL
    assert await media.uploads.total_bytes(media.tenant) == 900_000
    assert await media.uploads.change_state(kept, UploadState.DELETING)
    deleted = await asyncio.gather(*(media.uploads.delete(kept) for _ in range(3)), return_exceptions=True)
    assert deleted.count(True) == 1, deleted
    assert await media.uploads.total_bytes(media.tenant) == 600_000


async def test_a_large_file_is_uploaded_in_parts_and_resumed(media: MediaEnv) -> None:
    chat = await media.use_cases.group()
    body = b"v" * (SINGLE_BYTES + 5)
    started = await media.start(chat, body, type_="video/mp4")
    upload = started.upload
    assert started.put is None
    cut = [body[at : at + PART_BYTES] for at in range(0, len(body), PART_BYTES)]
    sums = [PartSum(number, sha256_base64(part)) for number, part in enumerate(cut, 1)]
    signed = await media.service.sign_parts(media.tenant, ANNA, upload.id, sums)
    assert await send("PUT", signed[0].url, cut[0], signed[0].headers) == 200
    assert await send("PUT", signed[2].url, cut[2], signed[2].headers) == 200
    assert (
        await code_of(media.service.complete(media.tenant, ANNA, upload.id, sums)) is Code.UPLOAD_INCOMPLETE
    )
    progress = await media.service.progress(media.tenant, ANNA, upload.id)
    assert progress.received == ((1, PART_BYTES), (3, 5))
    (second,) = await media.service.sign_parts(media.tenant, ANNA, upload.id, [sums[1]])
    assert await send("PUT", second.url, cut[1], second.headers) == 200
    for _ in range(2):
        done = await media.service.complete(media.tenant, ANNA, upload.id, sums)
        assert done.state is UploadState.UPLOADED
    assert await media.bucket.size_of(upload.original) == len(body)
    refused = media.service.sign_parts(media.tenant, ANNA, upload.id, [PartSum(4, sums[0].sha256)])
    assert await code_of(refused) is Code.REQUEST_INVALID


async def test_a_deleted_upload_is_gone_for_its_owner_at_once(media: MediaEnv) -> None:
    chat = await media.use_cases.group()
    upload = await media.put(chat)
    await media.service.delete(media.tenant, ANNA, upload.id)
    assert media.tasks.published[-1].action == "delete"
    assert await code_of(media.service.progress(media.tenant, ANNA, upload.id)) is Code.UPLOAD_NOT_FOUND
    assert await code_of(media.message(chat, upload)) is Code.UPLOAD_NOT_FOUND


@pytest.mark.parametrize("state", [UploadState.PENDING, UploadState.UPLOADED])
async def test_a_state_changes_only_from_the_state_that_was_read(media: MediaEnv, state: UploadState) -> None:
    chat = await media.use_cases.group()
    upload = await media.put(chat)
    await media.message(chat, upload)
    assert upload.state is UploadState.UPLOADED
    stale = upload if state is UploadState.UPLOADED else (await media.start(chat)).upload
    assert await media.uploads.change_state(stale, UploadState.DELETING) is (state is UploadState.PENDING)
