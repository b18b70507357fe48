"""Expire messages on both engines: what is removed, what stays, holds, and a sweeper that dies at any failpoint."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from faults.clients import items_with
from fixtures.chat_list_env import ChatListEnv
from fixtures.kill_at import KillAt, KillAtStep, KilledError
from fixtures.loops import AsyncFixture
from fixtures.media_env import MediaEnv
from fixtures.plaintext import found_in
from fixtures.tables import Tables
from fixtures.use_cases import ANNA, BEN, CLEO, asked, by, code_of
from msgspec.structs import replace as change

from tidings.accounts.model import User
from tidings.accounts.store.users import DynamoUserStore
from tidings.app.wiring.retention import build_retention_service, retention_deps
from tidings.capacity.operations import EXPIRE
from tidings.chats.model import ChatType, chat_type
from tidings.delivery.model import LastMessageState, OfflineQueueBatch
from tidings.delivery.store import DynamoOfflineQueue
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, ChatKey, initial_epoch
from tidings.media.model import MediaFacts
from tidings.media.worker import MediaStats, MediaWorker, MediaWorkerDeps
from tidings.messages.history import ContentState
from tidings.messages.model import Entry, EntryKind
from tidings.messages.sender import Content
from tidings.retention.rules import DAY_MS
from tidings.retention.sweeper import RetentionSweeper
from tidings.tenants.model import RetentionSettings, TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore, DynamoUserKeyStore
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing

SECRET = "Bring-the-signed-papers-to-the-harbour"
MONTH = RetentionSettings(direct_days=30, group_days=30)


class RetentionEnv:
    """A tenant that stores content in clear, so that a text that is left anywhere is found."""

    def __init__(self, media: MediaEnv, tables: Tables) -> None:
        self.media, self.use_cases = media, media.use_cases
        self.client, self.clock, self.tenant = self.use_cases.client, self.use_cases.clock, media.tenant
        self.keys = UserKeyRing(
            DynamoUserKeyStore(self.client),
            self.use_cases.ring,
            SystemClock(),
            UserKeyPolicy(is_encrypting=False),
        )
        self.use_cases.user_keys = self.use_cases.keys = self.keys
        self.use_cases.open_process()
        self.lists = ChatListEnv(self.use_cases)
        self.queue = DynamoOfflineQueue(self.client, self.clock)
        self.service = build_retention_service(self.client)
        self.tenants = TenantService(DynamoTenantStore(self.client, self.use_cases.authentic), self.clock)
        self._tables = tables

    async def open(self, retention: RetentionSettings) -> None:
        await self.tenants.create(self.tenant, TenantSettings(name="test", retention=retention))
        users = DynamoUserStore(self.client, self.use_cases.ring, self.keys)
        for user in (ANNA, BEN):
            await users.create(User(tenant=self.tenant, user=user, created_at_ms=0, updated_at_ms=0))

    async def set_policy(self, retention: RetentionSettings) -> None:
        await self.tenants.change(self.tenant, lambda settings: change(settings, retention=retention))

    def sweeper(self, failpoints: KillAt | None = None, *, page_entries: int = 3) -> RetentionSweeper:
        deps = retention_deps(self.client, self.keys, self.media.tasks, self.clock, epoch=initial_epoch)
        deps = replace(deps, failpoints=failpoints or KillAt())
        return RetentionSweeper(deps, pause_s=0, page_entries=page_entries)

    def stored(self, text: str = SECRET) -> set[str]:
        """Return the tables in which the text is stored for this tenant. Other tests use the same tables."""
        found = items_with(self._tables.url, self._tables.prefix, text)
        return {
            table for table, items in found.items() if any(str(self.tenant) in repr(item) for item in items)
        }

    async def run_media_worker(self) -> None:
        async def strips(_: object) -> bool:
            return False

        async def decode(*_: object, **__: object) -> MediaFacts:
            raise AssertionError("nothing is decoded")

        deps = MediaWorkerDeps(
            uploads=self.media.uploads, objects=self.media.bucket, decode=decode, strips_metadata=strips
        )
        await MediaWorker(deps, MediaStats()).handle(
            [task for task in self.media.tasks.published if task.action == "delete"]
        )

    async def entries(self, chat: ChatKey) -> Sequence[Entry]:
        return await self.use_cases.reader.between(chat, 0, 10_000)

    async def states(self, chat: ChatKey) -> list[ContentState]:
        page = await self.use_cases.history.before(chat, BEN, None, 100)
        return [each.state for each in reversed(page.entries) if each.entry.kind is EntryKind.MESSAGE]

    async def converse(self, chat: ChatKey) -> None:
        """Send messages with the secret in every form that a message has, then let delivery write the rows."""
        upload = await self.media.put(chat, SECRET.encode())
        content = Content(text=f"{SECRET} with a file", attachments=(upload.id,))
        first = await self.use_cases.sender.send(chat, ANNA, by(ANNA).client_key, content, after=None)
        sent = await self.use_cases.send(chat, ANNA, SECRET, after=None)
        await self.use_cases.send(chat, ANNA, f"{SECRET} for ninety days", after=None, ttl_s=90 * 86_400)
        await self.use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text=f"{SECRET} edited"))
        await self.use_cases.change.react(asked(chat, BEN, first.sequence), "👍")
        await self.use_cases.send(chat, ANNA, SECRET, after=None)
        await self.lists.deliver()
        if chat_type(chat.chat) is ChatType.GROUP:
            return  # Messages of groups are not queued.
        queued = tuple(e for e in await self.entries(chat) if e.kind is EntryKind.MESSAGE)
        await self.queue.put([OfflineQueueBatch(chat, BEN, queued)])


@pytest.fixture
def env(media: AsyncFixture[MediaEnv], tables: Tables) -> AsyncFixture[RetentionEnv]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[RetentionEnv]:
        async with media.open() as opened_media:
            yield RetentionEnv(opened_media, tables)

    return AsyncFixture(opened)


async def test_expired_content_is_in_no_table_and_no_bucket_and_counts_stay(env: RetentionEnv) -> None:
    await env.open(MONTH)
    direct = await env.use_cases.manage.direct(env.tenant, ANNA, BEN)
    group = await env.use_cases.group(BEN, CLEO)
    for chat in (direct, group):
        await env.converse(chat)
    before = {chat: await env.entries(chat) for chat in (direct, group)}
    unread = {chat: await env.lists.unread(chat, BEN) for chat in (direct, group)}
    assert env.stored() == {"messages", "chat_counters", "delivery_state", "pending_queue"}
    env.clock.ahead_ms = 31 * DAY_MS
    swept = await env.sweeper().sweep(env.tenant)
    assert (swept.chats, swept.due, swept.expired, swept.failed) == (2, 2, 8, 0)
    await env.run_media_worker()
    assert env.stored() == set()
    assert [key async for key in env.media.bucket.keys("") if found_in(await _object(env, key), SECRET)] == []
    assert await env.media.keys() == []
    for chat, entries in before.items():
        now = await env.entries(chat)
        kept = [(e.sequence, e.ordinal, e.kind, e.sender, e.created_at_ms) for e in entries]
        assert [(e.sequence, e.ordinal, e.kind, e.sender, e.created_at_ms) for e in now] == kept
        assert set(await env.states(chat)) == {ContentState.EXPIRED}
        listed = await env.lists.listed(chat, BEN)
        assert listed.unread == unread[chat] > 0
        assert listed.last is not None
        assert listed.last.state is LastMessageState.EXPIRED


async def _object(env: RetentionEnv, key: str) -> bytes:
    return b"".join([chunk async for chunk in env.media.bucket.read(key)])


async def test_a_sweeper_that_dies_at_each_step_leaves_nothing_behind(env: RetentionEnv) -> None:
    await env.open(MONTH)
    direct = await env.use_cases.manage.direct(env.tenant, ANNA, BEN)
    group = await env.use_cases.group(BEN, CLEO)
    for chat in (direct, group):
        await env.converse(chat)
    env.clock.ahead_ms = 31 * DAY_MS
    for step in ("page_read", "emptied", "previews_deleted", "queue_withdrawn", "advanced"):
        # The chat stays due until its position is written, so the next sweep reaches the later steps.
        with pytest.raises(KilledError):
            await env.sweeper(KillAtStep(f"retention.{step}")).sweep(env.tenant)
    await env.sweeper().sweep(env.tenant)
    assert env.stored() == set()
    for chat in (direct, group):
        entries = await env.entries(chat)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))


async def test_a_message_that_is_younger_than_the_limit_stays(env: RetentionEnv) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    await env.use_cases.send(chat, ANNA, "old", after=None)
    env.clock.ahead_ms = 29 * DAY_MS
    await env.use_cases.send(chat, ANNA, "new", after=None)
    await env.lists.deliver()
    assert (await env.sweeper().sweep(env.tenant)).expired == 0
    env.clock.ahead_ms = 30 * DAY_MS + 60_000
    assert (await env.sweeper().sweep(env.tenant)).expired == 1
    assert await env.states(chat) == [ContentState.EXPIRED, ContentState.ACTIVE]
    assert await env.lists.text(chat, BEN) == "new", "the preview of a message that stays"


async def test_a_chat_without_newly_expired_messages_costs_half_a_read_unit(env: RetentionEnv) -> None:
    await env.open(MONTH)
    chats = [await env.use_cases.group(BEN) for _ in range(3)]
    for chat in chats:
        await env.use_cases.send(chat, ANNA, "old", after=None)
    env.clock.ahead_ms = 31 * DAY_MS
    assert (await env.sweeper().sweep(env.tenant)).due == 3
    before = _log_reads(env)
    again = await env.sweeper().sweep(env.tenant)
    assert (again.chats, again.due) == (3, 0)
    assert _log_reads(env) == before, "no log is read"
    await env.use_cases.send(chats[0], ANNA, "new", after=None)
    env.clock.ahead_ms = 62 * DAY_MS
    assert (await env.sweeper().sweep(env.tenant)).expired == 1


def _log_reads(env: RetentionEnv) -> float:
    return sum(
        each.value
        for each in env.client.ledger
        if each.pattern.startswith("messages.") and each.name == "calls"
    )


async def test_each_type_of_chat_has_its_limit(env: RetentionEnv) -> None:
    await env.open(RetentionSettings(direct_days=7))
    direct = await env.use_cases.manage.direct(env.tenant, ANNA, BEN)
    group = await env.use_cases.group(BEN)
    for chat in (direct, group):
        await env.use_cases.send(chat, ANNA, SECRET, after=None)
    env.clock.ahead_ms = 8 * DAY_MS
    await env.sweeper().sweep(env.tenant)
    assert await env.states(direct) == [ContentState.EXPIRED]
    assert await env.states(group) == [ContentState.ACTIVE]
    await env.set_policy(RetentionSettings(group_days=7))
    await env.sweeper().sweep(env.tenant)
    assert await env.states(group) == [ContentState.EXPIRED]


async def test_the_limit_of_a_chat_replaces_that_of_the_tenant(env: RetentionEnv) -> None:
    await env.open(RetentionSettings())
    short, plain = await env.use_cases.group(CLEO, BEN), await env.use_cases.group(BEN)
    for chat in (short, plain):
        await env.use_cases.send(chat, ANNA, SECRET, after=None)
    await env.service.set_days(short, 2)
    env.clock.ahead_ms = 3 * DAY_MS
    swept = await env.sweeper().sweep(env.tenant)
    assert (swept.chats, swept.expired) == (1, 1), "the tenant has no limit: only listed chats are read"
    assert await env.states(short) == [ContentState.EXPIRED]
    assert await env.states(plain) == [ContentState.ACTIVE]
    await env.set_policy(RetentionSettings(group_days=1))
    await env.service.set_days(plain, 10)
    assert (await env.sweeper().sweep(env.tenant)).expired == 0, "a longer limit keeps messages longer"
    await env.service.set_days(plain, None)
    assert (await env.sweeper().sweep(env.tenant)).expired == 1
    absent = ChatKey(env.tenant, ChatId(short.chat[:-1]))
    assert await code_of(env.service.set_days(absent, 2)) is Code.CHAT_NOT_FOUND
    assert await code_of(env.service.set_days(short, 0)) is Code.REQUEST_INVALID


async def test_nothing_expires_while_a_chat_or_the_tenant_is_held(env: RetentionEnv) -> None:
    await env.open(MONTH)
    held, other = await env.use_cases.group(BEN), await env.use_cases.group(BEN)
    for chat in (held, other):
        await env.converse(chat)
    before = await env.entries(held)
    env.clock.ahead_ms = 60 * DAY_MS
    await env.service.set_hold(held, is_held=True)
    await env.set_policy(change(MONTH, is_held=True))
    assert (await env.sweeper().sweep(env.tenant)).expired == 0
    assert await env.sweeper().sweep_chat(other) == 0
    await env.set_policy(MONTH)
    assert (await env.sweeper().sweep(env.tenant)).expired == 4
    assert await env.entries(held) == before
    await env.service.set_hold(held, is_held=False)
    assert (await env.sweeper().sweep(env.tenant)).expired == 4
    assert env.stored() == set()


@pytest.mark.parametrize("of", ["chat", "tenant", "limit"])
async def test_a_hold_that_is_set_during_a_page_stops_it(env: RetentionEnv, of: str) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    await env.converse(chat)
    before = await env.entries(chat)
    env.clock.ahead_ms = 31 * DAY_MS
    sweeper = env.sweeper()
    read = sweeper._deps.log.range

    class SlowLog:
        async def range(self, *args: object, **more: object) -> object:
            entries = await read(*args, **more)  # type: ignore[arg-type]
            if of == "chat":
                await env.service.set_hold(chat, is_held=True)
            elif of == "tenant":
                await env.set_policy(change(MONTH, is_held=True))
            else:
                await env.service.set_days(chat, 365)
            return entries

    sweeper._deps = replace(sweeper._deps, log=SlowLog())  # type: ignore[arg-type]
    assert await sweeper.sweep_chat(chat) == 0
    assert await env.entries(chat) == before


async def test_an_expired_message_cannot_be_edited_and_takes_no_reaction(env: RetentionEnv) -> None:
    await env.open(MONTH)
    chat = await env.use_cases.group(BEN)
    sent = await env.use_cases.send(chat, ANNA, SECRET, after=None)
    env.clock.ahead_ms = 31 * DAY_MS
    change_message, store = env.use_cases.change, env.use_cases.change._edits
    [seen] = [entry for entry in await env.entries(chat) if entry.sequence == sent.sequence]
    late = store.edit(chat, seen, b"late", env.clock.now_ms())
    await env.sweeper().sweep(env.tenant)
    edit = change_message.edit(asked(chat, ANNA, sent.sequence), Content(text=SECRET))
    assert await code_of(edit) is Code.REQUEST_INVALID
    assert (
        await code_of(change_message.react(asked(chat, BEN, sent.sequence), "👍")) is Code.MESSAGE_NOT_FOUND
    )
    [update] = late.actions  # type: ignore[attr-defined]
    assert "attribute_not_exists(visible_until)" in update.condition, (
        "an edit that has read the message before"
    )
    await env.use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    assert await env.states(chat) == [ContentState.REDACTED]


async def test_an_expired_message_costs_the_units_of_the_capacity_plan(env: RetentionEnv) -> None:
    """A transaction also checks the chat and the tenant, with two units each."""
    await env.open(MONTH)
    chat = await env.use_cases.manage.direct(env.tenant, ANNA, BEN)
    for _ in range(3):
        await env.use_cases.send(chat, ANNA, SECRET)
    await env.lists.deliver()
    env.clock.ahead_ms = 31 * DAY_MS
    assert (await env.sweeper(page_entries=10).sweep(env.tenant)).expired == 3
    assert env.client.ledger["messages.expire"].write_units == 4 + 3 * EXPIRE.writes["messages"]
