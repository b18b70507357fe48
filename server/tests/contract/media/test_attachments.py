"""Messages with attachments on both DynamoDB engines: one transaction, one message for each upload, redaction."""

import asyncio

import pytest
from fixtures.media_env import MediaEnv, fetch
from fixtures.use_cases import ANNA, BEN, CLEO, asked, by, code_of

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey
from tidings.media.model import CheckState, MediaFacts, Upload, UploadState
from tidings.messages.sender import Content
from tidings.messages.store import edits
from tidings.tenants.model import MediaPolicy

READY = CheckState.READY


async def test_a_message_and_its_uploads_refer_to_each_other(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    uploads = [await media.put(chat) for _ in range(2)]
    sequence = await media.message(chat, *uploads, key="k1")
    assert await media.message(chat, *uploads, key="k1") == sequence, "a retry"
    media.use_cases.open_process()
    assert await media.message(chat, *uploads, key="k1") == sequence, "a retry in another process"
    for upload in uploads:
        now = await media.now(upload)
        assert (now.state, now.sequence, now.expires_ms) == (UploadState.ATTACHED, sequence, None)
    shown = await media.use_cases.history.one(chat, BEN, sequence)
    assert shown.entry.attachments == tuple(upload.id for upload in uploads)


async def test_a_sender_without_a_position_attaches_once(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    first = await media.message(chat, upload, key="k1", after=None)
    media.use_cases.open_process()
    assert await media.message(chat, upload, key="k1", after=None) == first
    other = Content(text="other", attachments=(upload.id,))
    again = media.use_cases.sender.send(chat, ANNA, ClientKey("k1"), other)
    assert await code_of(again) is Code.IDEMPOTENCY_CONFLICT


async def test_of_many_messages_one_gets_the_upload(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    sends = [media.message(chat, upload, key=f"k{number}") for number in range(5)]
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    sequences = [each for each in outcomes if isinstance(each, int)]
    assert len(sequences) == 1
    refused = [each.code for each in outcomes if isinstance(each, TidingsError)]
    assert refused == [Code.UPLOAD_ATTACHED] * 4
    assert (await media.now(upload)).sequence == sequences[0]


async def test_uploads_of_others_and_of_other_chats_are_refused(media: MediaEnv) -> None:
    chat, other = await media.use_cases.group(BEN), await media.use_cases.group(BEN)
    bens = await media.put(chat, user=BEN)
    elsewhere = await media.put(other)
    pending = (await media.start(chat)).upload
    assert await code_of(media.message(chat, bens)) is Code.UPLOAD_NOT_FOUND
    assert await code_of(media.message(chat, elsewhere)) is Code.UPLOAD_NOT_FOUND
    assert await code_of(media.message(chat, pending)) is Code.UPLOAD_INCOMPLETE
    assert len(await media.use_cases.entries(chat)) == 1, "nothing was appended"


async def test_the_append_itself_refuses_an_upload_that_changed_after_the_check(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    check = media.use_cases.sender._attachments
    assert check is not None
    seen = check.check

    async def deleted_meanwhile(*given: object) -> Code | None:
        code = await seen(*given)  # type: ignore[arg-type]
        if code is None:
            await media.uploads.change_state(upload, UploadState.DELETING)
        return code

    check.check = deleted_meanwhile  # type: ignore[method-assign]
    assert await code_of(media.message(chat, upload)) is Code.UPLOAD_NOT_FOUND
    assert len(await media.use_cases.entries(chat)) == 1


async def _unattachable(media: MediaEnv, chat: ChatKey, clause: str) -> Upload:
    """Return an upload that only this clause of the condition refuses."""
    if clause.startswith("owner_id"):
        return await media.put(chat, user=BEN)
    if clause.startswith("chat_id"):
        return await media.put(await media.use_cases.group(BEN))
    if clause.startswith("upload_state"):
        return (await media.start(chat)).upload
    refused = await media.put(chat)
    await media.uploads.record_facts(refused, CheckState.REFUSED, MediaFacts(reason="a bomb"))
    return refused


async def test_each_clause_of_the_condition_refuses_what_the_check_missed(
    media: MediaEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the clause, the same upload is attached: so the test would detect its loss."""
    condition, check = edits.ATTACHABLE, media.use_cases.sender._attachments
    assert check is not None
    answers, seen = list[None](), check.check

    async def missed_once(*given: object) -> Code | None:
        return answers.pop() if answers else await seen(*given)  # type: ignore[arg-type]

    check.check = missed_once  # type: ignore[method-assign]
    for number, clause in enumerate(condition.split(" AND ")):
        chat = await media.use_cases.group(BEN)
        upload = await _unattachable(media, chat, clause)
        answers.append(None)
        assert await code_of(media.message(chat, upload, key=f"k{number}")) is not None
        assert len(await media.use_cases.entries(chat)) == 1, clause
        answers.append(None)
        mutant = condition.replace(clause, f"({clause} OR attribute_exists(chat_id))")
        monkeypatch.setattr(edits, "ATTACHABLE", mutant)
        assert await media.message(chat, upload, key=f"mutant{number}"), clause
        monkeypatch.setattr(edits, "ATTACHABLE", condition)


async def test_a_redaction_deletes_the_uploads_and_a_retry_of_the_message_still_succeeds(
    media: MediaEnv,
) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    sequence = await media.message(chat, upload, key="k1")
    await media.use_cases.change.redact(asked(chat, ANNA, sequence))
    assert (await media.now(upload)).state is UploadState.DELETING
    shown = await media.use_cases.history.one(chat, BEN, sequence)
    assert shown.content is None
    assert shown.entry.attachments == (upload.id,), "the worker needs the ids"
    assert await code_of(media.service.link(chat, BEN, sequence, upload.id)) is Code.UPLOAD_NOT_FOUND
    assert await media.message(chat, upload, key="k1") == sequence


async def test_an_edit_keeps_attachments_and_cannot_change_them(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    sequence = await media.message(chat, upload)
    await media.use_cases.change.edit(asked(chat, ANNA, sequence), Content(text="new"))
    shown = await media.use_cases.history.one(chat, BEN, sequence)
    assert shown.entry.attachments == (upload.id,)
    changed = Content(text="new", attachments=(upload.id,))
    assert (
        await code_of(media.use_cases.change.edit(asked(chat, ANNA, sequence), changed))
        is Code.REQUEST_INVALID
    )


async def test_the_upload_of_an_ephemeral_message_expires_with_it(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    sequence = await media.message(chat, upload, ttl_s=60)
    now = await media.now(upload)
    (entry,) = [e for e in [await media.use_cases.reader.one(chat, sequence)] if e is not None]
    assert now.expires_ms == entry.visible_until_ms
    await media.uploads.record_facts(now, READY, MediaFacts())
    await media.service.link(chat, BEN, sequence, upload.id)
    media.use_cases.clock.ahead_ms = 61_000
    assert await code_of(media.service.link(chat, BEN, sequence, upload.id)) is Code.UPLOAD_NOT_FOUND


async def test_a_file_is_downloaded_by_members_at_its_sequence_after_it_was_processed(
    media: MediaEnv,
) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, name="säge.html", type_="text/html")
    sequence = await media.message(chat, upload)
    assert await code_of(media.service.link(chat, BEN, sequence, upload.id)) is Code.UPLOAD_PROCESSING
    await media.service.link(chat, ANNA, sequence, upload.id)
    await media.uploads.record_facts(upload, READY, MediaFacts(type="text/html"))
    link = await media.service.link(chat, BEN, sequence, upload.id)
    status, body, headers = await fetch(link.url)
    assert (status, body) == (200, b"hello, attachment")
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment; ")
    await media.use_cases.manage.add(chat, by(ANNA), [CLEO])
    assert await code_of(media.service.link(chat, CLEO, sequence, upload.id)) is Code.MESSAGE_NOT_FOUND


async def test_a_tenant_may_allow_downloads_before_the_file_was_processed(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat, type_="image/png")
    sequence = await media.message(chat, upload)
    media.policy = MediaPolicy(strips_metadata=False)
    link = await media.service.link(chat, BEN, sequence, upload.id)
    assert not link.is_inline, "the type of its bytes is not known"


async def test_a_refused_file_is_downloaded_by_nobody(media: MediaEnv) -> None:
    chat = await media.use_cases.group(BEN)
    upload = await media.put(chat)
    sequence = await media.message(chat, upload)
    await media.uploads.record_facts(upload, CheckState.REFUSED, MediaFacts(reason="too many pixels"))
    for user in (ANNA, BEN):
        assert await code_of(media.service.link(chat, user, sequence, upload.id)) is Code.UPLOAD_REFUSED
    later = await media.put(chat)
    await media.uploads.record_facts(later, CheckState.REFUSED, MediaFacts(reason="too many pixels"))
    assert await code_of(media.message(chat, later)) is Code.UPLOAD_REFUSED


async def test_many_attachments_are_downloadable_exactly_if_a_link_is_issued(media: MediaEnv) -> None:
    chat, other = await media.use_cases.group(BEN), await media.use_cases.group(BEN)
    ready, waiting, refused, deleting = [await media.put(chat) for _ in range(4)]
    sequence = await media.message(chat, ready, waiting, refused, deleting)
    elsewhere = await media.put(other)
    await media.message(other, elsewhere)
    for upload in (ready, elsewhere, deleting):
        await media.uploads.record_facts(upload, READY, MediaFacts())
    await media.uploads.record_facts(refused, CheckState.REFUSED, MediaFacts(reason="a bomb"))
    await media.uploads.change_state(await media.now(deleting), UploadState.DELETING)
    everything = [upload.id for upload in (ready, waiting, refused, deleting, elsewhere)]
    for user, expected in ((ANNA, {ready.id, waiting.id}), (BEN, {ready.id})):
        linked = set()
        for name in everything:
            try:
                linked.add((await media.service.link(chat, user, sequence, name)).upload.id)
            except TidingsError:
                continue
        found = await media.service.downloadable(chat, user, everything)
        assert {each.id for each in found} == linked == expected
