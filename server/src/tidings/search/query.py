"""Search messages: the index gives candidates inside the asker's intervals, and the history decides what they may read.

The index can be stale, incomplete or wrong. A result is always a message that the asker could read by its id at the same
moment, and that matches the query in its present state. Nothing in an answer depends on messages outside the intervals of
the asker: they are not asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Interval, may_see
from tidings.search import rules
from tidings.search.model import (
    Candidate,
    CandidateRequest,
    FoundMessage,
    MessageRef,
    ReadableChats,
    SearchPage,
    SearchQuery,
)
from tidings.search.ports import ReadableChatLookup, ReadableMessages, SearchReader
from tidings.tenants.model import TenantLookup

MAX_LIMIT: Final = 50
_MAX_STALE: Final = 500
"""Candidates of one search that do not match any more, so that no request takes long."""
_MAX_CONCURRENT_CHATS: Final = 16


class MessageSearch[S]:
    """`index` is None in an installation without search."""

    def __init__(
        self,
        index: SearchReader | None,
        messages: ReadableMessages[S],
        chats: ReadableChatLookup,
        tenants: TenantLookup,
        clock: Clock,
    ) -> None:
        self._index = index
        self._messages = messages
        self._chats = chats
        self._tenants = tenants
        self._clock = clock

    async def search(
        self, tenant: TenantId, user: UserId, query: SearchQuery, *, limit: int = 20, below: int | None = None
    ) -> SearchPage[S]:
        """Return a page of messages that match and that the user may read now.

        New messages do not move the pages of a cursor. Raises `search_off`, and `overloaded` while the index does not
        answer or has too many messages in a former state.
        """
        index = await self._require_index(tenant)
        chats = await self._chats.find(tenant, user, query.chat)
        found: list[FoundMessage[S]] = []
        wanted = size = min(max(limit, 1), MAX_LIMIT)
        last, stale = below, 0
        while True:
            asked = CandidateRequest(
                tenant=tenant, query=query, chats=chats, now_ms=self._clock.now_ms(), limit=size, below=below
            )
            chats, candidates, matches = await self._find(index, user, asked)
            for each in candidates:
                below = each.order
                if each.ref in matches:
                    found.append(matches[each.ref])
                    last = below
                if len(found) >= wanted and not _shares_order(candidates, each):
                    return SearchPage(tuple(found), last)
            if len(candidates) < size:
                return SearchPage(tuple(found), None)
            stale += len(candidates) - len(matches)
            if stale > _MAX_STALE:
                return _cut_page(found, last)
            size = MAX_LIMIT

    async def _require_index(self, tenant: TenantId) -> SearchReader:
        settings = await self._tenants.find(tenant)
        if self._index is None or settings is None or not settings.settings.has_search:
            raise TidingsError(
                Code.SEARCH_OFF,
                "Search is off for this tenant.",
                hint="An operator turns it on with `tidings search enable`.",
            )
        return self._index

    async def _find(
        self, index: SearchReader, user: UserId, asked: CandidateRequest
    ) -> tuple[ReadableChats, Sequence[Candidate], Mapping[MessageRef, FoundMessage[S]]]:
        """Return the present intervals of the chats, the candidates inside them, and those that match now."""
        while asked.chats:
            candidates = await index.find(asked)
            by_chat = _sequences_by_chat(candidates)
            present = await self._present_intervals(user, by_chat)
            changed = [each for each in by_chat if _has_lost(asked.chats, each, present[each], by_chat[each])]
            if not changed:
                return asked.chats, candidates, await self._matches(asked.query, by_chat, present)
            # Repeat it without the messages that the user has lost: their number must not change the answer.
            for chat in changed:
                self._chats.forget(asked.tenant, user, chat.chat)
            now = {**asked.chats, **{chat.chat: present[chat] for chat in changed}}
            asked = replace(asked, chats={chat: intervals for chat, intervals in now.items() if intervals})
        return {}, (), {}

    async def _present_intervals(
        self, user: UserId, by_chat: Mapping[ChatKey, Sequence[int]]
    ) -> Mapping[ChatKey, Sequence[Interval]]:
        # Race: the user is removed from a chat while they search, or some seconds before. The membership is read after
        # the index returned the candidates, and a leave is committed before later messages. So the membership that is
        # read has every leave below the newest candidate.
        found = await gather_limited(
            (self._messages.intervals_at(chat, user, max(sequences)) for chat, sequences in by_chat.items()),
            _MAX_CONCURRENT_CHATS,
        )
        return dict(zip(by_chat, found, strict=True))

    async def _matches(
        self,
        query: SearchQuery,
        by_chat: Mapping[ChatKey, Sequence[int]],
        present: Mapping[ChatKey, Sequence[Interval]],
    ) -> Mapping[MessageRef, FoundMessage[S]]:
        """Return the messages inside the intervals that match in their present state."""
        readable = {
            chat: [each for each in sequences if may_see(present[chat], each)]
            for chat, sequences in by_chat.items()
        }
        pages = await gather_limited(
            (self._messages.readable(chat, sequences) for chat, sequences in readable.items()),
            _MAX_CONCURRENT_CHATS,
        )
        return {
            MessageRef(chat, sequence): FoundMessage(
                chat, each.shown, rules.highlight(query.words, each.message.text or "")
            )
            for chat, page in zip(readable, pages, strict=True)
            for sequence, each in page.items()
            if rules.is_match(query, each.message)
        }


def _sequences_by_chat(candidates: Sequence[Candidate]) -> dict[ChatKey, list[int]]:
    found: dict[ChatKey, list[int]] = {}
    for each in candidates:
        found.setdefault(each.ref.chat, []).append(each.ref.sequence)
    return found


def _has_lost(
    asked: ReadableChats, chat: ChatKey, present: Sequence[Interval], sequences: Sequence[int]
) -> bool:
    """Return whether a message that was asked for is not readable any more."""
    before = asked.get(chat.chat, ())
    return any(may_see(before, each) and not may_see(present, each) for each in sequences)


def _cut_page[S](found: Sequence[FoundMessage[S]], last: int | None) -> SearchPage[S]:
    """Return a page that ends early. Its cursor is the position of a result: candidates that are none stay hidden."""
    if not found:
        raise TidingsError(
            Code.OVERLOADED, "The index has too many messages in a former state. Retry in some seconds."
        )
    return SearchPage(tuple(found), last)


def _shares_order(candidates: Sequence[Candidate], last: Candidate) -> bool:
    """Return whether a later candidate has the same order. Then the page must not end here."""
    later = candidates[candidates.index(last) + 1 :]
    return bool(later) and later[0].order == last.order
