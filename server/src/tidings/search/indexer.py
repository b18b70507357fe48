"""The indexer: keep the index up to date with the log.

1. Find entries that are missing before a chat's entries, and read them from the log. 2. Apply the state of each message
that the entries create or change. 3. Advance the chat's checkpoint. The caller commits its Kafka offset after that.

Every step may be repeated, and converges: a new message is indexed as its event has it, and the entry of each later
change makes the indexer read the message's present state.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

from tidings.connections.model import LookupResult
from tidings.delivery.ports import DeliveryCheckpoints
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, TenantId
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import LogReader
from tidings.search import rules
from tidings.search.model import IndexChange, MessageRef, SearchDocument
from tidings.search.ports import MessageTexts, SearchIndex
from tidings.tenants.model import TenantLookup

_log = logging.getLogger(__name__)

_MAX_KNOWN_CHATS: Final = 100_000
_MAX_CONCURRENT_CHATS: Final = 32
_LOOK_BACK_ENTRIES: Final = 20
_LOOK_BACK_MS: Final = 120_000
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
    log: LogReader
    index: SearchIndex
    checkpoints: DeliveryCheckpoints
    clock: Clock
    failpoints: Failpoints


class MessageIndexer:
    """Processes at most one batch of a partition at a time: the entries of a chat are in one partition."""

    def __init__(self, deps: IndexerDeps, stats: IndexerStats) -> None:
        self._deps = deps
        self._stats = stats
        self._progress: OrderedDict[ChatKey, int] = OrderedDict()

    async def handle(self, events: Iterable[ChatEntries]) -> None:
        """Index the entries of a batch. Raises a retryable error if an engine fails; then repeat it."""
        chats = await self._searchable(events)
        if not chats:
            return
        checkpoints = await self._read_checkpoints(chats)
        planned = await gather_limited(
            (self._plan(chat, entries, checkpoints) for chat, entries in chats.items()), _MAX_CONCURRENT_CHATS
        )
        changes = [change for each in planned for change in each]
        if changes:
            await self._deps.index.apply(changes)
            self._stats.count(changes)
        newest_ms = max(entries[-1].created_at_ms for entries in chats.values())
        self._stats.age_s = max(0.0, (self._deps.clock.now_ms() - newest_ms) / 1000)
        await self._deps.failpoints.hit("search.applied")
        await self._advance(chats)

    async def _searchable(self, events: Iterable[ChatEntries]) -> Mapping[ChatKey, list[Entry]]:
        """Group the entries of tenants with search by chat, without repeated ones."""
        chats: dict[ChatKey, dict[int, Entry]] = {}
        for chat, entries in events:
            if await has_search(self._deps.tenants, chat.tenant):
                chats.setdefault(chat, {}).update((entry.sequence, entry) for entry in entries)
        return {chat: [found[n] for n in sorted(found)] for chat, found in chats.items()}

    async def _read_checkpoints(self, chats: Mapping[ChatKey, list[Entry]]) -> LookupResult[ChatKey, int]:
        asked = [
            chat for chat, entries in chats.items() if self._progress.get(chat, 0) < entries[0].sequence - 1
        ]
        return await self._deps.checkpoints.read(asked) if asked else LookupResult({})

    async def _plan(
        self, chat: ChatKey, entries: list[Entry], checkpoints: LookupResult[ChatKey, int]
    ) -> Sequence[IndexChange]:
        done = max(self._progress.get(chat, 0), checkpoints.found.get(chat, 0))
        # Entries at or below the checkpoint are indexed again: it is cheap, and the index may have been restored.
        return await changes_of(self._deps.texts, chat, await self._fill_gaps(chat, done, entries))

    async def _fill_gaps(self, chat: ChatKey, done: int, entries: list[Entry]) -> list[Entry]:
        """Read the entries that Kafka lacks: their publisher died, and the relay does not publish entries that delivery has read.

        Without a checkpoint, the entries of the last two minutes are read.
        """
        filled = await self._recent_before(chat, entries[0]) if not done else []
        for entry in entries:
            at = filled[-1].sequence if filled else done
            while at and at < entry.sequence - 1:
                page = await self._deps.log.between(chat, at, entry.sequence - 1)
                if not page:
                    break
                filled += page
                at = page[-1].sequence
            filled.append(entry)
        return filled

    async def _recent_before(self, chat: ChatKey, first: Entry) -> list[Entry]:
        if first.sequence == 1:
            return []
        end = first.sequence - 1
        page = await self._deps.log.between(chat, max(0, end - _LOOK_BACK_ENTRIES), end)
        return list(dropwhile(lambda each: each.created_at_ms < first.created_at_ms - _LOOK_BACK_MS, page))

    async def _advance(self, chats: Mapping[ChatKey, list[Entry]]) -> None:
        """Remember how far each chat is indexed. Without Redis, a later worker repeats the last two minutes."""
        for chat, entries in chats.items():
            self._progress[chat] = max(self._progress.get(chat, 0), entries[-1].sequence)
            self._progress.move_to_end(chat)
        while len(self._progress) > _MAX_KNOWN_CHATS:
            self._progress.popitem(last=False)
        try:
            await gather_limited(
                self._deps.checkpoints.advance(chat, 1, self._progress[chat]) for chat in chats
            )
        except UnavailableError as error:
            _log.warning("the checkpoints of search could not be written: %s", error)


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
