"""The indexer: keep the index up to date with the log.

1. Find entries that are missing before a chat's entries, and read them from the log. 2. Apply the state of each message
that the entries create or change. 3. Advance the chat's checkpoint. The caller commits its Kafka offset after that.

Every step may be repeated, and converges: a new message is indexed as its event has it, and the entry of each later
change makes the indexer read the message's present state.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tidings.delivery.ports import FollowedLog
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, TenantId
from tidings.messages.model import Entry, EntryKind
from tidings.search import rules
from tidings.search.chat_indexer import ChatIndexer
from tidings.search.model import IndexChange, MessageRef, SearchDocument
from tidings.search.ports import MessageTexts, SearchIndex
from tidings.tenants.model import TenantLookup

_log = logging.getLogger(__name__)

_MAX_CONCURRENT_CHATS: Final = 32
_CHANGING_KINDS: Final = frozenset({EntryKind.EDIT, EntryKind.REDACTION})

type ChatEntries = tuple[ChatKey, Sequence[Entry]]


@dataclass(slots=True)
class IndexerStats:
    indexed: int = 0
    removed: int = 0
    age_s: float = 0.0
    """How old the newest entry of the last batch was when the index had it."""

    def count(self, changes: Sequence[IndexChange]) -> None:
        for change in changes:
            if isinstance(change, SearchDocument):
                self.indexed += 1
            else:
                self.removed += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexerDeps:
    tenants: TenantLookup
    texts: MessageTexts
    followed: FollowedLog
    index: SearchIndex
    chats: ChatIndexer
    clock: Clock
    failpoints: Failpoints


class MessageIndexer:
    """Processes at most one batch of a partition at a time: the entries of a chat are in one partition."""

    def __init__(self, deps: IndexerDeps, stats: IndexerStats) -> None:
        self._deps = deps
        self._stats = stats

    async def handle(self, events: Iterable[ChatEntries]) -> None:
        """Index the entries of a batch. Raises a retryable error if an engine fails; then repeat it."""
        chats = await self._searchable(events)
        if not chats:
            return
        progress = await self._deps.followed.progress(chats)
        planned = await gather_limited(
            (self._plan(chat, entries, progress[chat]) for chat, entries in chats.items()),
            _MAX_CONCURRENT_CHATS,
        )
        changes = [change for each in planned for change in each]
        if changes:
            await self._deps.index.apply(changes)
            self._stats.count(changes)
        newest_ms = max(entries[-1].created_at_ms for entries in chats.values())
        self._stats.age_s = max(0.0, (self._deps.clock.now_ms() - newest_ms) / 1000)
        await self._deps.failpoints.hit("search.applied")
        await self._deps.followed.advance(chats)

    async def _searchable(self, events: Iterable[ChatEntries]) -> Mapping[ChatKey, list[Entry]]:
        """Group the entries of tenants with search by chat, without repeated ones."""
        chats: dict[ChatKey, dict[int, Entry]] = {}
        for chat, entries in events:
            if await has_search(self._deps.tenants, chat.tenant):
                chats.setdefault(chat, {}).update((entry.sequence, entry) for entry in entries)
        return {chat: [found[n] for n in sorted(found)] for chat, found in chats.items()}

    async def _plan(self, chat: ChatKey, entries: list[Entry], done: int) -> Sequence[IndexChange]:
        # Entries at or below the checkpoint are indexed again: it is cheap, and the index may have been restored.
        filled = await self._deps.followed.fill_gaps(chat, done, entries)
        first = filled[0].sequence
        # A rebuild does not find the chats of users who are not in the directory, because the tenant's server only names
        # them. Their past is indexed here. A chat whose checkpoint is lost has documents, and is not read again.
        if not done and first > 1 and not await self._deps.index.has_chat(chat):
            await self._deps.chats.index(chat, first - 1)
        return await changes_of(self._deps.texts, chat, filled)


async def has_search(tenants: TenantLookup, tenant: TenantId) -> bool:
    found = await tenants.find(tenant)
    return found is not None and found.settings.has_search


async def changes_of(texts: MessageTexts, chat: ChatKey, entries: Sequence[Entry]) -> list[IndexChange]:
    """Return the changes of entries, in order: messages as given, and changed messages in their present state."""
    created = [entry for entry in entries if entry.kind is EntryKind.MESSAGE]
    changed = {
        entry.refers_to: entry.sequence
        for entry in entries
        if entry.kind in _CHANGING_KINDS and entry.refers_to is not None
    }
    changes = {
        each.entry.sequence: rules.index_change(
            MessageRef(chat, each.entry.sequence), each, each.entry.sequence
        )
        for each in (await texts.show(chat, created) if created else ())
    }
    now = await texts.now(chat, changed) if changed else {}
    for sequence, version in changed.items():
        changes[sequence] = rules.index_change(MessageRef(chat, sequence), now.get(sequence), version)
    return list(changes.values())
