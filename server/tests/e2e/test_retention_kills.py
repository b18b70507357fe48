"""A retention sweep in real processes: they are killed at one step after the other, and every due message expires."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from e2e.killed_workers import SHORT_STEPS, bucket_settings, clock_ahead, kill_at_each, wait_until
from faults.clients import items_with
from fixtures.chat_list_env import ChatListEnv
from fixtures.installation_processes import InstallationProcesses
from fixtures.media_env import MediaEnv, open_bucket
from fixtures.search import request as candidates_request
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, by
from msgspec.structs import replace

from tidings.accounts.model import User
from tidings.accounts.store.users import DynamoUserStore
from tidings.app.wiring.retention import build_retention_service
from tidings.delivery.model import OfflineQueueBatch
from tidings.delivery.store import DynamoOfflineQueue
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry, EntryKind
from tidings.messages.sender import Content
from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.search.store.tantivy import TantivySearchReader
from tidings.tenants.model import RetentionSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore, DynamoUserKeyStore
from tidings.tenants.user_keys import UserKeyPolicy, UserKeyRing

SECRET, HELD = "the-expired-secret", "the-held-secret"
STEPS = tuple(
    f"retention.{step}"
    for step in (
        *("page_read", "emptied", "previews_deleted", "queue_withdrawn", "unindexed_noted"),
        *("deletion_published", "advanced"),
    )
)
MESSAGES = 5
AHEAD_S = 31 * 86_400
"""By how much the clock of the first sweeper is ahead of that of the senders: all messages are due."""
LATER_S = 100
"""By how much the clock of each sweeper is ahead of the one before: longer than a lease."""


@dataclass
class Planted:
    """Two chats whose messages are due, and a group with a legal hold. Content is stored in clear, so a scan finds it."""

    use_cases: UseCaseEnv
    media: MediaEnv
    index: TantivySearchReader
    lists: ChatListEnv
    direct: ChatKey
    group: ChatKey
    held: ChatKey

    @classmethod
    async def plant(cls, use_cases: UseCaseEnv, media: MediaEnv, index: TantivySearchReader) -> "Planted":
        tenants = TenantService(DynamoTenantStore(use_cases.client, use_cases.authentic), use_cases.clock)
        limits = RetentionSettings(direct_days=30, group_days=30)
        await tenants.change(
            use_cases.tenant, lambda settings: replace(settings, has_search=True, retention=limits)
        )
        users = DynamoUserStore(use_cases.client, use_cases.ring, use_cases.user_keys)
        for user in (ANNA, BEN):
            await users.create(User(tenant=use_cases.tenant, user=user, created_at_ms=0, updated_at_ms=0))
        found = cls(
            use_cases,
            media,
            index,
            ChatListEnv(use_cases),
            await use_cases.manage.direct(use_cases.tenant, ANNA, BEN),
            await use_cases.group(BEN),
            await use_cases.group(BEN),
        )
        for chat in (found.direct, found.group, found.held):
            await found.converse(chat, HELD if chat == found.held else SECRET)
        await build_retention_service(use_cases.client).set_hold(found.held, is_held=True)
        return found

    async def converse(self, chat: ChatKey, text: str) -> None:
        upload = await self.media.put(chat, text.encode())
        content = Content(text=f"{text} with a file", attachments=(upload.id,))
        await self.use_cases.sender.send(chat, ANNA, by(ANNA).client_key, content, after=None)
        for _ in range(MESSAGES - 1):
            await self.use_cases.send(chat, ANNA, text, after=None)
        await self.lists.deliver()
        if chat == self.direct:
            queue = DynamoOfflineQueue(self.use_cases.client, self.use_cases.clock)
            await queue.put([OfflineQueueBatch(chat, BEN, tuple(await self.messages(chat)))])

    async def messages(self, chat: ChatKey) -> list[Entry]:
        entries = await self.use_cases.reader.between(chat, 0, 10_000)
        return [entry for entry in entries if entry.kind is EntryKind.MESSAGE]

    async def due(self) -> list[Entry]:
        return [*await self.messages(self.direct), *await self.messages(self.group)]

    async def counts(self) -> dict[str, int]:
        """Return the unread counts of the recipient."""
        return {
            str(chat): await self.lists.unread(chat, BEN) for chat in (self.direct, self.group, self.held)
        }

    async def found(self, text: str) -> set[str]:
        """Return the chats of the messages that the index has."""
        chats = (self.direct.chat, self.group.chat, self.held.chat)
        found = await self.index.find(candidates_request(self.use_cases.tenant, text, chats=chats))
        return {each.ref.chat.chat for each in found}


@asynccontextmanager
async def planted_in(installation: InstallationProcesses, s3: str) -> AsyncIterator[Planted]:
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher = KafkaPublisher(config)
    async with installation.use_cases() as use_cases, open_bucket(s3, installation.space) as bucket:
        policy = UserKeyPolicy(is_encrypting=False)
        keys = UserKeyRing(DynamoUserKeyStore(use_cases.client), use_cases.ring, SystemClock(), policy)
        use_cases.user_keys = use_cases.keys = keys
        publish = KafkaCommitPublisher(publisher).publish

        def on_commit(chat: ChatKey, entries: Sequence[Entry]) -> None:
            use_cases.commits.append((chat, entries))
            publish(chat, entries)

        use_cases.on_commit = on_commit
        use_cases.open_process()
        index = TantivySearchReader(installation.directory / ".tidings" / "search")
        yield await Planted.plant(use_cases, MediaEnv(use_cases, bucket), index)
    await publisher.close()


@pytest.mark.long
@pytest.mark.deadline(300.0)
async def test_every_due_message_expires_although_sweepers_are_killed_at_every_step(
    installation: InstallationProcesses, s3: str
) -> None:
    settings, tables = await bucket_settings(installation, s3), installation.tables
    search = {"SEARCH_ENGINE": "tantivy"}
    async with planted_in(installation, s3) as planted:
        installation.ready("search", **SHORT_STEPS, **search)
        # Its clock is past the time for which the sweeper leaves a marked file to the task that deletes it.
        installation.ready("media", **settings, **clock_ahead(700), MEDIA_SWEEP_INTERVAL_S="1")

        async def is_indexed() -> bool:
            return await planted.found(SECRET) == {planted.direct.chat, planted.group.chat}

        async def is_expired() -> bool:
            return not any(each.content is not None or each.attachments for each in await planted.due())

        async def is_unindexed() -> bool:
            return not await planted.found(SECRET)

        async def are_files_deleted() -> bool:
            return len(await planted.media.keys()) == 1

        await wait_until(is_indexed)
        before, held, due = await planted.counts(), await planted.messages(planted.held), await planted.due()
        assert min(before.values()) >= MESSAGES
        assert "pending_queue" in items_with(tables.url, tables.prefix, SECRET)
        await kill_at_each(installation, "notifications", STEPS, ahead_s=AHEAD_S, later_s=LATER_S)
        end = clock_ahead(AHEAD_S + len(STEPS) * LATER_S)
        installation.ready("notifications", **SHORT_STEPS, **end)
        await wait_until(is_expired)
        await wait_until(is_unindexed)
        await wait_until(are_files_deleted)
        assert items_with(tables.url, tables.prefix, SECRET) == {}
        assert await planted.counts() == before
        assert [each.sequence for each in await planted.due()] == [each.sequence for each in due]
        assert await planted.messages(planted.held) == held
        assert await planted.found(HELD) == {planted.held.chat}
