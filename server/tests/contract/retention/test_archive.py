"""Archive messages on both engines and a real bucket: what moves, what stays, races, and a sweeper that dies at each step."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from contract.retention.test_sweeper import SECRET, RetentionEnv
from fixtures.kill_at import KillAt, KillAtStep, KilledError
from fixtures.loops import AsyncFixture
from fixtures.media_env import MediaEnv
from fixtures.plaintext import found_in
from fixtures.tables import Tables
from fixtures.use_cases import ANNA, BEN, CLEO, asked, code_of
from msgspec.structs import replace as change

from tidings.app.wiring.archive import ArchiveView, archive_deps, build_archive_reader
from tidings.app.wiring.media import read_attachments
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, ChatKey, ErasedUser, UserId, initial_epoch
from tidings.messages.history import ContentState, VisibleEntry
from tidings.messages.model import EntryKind
from tidings.messages.sender import Content
from tidings.messages.store import DynamoLogEraser
from tidings.retention.archive import rules
from tidings.retention.archive.model import ArchiveDamagedError, ArchiveTotals
from tidings.retention.archive.reader import ArchiveReader
from tidings.retention.archive.sweeper import ArchiveSweeper
from tidings.retention.rules import DAY_MS
from tidings.tenants.model import RetentionSettings

MONTH = RetentionSettings(archive_days=30)
PSEUDONYM = UserId("erased-" + "a" * 26)


class ArchiveEnv(RetentionEnv):
    def archiver(self, failpoints: KillAt | None = None, *, part_bytes: int = 1_000_000) -> ArchiveSweeper:
        deps = archive_deps(
            self.client,
            self.keys,
            self.media.bucket,
            self.clock,
            epoch=initial_epoch,
            failpoints=failpoints or KillAt(),
        )
        return ArchiveSweeper(deps, page_entries=3, part_bytes=part_bytes)

    @property
    def reader(self) -> ArchiveReader:
        return build_archive_reader(self.client, self.media.bucket)

    @property
    def month(self) -> str:
        """The month in which the messages were sent."""
        return rules.month_of(self.clock.now_ms() - self.clock.ahead_ms)

    async def archived(self, chat: ChatKey | None = None) -> list[VisibleEntry]:
        wanted, view = (
            None if chat is None else chat.chat,
            ArchiveView(self.client, self.keys, self.clock, initial_epoch),
        )
        found = [each async for each in self.reader.read(self.tenant, self.month, wanted)]
        return [await view.show(each) for each in found]

    async def texts(self, chat: ChatKey) -> list[str]:
        """Return the texts that the log or the archive has, by sequence."""
        page = await self.use_cases.history.before(chat, BEN, None, 100)
        found = [each for each in page.entries if each.content is not None]
        found += [each for each in await self.archived(chat) if each.content is not None]
        found.sort(key=lambda each: each.entry.sequence)
        return [each.content.text for each in found if each.content is not None]

    async def damaged(self) -> list[str]:
        return [each.found async for each in self.reader.verify(self.tenant, ArchiveTotals())]

    async def objects(self) -> dict[str, bytes]:
        keys = [key async for key in self.media.bucket.keys(rules.tenant_prefix(self.tenant))]
        return {key: b"".join([chunk async for chunk in self.media.bucket.read(key)]) for key in keys}


@pytest.fixture
def env(media: AsyncFixture[MediaEnv], tables: Tables) -> AsyncFixture[ArchiveEnv]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[ArchiveEnv]:
        async with media.open() as opened_media:
            yield ArchiveEnv(opened_media, tables)

    return AsyncFixture(opened)


async def two_chats(env: ArchiveEnv) -> Sequence[ChatKey]:
    chats = [await env.use_cases.manage.direct(env.tenant, ANNA, BEN), await env.use_cases.group(BEN, CLEO)]
    for chat in chats:
        await env.converse(chat)
    return chats


async def test_archived_content_leaves_the_log_and_is_read_back_once(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    chats = await two_chats(env)
    before = {chat: await env.entries(chat) for chat in chats}
    texts = {chat: await env.texts(chat) for chat in chats}
    unread = {chat: await env.lists.unread(chat, BEN) for chat in chats}
    env.clock.ahead_ms = 31 * DAY_MS
    swept = await env.archiver().sweep(env.tenant)
    assert (swept.chats, swept.due, swept.archived, swept.parts, swept.failed) == (2, 2, 6, 1, 0)
    for chat in chats:
        now = {entry.sequence: entry for entry in await env.entries(chat)}
        assert [change(e, content=None, archived_in=None, archive_key=None) for e in now.values()] == [
            change(e, content=None) for e in before[chat]
        ], "nothing but the content has changed: the log is dense, edits, reactions and attachments stay"
        assert all(e.content is None for e in now.values())
        states = Counter(await env.states(chat))
        assert states == {ContentState.ARCHIVED: 3, ContentState.ACTIVE: 1}, "the message with a time limit"
        assert await env.texts(chat) == texts[chat]
        assert (await env.lists.listed(chat, BEN)).unread == unread[chat] > 0
    assert [key for key, body in (await env.objects()).items() if found_in(body, SECRET)] == []
    assert [
        user for user in (ANNA, BEN) for body in (await env.objects()).values() if user.encode() in body
    ] == []
    assert await env.damaged() == []
    assert (await env.archiver().sweep(env.tenant)).due == 0, "no log is read again"


async def test_attachments_of_archived_messages_can_still_be_downloaded(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    [chat, _] = await two_chats(env)
    [sent] = [entry for entry in await env.entries(chat) if entry.attachments]
    env.clock.ahead_ms = 31 * DAY_MS
    await env.archiver().sweep(env.tenant)
    assert await read_attachments(env.use_cases.history)(chat, BEN, sent.sequence) == sent.attachments


STEPS = ("part_stored", "manifest_stored", "content_removed", "unindexed_noted", "advanced")


async def test_a_sweeper_that_dies_at_each_step_loses_and_repeats_nothing(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    await env.tenants.change(env.tenant, lambda settings: change(settings, has_search=True))
    chats = await two_chats(env)
    texts = {chat: await env.texts(chat) for chat in chats}
    env.clock.ahead_ms = 31 * DAY_MS
    for step in STEPS * 2:
        with pytest.raises(KilledError):
            await env.archiver(KillAtStep(f"archive.{step}"), part_bytes=100).sweep(env.tenant)
        for chat in chats:
            assert await env.texts(chat) == texts[chat], f"after a death at {step}"
    await env.archiver().sweep(env.tenant)
    assert len(await env.archived()) == 6
    assert await env.damaged() == []


async def test_nothing_is_archived_while_a_chat_or_the_tenant_is_held(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    [held, _] = await two_chats(env)
    before = await env.entries(held)
    env.clock.ahead_ms = 60 * DAY_MS
    await env.service.set_hold(held, is_held=True)
    await env.set_policy(change(MONTH, is_held=True))
    assert (await env.archiver().sweep(env.tenant)).archived == 0
    await env.set_policy(MONTH)
    assert (await env.archiver().sweep(env.tenant)).archived == 3
    assert await env.entries(held) == before
    await env.service.set_hold(held, is_held=False)
    assert (await env.archiver().sweep(env.tenant)).archived == 3


def after_the_parts(sweeper: ArchiveSweeper, act: Any) -> ArchiveSweeper:
    """Have `act` run when the parts are stored and no content is removed yet."""
    objects = sweeper._deps.objects

    class SlowObjects:
        async def write(self, *args: Any) -> str:
            part = await objects.write(*args)
            await act()
            return part

    sweeper._deps = replace(sweeper._deps, objects=SlowObjects())  # type: ignore[arg-type]
    return sweeper


@pytest.mark.parametrize("of", ["chat", "tenant"])
async def test_a_hold_that_is_set_while_a_part_is_stored_keeps_the_content_in_the_log(
    env: ArchiveEnv, of: str
) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    await env.converse(chat)
    before = await env.entries(chat)
    env.clock.ahead_ms = 31 * DAY_MS

    async def hold() -> None:
        if of == "chat":
            await env.service.set_hold(chat, is_held=True)
        else:
            await env.set_policy(change(MONTH, is_held=True))

    swept = await after_the_parts(env.archiver(), hold).sweep(env.tenant)
    assert (swept.archived, swept.failed) == (0, 1)
    assert await env.entries(chat) == before
    assert await env.archived() == [], "the rows of the part have no keys"


@pytest.mark.parametrize("what", ["edit", "redact"])
async def test_a_message_that_is_changed_while_a_part_is_stored_is_not_lost(
    env: ArchiveEnv, what: str
) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    first = await env.use_cases.send(chat, ANNA, "one", after=None)
    await env.use_cases.send(chat, ANNA, "two", after=None)
    env.clock.ahead_ms = 31 * DAY_MS

    async def act() -> None:
        if what == "edit":
            await env.use_cases.change.edit(asked(chat, ANNA, first.sequence), Content(text="one, edited"))
        else:
            await env.use_cases.change.redact(asked(chat, ANNA, first.sequence))

    expected = ["one, edited", "two"] if what == "edit" else ["two"]
    assert (await after_the_parts(env.archiver(), act).sweep(env.tenant)).archived == 0
    assert await env.texts(chat) == expected, "in the log"
    assert (await env.archiver().sweep(env.tenant)).archived == len(expected)
    archived = [each.content for each in await env.archived(chat)]
    assert [content and content.text for content in archived] == expected


async def test_an_archived_message_is_not_edited_and_a_redaction_destroys_its_row(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    sent = await env.use_cases.send(chat, ANNA, SECRET, after=None)
    env.clock.ahead_ms = 31 * DAY_MS
    [seen] = [entry for entry in await env.entries(chat) if entry.sequence == sent.sequence]
    late = env.use_cases.change._edits.edit(chat, seen, b"late", env.clock.now_ms())
    await env.archiver().sweep(env.tenant)
    [update] = late.actions  # type: ignore[attr-defined]
    assert "attribute_not_exists(archived_in)" in update.condition, "an edit that has read it before"
    edit = env.use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="edited"))
    assert await code_of(edit) is Code.REQUEST_INVALID
    await env.use_cases.change.react(asked(chat, BEN, sent.sequence), "👍")
    await env.use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    await check_unreadable(env, chat, ContentState.REDACTED)


async def test_an_archived_message_expires_at_the_limit_of_the_tenant(env: ArchiveEnv) -> None:
    await env.open(change(MONTH, group_days=60))
    chat = await env.use_cases.group(BEN)
    await env.use_cases.send(chat, ANNA, SECRET, after=None)
    env.clock.ahead_ms = 31 * DAY_MS
    await env.archiver().sweep(env.tenant)
    assert await env.texts(chat) == [SECRET]
    env.clock.ahead_ms = 61 * DAY_MS
    assert (await env.sweeper().sweep(env.tenant)).expired == 1
    await check_unreadable(env, chat, ContentState.EXPIRED)


async def test_archived_messages_of_an_erased_user_are_unreadable(env: ArchiveEnv) -> None:
    """Also in this tenant, which stores content in clear: the row of the archive loses its key."""
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    await env.use_cases.send(chat, ANNA, SECRET, after=None)
    env.clock.ahead_ms = 31 * DAY_MS
    await env.archiver().sweep(env.tenant)
    await DynamoLogEraser(env.client).erase(chat, ErasedUser(ANNA, PSEUDONYM), 0)
    await check_unreadable(env, chat, ContentState.ERASED)


async def check_unreadable(env: ArchiveEnv, chat: ChatKey, state: ContentState) -> None:
    [entry] = [entry for entry in await env.entries(chat) if entry.kind is EntryKind.MESSAGE]
    assert entry.archive_key is None
    [found] = await env.archived(chat)
    assert (found.state, found.content) == (state, None)
    assert await env.states(chat) == [state]


async def test_a_damaged_part_is_found(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    await two_chats(env)
    env.clock.ahead_ms = 31 * DAY_MS
    await env.archiver().sweep(env.tenant)
    [key] = [key for key in await env.objects() if key.endswith(".parquet")]
    body = (await env.objects())[key]
    await env.media.bucket.put(key, body[:-9] + b"x" + body[-8:], "application/vnd.apache.parquet")
    [problem] = await env.damaged()
    assert "SHA-256" in problem
    with pytest.raises(ArchiveDamagedError):
        await env.archived()
    await env.media.bucket.delete(key)
    [problem] = await env.damaged()
    assert "is missing" in problem


async def test_a_row_is_only_opened_as_the_message_that_it_is(env: ArchiveEnv) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    sent = await env.use_cases.send(chat, ANNA, SECRET, after=None)
    [entry] = [each for each in await env.entries(chat) if each.sequence == sent.sequence]
    sealed = rules.seal_message(chat, entry)
    [row] = rules.rows_of([sealed])
    assert rules.open_row(chat, row, sealed.key) == entry.content
    assert rules.open_row(chat, row._replace(sequence=row.sequence + 1), sealed.key) is None
    assert rules.open_row(ChatKey(env.tenant, ChatId("gother")), row, sealed.key) is None
