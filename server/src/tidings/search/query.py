"""Search messages: the index gives candidates, and the history decides what the asker may read.

The index can be stale, incomplete or wrong. A result is always a message that the asker could read by its id at the same
moment, and that matches the query in its present state.
"""

from collections.abc import Sequence
from typing import Final

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.search import rules
from tidings.search.model import (
    Candidate,
    CandidateRequest,
    FoundMessage,
    MessageRef,
    SearchPage,
    SearchQuery,
)
from tidings.search.ports import ReadableMessages, SearchReader, UserChats
from tidings.tenants.model import TenantLookup

MAX_LIMIT: Final = 50
_MAX_ROUNDS: Final = 4
"""Reads of the index for one page. A page that is not full then has a cursor, so that no request takes long."""
_MAX_CONCURRENT_CHATS: Final = 16


class MessageSearch[S]:
    """`index` is None in an installation without search."""

    def __init__(
        self,
        index: SearchReader | None,
        messages: ReadableMessages[S],
        chats: UserChats,
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
        answer.
        """
        index = await self._require_index(tenant)
        chats = await self._searched_chats(tenant, user, query)
        found: list[FoundMessage[S]] = []
        wanted = min(max(limit, 1), MAX_LIMIT)
        for _ in range(_MAX_ROUNDS):
            if not chats:
                return SearchPage((), None)
            asked = CandidateRequest(
                tenant=tenant,
                query=query,
                chats=chats,
                now_ms=self._clock.now_ms(),
                limit=wanted,
                below=below,
            )
            candidates = await index.find(asked)
            readable = await self._readable(user, query, candidates)
            for each in candidates:
                below = each.order
                if each.ref in readable:
                    found.append(readable[each.ref])
                if len(found) >= wanted and not _shares_order(candidates, each):
                    return SearchPage(tuple(found), below)
            if len(candidates) < wanted:
                return SearchPage(tuple(found), None)
        return SearchPage(tuple(found), below)

    async def _require_index(self, tenant: TenantId) -> SearchReader:
        settings = await self._tenants.find(tenant)
        if self._index is None or settings is None or not settings.settings.has_search:
            raise TidingsError(
                Code.SEARCH_OFF,
                "Search is off for this tenant.",
                hint="An operator turns it on with `tidings search enable`.",
            )
        return self._index

    async def _searched_chats(self, tenant: TenantId, user: UserId, query: SearchQuery) -> tuple[ChatId, ...]:
        """Return the chats to search in. This only narrows the search: permission is checked for each message."""
        if query.chat is not None:
            return (query.chat,)
        return tuple(sorted(await self._chats.chats_of(tenant, user)))

    async def _readable(
        self, user: UserId, query: SearchQuery, candidates: Sequence[Candidate]
    ) -> dict[MessageRef, FoundMessage[S]]:
        # Race: the user is removed from a chat while they search. The membership is read after the index returned the
        # candidates, and a leave is committed before later messages. So the membership that is read has every leave
        # below the newest candidate.
        by_chat: dict[ChatKey, list[int]] = {}
        for each in candidates:
            by_chat.setdefault(each.ref.chat, []).append(each.ref.sequence)
        pages = await gather_limited(
            (self._messages.readable(chat, sequences, user) for chat, sequences in by_chat.items()),
            _MAX_CONCURRENT_CHATS,
        )
        return {
            MessageRef(chat, sequence): FoundMessage(
                chat, each.shown, rules.highlight(query.words, each.message.text or "")
            )
            for chat, page in zip(by_chat, pages, strict=True)
            for sequence, each in page.items()
            if rules.is_match(query, each.message)
        }


def _shares_order(candidates: Sequence[Candidate], last: Candidate) -> bool:
    """Return whether a later candidate has the same order. Then the page must not end here."""
    later = candidates[candidates.index(last) + 1 :]
    return bool(later) and later[0].order == last.order
