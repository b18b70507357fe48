"""Archive messages: store their content in parts in the bucket, then remove it from the log.

The order makes every step repeatable: a part and its manifest are stored and read back; then a transaction removes the content
of messages and stores the keys of their rows; the position of the chat is written last. A process that dies leaves rows without
keys, which no reader sees, and the next sweep archives the messages again. The lease saves work; no guarantee depends on it.
"""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final, NamedTuple, override

from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import ArchivedMessage, Entry, EntryKind
from tidings.messages.ports import SeenPolicy
from tidings.retention.archive import rules
from tidings.retention.archive.bucket import ArchiveObjects
from tidings.retention.archive.model import ArchiveStats, SealedMessage
from tidings.retention.rules import MAX_ACTIONS, expired_part, is_due, oldest_after
from tidings.retention.turns import END_OF_LOG, INTERVAL_S, SweepDeps, TenantSweeper
from tidings.tenants.model import Tenant

_PAGE_ENTRIES: Final = 200
_PART_BYTES: Final = 16 * 1024 * 1024
_PART_PAGES: Final = 1_000
"""Chats with few messages have small pages. This limits how many wait in memory."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDeps(SweepDeps):
    objects: ArchiveObjects


class _Page(NamedTuple):
    """The next entries of a log that are old enough: up to `up_to`.

    sequences: those of all messages, also of the ones that were archived before a process died.
    messages: those whose content the log has.
    """

    chat: ChatKey
    seen: SeenPolicy
    up_to: int
    sequences: Sequence[int]
    messages: Sequence[Entry]
    oldest_ms: int | None

    @property
    def size(self) -> int:
        return sum(len(message.content or b"") for message in self.messages)


class ArchiveSweeper(TenantSweeper[ArchiveStats]):
    name = "messages to archive"

    def __init__(
        self,
        deps: ArchiveDeps,
        *,
        interval_s: float = INTERVAL_S,
        page_entries: int = _PAGE_ENTRIES,
        part_bytes: int = _PART_BYTES,
    ) -> None:
        super().__init__(deps, ArchiveStats(), interval_s)
        self._deps = deps
        self._page_entries = page_entries
        self._part_bytes = part_bytes

    @override
    async def sweep(self, tenant: TenantId) -> ArchiveStats:
        """Archive the messages of one tenant. A chat that fails is left to the next sweep; the others are done."""
        found, pages, size = ArchiveStats(), list[_Page](), 0
        settings = await self._deps.tenants.read(tenant)
        if settings is None or settings.settings.retention.archive_days is None:
            return found
        async for chats in self._pages_of_chats(tenant, has_all=True):
            await self._keep_lease()
            for chat in await self._due(settings, chats, found):
                async for page in self._pages(chat):
                    pages.append(page)
                    size += page.size
                    if size >= self._part_bytes or len(pages) >= _PART_PAGES:
                        await self._archive(tenant, pages, found)
                        pages, size = [], 0
        await self._archive(tenant, pages, found)
        self.stats.add(found)
        return found

    async def _due(self, tenant: Tenant, chats: Sequence[ChatId], found: ArchiveStats) -> list[ChatKey]:
        """Return the chats with messages that may be archived. One read of each chat's row, none of its log."""
        now_ms, due = self._deps.clock.now_ms(), list[ChatKey]()
        rows = await self._deps.store.read_many(tenant.id, chats)
        for chat, row in rows.items():
            cutoff = rules.cutoff_ms(tenant.settings.retention, row, now_ms)
            if cutoff is not None and is_due(row.unarchived_ms, cutoff):
                due.append(ChatKey(tenant.id, chat))
        found.chats += len(rows)
        found.due += len(due)
        return due

    async def _pages(self, chat: ChatKey) -> AsyncIterator[_Page]:
        """Yield the pages of a log from its position on. Writes nothing."""
        after: int | None = None
        while True:
            # Read again for each page: an operator may have set a hold since the last one.
            tenant, row = await self._deps.tenants.read(chat.tenant), await self._deps.store.read(chat)
            if tenant is None or row is None:
                return
            now_ms = self._deps.clock.now_ms()
            cutoff = rules.cutoff_ms(tenant.settings.retention, row, now_ms)
            if cutoff is None:
                return
            after = row.archived_up_to if after is None else after
            entries = await self._deps.log.range(
                chat, after, END_OF_LOG, self._page_entries, newest_first=False
            )
            old = expired_part(entries, cutoff)
            after = old[-1].sequence if old else after
            oldest_ms = oldest_after(entries, len(old), now_ms)
            yield _Page(
                chat,
                SeenPolicy(row.days, tenant.version),
                after,
                [entry.sequence for entry in old if entry.kind is EntryKind.MESSAGE],
                list(filter(rules.is_archivable, old)),
                oldest_ms,
            )
            if oldest_ms is not None:
                return

    async def _archive(self, tenant: TenantId, pages: Sequence[_Page], found: ArchiveStats) -> None:
        """Store the content of pages, then remove it from their logs. Raises retryable errors of the bucket."""
        await self._keep_lease()
        now = await self._deps.tenants.read(tenant)
        if now is None:
            return  # Its archive is being deleted.
        by_month = defaultdict[str, list[SealedMessage]](list)
        for page in pages:
            for entry in page.messages:
                by_month[rules.month_of(entry.created_at_ms)].append(rules.seal_message(page.chat, entry))
        placed: dict[tuple[ChatKey, int], ArchivedMessage] = {}
        for month, messages in by_month.items():
            part = await self._deps.objects.write(tenant, month, rules.rows_of(messages))
            found.parts += 1
            for each in messages:
                placed[each.chat, each.entry.sequence] = ArchivedMessage(each.entry, part, each.key)
        stopped = set[ChatKey]()
        for page in pages:
            # A later page of the same chat must not move the position past one that was not finished.
            if page.chat not in stopped and not await self._finish(now, page, placed, found):
                found.failed += 1
                stopped.add(page.chat)

    async def _finish(
        self,
        tenant: Tenant,
        page: _Page,
        placed: dict[tuple[ChatKey, int], ArchivedMessage],
        found: ArchiveStats,
    ) -> bool:
        """Remove content that is stored from the log and the search index. False: the next sweep does the rest."""
        chat = page.chat
        try:
            for part in batched(page.messages, MAX_ACTIONS):
                messages = [placed[chat, entry.sequence] for entry in part]
                if not await self._deps.expiry.archive(chat, messages, page.seen):
                    return False
                found.archived += len(messages)
                await self._deps.failpoints.hit("archive.content_removed")
            if page.sequences and tenant.settings.has_search:
                await self._deps.store.note_unindexed(chat, page.sequences[0], page.sequences[-1])
                await self._deps.failpoints.hit("archive.unindexed_noted")
            await self._deps.store.advance_archive(chat, page.up_to, page.oldest_ms)
        except TidingsError as error:
            _log.warning("messages of chat %s were not archived: %s", chat.chat, error)
            return False
        await self._deps.failpoints.hit("archive.advanced")
        return True
