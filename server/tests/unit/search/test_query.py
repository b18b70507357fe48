"""Which calls a search makes, with an index and a history in memory."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, Interval, may_see
from tidings.search import query as search_query
from tidings.search import rules
from tidings.search.model import (
    Candidate,
    CandidateRequest,
    MessageRef,
    MessageText,
    ReadableChats,
    ReadableMessage,
    SearchQuery,
)
from tidings.search.query import MessageSearch
from tidings.tenants.model import Tenant, TenantSettings

ACME, ANNA, GROUP = TenantId("acme"), UserId("anna"), ChatId("g1")
WORD = SearchQuery(words=rules.parse_query("word"), chat=GROUP)
AHEAD = 10**6


class MemoryChat:
    """One chat: its index, its log and the intervals of ANNA. The index has the word in every message.

    known: the intervals of the list of chats, which can be older than `intervals`.
    edited: messages that have the word no more.
    """

    def __init__(self, count: int, intervals: Sequence[Interval], edited: Collection[int] = ()) -> None:
        self.count, self.intervals, self.known, self.edited = count, intervals, intervals, edited
        self.index_calls: list[CandidateRequest] = []
        self.forgotten: list[ChatId] = []

    def make_search(self) -> MessageSearch[int]:
        return MessageSearch(self, self, MemoryChats(self), SearchTenants(), SystemClock())

    async def find(self, request: CandidateRequest) -> Sequence[Candidate]:
        self.index_calls.append(request)
        found = [
            Candidate(MessageRef(ChatKey(ACME, GROUP), sequence), sequence)
            for sequence in range(self.count, 0, -1)
            if may_see(request.chats[GROUP], sequence) and sequence < (request.below or AHEAD)
        ]
        return found[: request.limit]

    async def intervals_at(self, _chat: ChatKey, _user: UserId, _sequence: int, /) -> Sequence[Interval]:
        return self.intervals

    async def readable(
        self, _chat: ChatKey, sequences: Collection[int], /
    ) -> Mapping[int, ReadableMessage[int]]:
        return {each: ReadableMessage(MessageText(entry(each), self._text(each)), each) for each in sequences}

    def _text(self, sequence: int) -> str:
        return "edited" if sequence in self.edited else "word"


class MemoryChats:
    def __init__(self, chat: MemoryChat) -> None:
        self._chat = chat

    async def find(self, _tenant: TenantId, _user: UserId, _chat: ChatId | None, /) -> ReadableChats:
        return {GROUP: self._chat.known} if self._chat.known else {}

    def forget(self, _tenant: TenantId, _user: UserId, chat: ChatId, /) -> None:
        self._chat.forgotten.append(chat)


class SearchTenants:
    async def find(self, tenant: TenantId, /) -> Tenant | None:
        settings = TenantSettings(name="acme", has_search=True)
        return Tenant(id=tenant, settings=settings, version=1, created_at_ms=0, updated_at_ms=0)


def entry(sequence: int) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=ANNA,
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=sequence,
    )


async def found(chat: MemoryChat, limit: int, below: int | None = None) -> tuple[list[int], int | None]:
    page = await chat.make_search().search(ACME, ANNA, WORD, limit=limit, below=below)
    return [each.shown for each in page.found], page.below


async def test_the_index_is_not_asked_for_a_stranger() -> None:
    chat = MemoryChat(100, ())
    assert await found(chat, 1) == ([], None)
    assert chat.index_calls == []


async def test_the_index_is_asked_once_for_the_messages_inside_the_intervals() -> None:
    chat = MemoryChat(100, (Interval(2, 4), Interval(6, 7)))
    assert await found(chat, 2) == ([7, 4], 4)
    assert await found(chat, 2, 4) == ([3], None)
    assert len(chat.index_calls) == 2


async def test_a_membership_that_ended_meanwhile_limits_the_next_request() -> None:
    chat = MemoryChat(100, (Interval(2, 4),))
    chat.known = (Interval(2),)
    assert await found(chat, 2) == ([4, 3], 3)
    assert [each.chats[GROUP] for each in chat.index_calls] == [(Interval(2),), (Interval(2, 4),)]
    assert chat.forgotten == [GROUP]


async def test_a_membership_without_intervals_ends_the_search() -> None:
    chat = MemoryChat(100, ())
    chat.known = (Interval(0),)
    assert await found(chat, 2) == ([], None)
    assert len(chat.index_calls) == 1


async def test_a_cursor_is_the_position_of_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that ends early does not name the candidate at which it ended."""
    monkeypatch.setattr(search_query, "_MAX_STALE", 60)
    chat = MemoryChat(300, (Interval(0),), edited=range(1, 299))
    assert await found(chat, 5) == ([300, 299], 299)
    with pytest.raises(TidingsError) as caught:
        await found(chat, 5, 299)
    assert caught.value.code is Code.OVERLOADED
    assert await found(MemoryChat(300, (Interval(0),), edited=range(2, 50)), 5, 52) == ([51, 50, 1], None)
