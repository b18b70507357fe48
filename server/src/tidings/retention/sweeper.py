"""Expire messages: find the chats with a limit, and empty what is older, one page of a log at a time.

A sweep can run at any time, in several processes, and end anywhere. Each chat has a position up to which all steps are done,
and a page that was interrupted is repeated. The lease of the sweeper saves work; no guarantee depends on it.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, override

from tidings.chats.model import ChatType, chat_type
from tidings.delivery.ports import PreviewExpiry
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import SeenPolicy
from tidings.retention import rules
from tidings.retention.model import RetentionStats
from tidings.retention.ports import DeleteUploads, WithdrawMessage
from tidings.retention.turns import END_OF_LOG, INTERVAL_S, SweepDeps, TenantSweeper
from tidings.tenants.model import Tenant

PAUSE_S: Final = 0.1
"""Time between two pages, so that a sweep leaves capacity to users: at most 2,000 entries per second."""
QUEUED_MS: Final = 40 * rules.DAY_MS
"""The offline queue keeps a message for 30 days, and DynamoDB deletes it some days later."""
_PAGE_ENTRIES: Final = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDeps(SweepDeps):
    previews: PreviewExpiry
    withdraw: WithdrawMessage
    delete_uploads: DeleteUploads


class RetentionSweeper(TenantSweeper[RetentionStats]):
    name = "expired messages"

    def __init__(
        self,
        deps: RetentionDeps,
        *,
        interval_s: float = INTERVAL_S,
        pause_s: float = PAUSE_S,
        page_entries: int = _PAGE_ENTRIES,
    ) -> None:
        super().__init__(deps, RetentionStats(), interval_s)
        self._deps = deps
        self._store = deps.store
        self._pause_s = pause_s
        self._page_entries = page_entries

    @override
    async def sweep(self, tenant: TenantId) -> RetentionStats:
        """Expire the messages of one tenant. A chat that fails is left to the next sweep; the others are done."""
        found = RetentionStats()
        settings = await self._deps.tenants.read(tenant)
        if settings is None or settings.settings.retention.is_held:
            return found
        limits = settings.settings.retention
        has_all = limits.direct_days is not None or limits.group_days is not None
        async for chats in self._pages_of_chats(tenant, has_all=has_all):
            await self._keep_lease()
            for chat in await self._due(settings, chats, found):
                await self._sweep_one(chat, found)
        self.stats.add(found)
        return found

    async def _sweep_one(self, chat: ChatKey, found: RetentionStats) -> None:
        try:
            found.expired += await self.sweep_chat(chat)
        except TidingsError as error:
            found.failed += 1
            _log.warning(
                "messages of chat %s did not expire, the next sweep tries again: %s", chat.chat, error
            )

    async def _due(self, tenant: Tenant, chats: Sequence[ChatId], found: RetentionStats) -> list[ChatKey]:
        """Return the chats with messages that may have expired. One read of each chat's row, none of its log."""
        now_ms, due = self._deps.clock.now_ms(), list[ChatKey]()
        rows = await self._store.read_many(tenant.id, chats)
        for chat, row in rows.items():
            cutoff = rules.cutoff_ms(tenant.settings.retention, chat_type(chat), row, now_ms)
            if cutoff is not None and rules.is_due(row.oldest_ms, cutoff):
                due.append(ChatKey(tenant.id, chat))
        found.chats += len(rows)
        found.due += len(due)
        return due

    async def sweep_chat(self, chat: ChatKey) -> int:
        """Expire the messages of one chat. Return their number. Raises retryable errors; then repeat it."""
        expired = 0
        while (page := await self._sweep_page(chat)) is not None:
            expired += page
            await self._keep_lease()
            await asyncio.sleep(self._pause_s)
        return expired

    async def _sweep_page(self, chat: ChatKey) -> int | None:
        """Expire one page of a log. Return the number of messages that were emptied; None at the end.

        The position is written last. A process that dies before repeats the page: emptied messages are not emptied again,
        and all other steps are done again.
        """
        # Read again for each page: an operator may have set a hold since the last one.
        tenant, row = await self._deps.tenants.read(chat.tenant), await self._store.read(chat)
        if tenant is None or row is None:
            return None
        now_ms = self._deps.clock.now_ms()
        cutoff = rules.cutoff_ms(tenant.settings.retention, chat_type(chat.chat), row, now_ms)
        if cutoff is None or not rules.is_due(row.oldest_ms, cutoff):
            return None
        entries = await self._deps.log.range(
            chat, row.expired_up_to, END_OF_LOG, self._page_entries, newest_first=False
        )
        await self._deps.failpoints.hit("retention.page_read")
        old = rules.expired_part(entries, cutoff)
        messages = [entry for entry in old if entry.kind is EntryKind.MESSAGE]
        full = [message for message in messages if rules.has_content(message, now_ms)]
        for part in rules.transactions(full):
            if not await self._deps.expiry.empty(chat, part, SeenPolicy(row.days, tenant.version), now_ms):
                return 0  # The policy has changed: read it again.
            await self._deps.failpoints.hit("retention.emptied")
        if messages:
            await self._clean(tenant, chat, messages, now_ms)
        if uploads := [upload for message in full for upload in message.attachments]:
            self._deps.delete_uploads(chat.tenant, uploads)
            await self._deps.failpoints.hit("retention.deletion_published")
        oldest_ms = rules.oldest_after(entries, len(old), now_ms)
        await self._store.advance(chat, old[-1].sequence if old else row.expired_up_to, oldest_ms)
        await self._deps.failpoints.hit("retention.advanced")
        return len(full) if old else None

    async def _clean(self, tenant: Tenant, chat: ChatKey, messages: Sequence[Entry], now_ms: int) -> None:
        """Remove what else has content of expired messages: previews, the offline queue, the search index."""
        is_direct = chat_type(chat.chat) is ChatType.DIRECT
        users = [row.user for row in await self._deps.chats.members(chat)] if is_direct else []
        await self._deps.previews.expire(chat, users, messages[-1].sequence, now_ms)
        await self._deps.failpoints.hit("retention.previews_deleted")
        queued = [each for each in messages if is_direct and each.created_at_ms > now_ms - QUEUED_MS]
        await gather_limited(self._deps.withdraw(chat, users, message) for message in queued)
        await self._deps.failpoints.hit("retention.queue_withdrawn")
        if tenant.settings.has_search:
            await self._store.note_unindexed(chat, messages[0].sequence, messages[-1].sequence)
            await self._deps.failpoints.hit("retention.unindexed_noted")
