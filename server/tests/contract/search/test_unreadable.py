"""A search reveals nothing about messages that the asker may not read, on real tables and a real index."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import pytest
from fixtures.loops import AsyncFixture
from fixtures.search import SearchEnv
from fixtures.use_cases import ANNA, BEN, asked, by
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidings.chats.model import direct_chat_key
from tidings.kernel.ids import ChatId, ChatKey, UserId, new_ulid
from tidings.messages.sender import Content
from tidings.search import rules
from tidings.search.model import Candidate, CandidateRequest, SearchQuery

pytestmark = [
    pytest.mark.parametrize("indexes", ["tantivy"], indirect=True),
    pytest.mark.parametrize("tables", ["dynoxide"], indirect=True),
]

WORDS = ("carol", "care", "may")
EMPTY_PAGE = ((), False)

type Step = tuple[str, str | int]
"""`send` with the words of a message; or `edit`, `redact`, `leave` or `join`, with the number of a message."""


class SearchTrace(NamedTuple):
    """The pages of a search, each with its texts and whether it has a cursor, and the number of calls that it made."""

    pages: Sequence[tuple[Sequence[str], bool]]
    index_calls: int
    store_reads: Counter[str]


async def traced(search: SearchEnv, user: UserId, chat: ChatId | None, text: str, limit: int) -> SearchTrace:
    """Search as the first caller of a process."""
    requests: list[CandidateRequest] = []
    find = search.index.find

    async def counted(request: CandidateRequest) -> Sequence[Candidate]:
        requests.append(request)
        return await find(request)

    service = search.make_search(chats_fresh_s=60)
    query = SearchQuery(words=rules.parse_query(text), chat=chat)
    pages: list[tuple[Sequence[str], bool]] = []
    below, before = None, store_calls(search)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search.index, "find", counted)
        while not pages or below is not None:
            page = await service.search(search.use_cases.tenant, user, query, limit=limit, below=below)
            below = page.below
            found = tuple(each.shown.content.text for each in page.found if each.shown.content)
            pages.append((found, below is not None))
    return SearchTrace(pages, len(requests), store_calls(search) - before)


def store_calls(search: SearchEnv) -> Counter[str]:
    return Counter({row.pattern: row.calls for row in search.use_cases.client.ledger.rows()})


class TwinHistories:
    """Two chats with the same entries. Of what the reader may not read, only the first chat has words."""

    def __init__(self, search: SearchEnv) -> None:
        self.use_cases = search.use_cases
        self.reader = UserId(f"reader-{new_ulid()}")
        self.is_member = False
        self._sent: list[tuple[int, str]] = []
        """The sequences of all messages, and the words of each in the second chat."""

    async def create(self) -> None:
        self.chats = [await self.use_cases.group(BEN) for _ in range(2)]

    async def apply(self, step: Step) -> None:
        match step:
            case ("send", str(text)):
                await self.send(text)
            case ("leave", _) if self.is_member:
                await self._each(lambda chat: self.use_cases.manage.remove(chat, by(ANNA), self.reader))
                self.is_member = False
            case ("join", _) if not self.is_member:
                await self._each(lambda chat: self.use_cases.commands.add(chat, by(ANNA), [self.reader]))
                self.is_member = True
            case ("edit" | "redact" as kind, int(number)) if self._sent:
                sequence, words = self._sent.pop(number % len(self._sent))
                for chat, text in zip(self.chats, ("care may", words and "care may"), strict=True):
                    await self._change(kind, chat, sequence, text)
            case _:
                pass

    async def send(self, text: str) -> None:
        words = text if self.is_member else ""
        contents = zip(self.chats, (text, words or "nothing"), strict=True)
        [sequence, _] = [(await self.use_cases.send(chat, ANNA, each)).sequence for chat, each in contents]
        self._sent.append((sequence, words))

    async def _change(self, kind: str, chat: ChatKey, sequence: int, text: str) -> None:
        wanted = asked(chat, ANNA, sequence)
        if kind == "redact":
            await self.use_cases.change.redact(wanted)
        else:
            await self.use_cases.change.edit(wanted, Content(text=text or "nothing"))

    async def _each(self, act: Callable[[ChatKey], Awaitable[object]]) -> None:
        for chat in self.chats:
            await act(chat)


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(" ".join)
sends: st.SearchStrategy[Any] = st.tuples(st.just("send"), texts)
changes: st.SearchStrategy[Any] = st.tuples(
    st.sampled_from(("edit", "redact", "leave", "join")), st.integers(0, 20)
)
histories = st.lists(st.one_of(sends, sends, changes), max_size=25)
queries = st.tuples(st.sampled_from(("carol", "ca*", "may", "carol may")), st.integers(1, 3))
examples = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@examples
@given(histories, queries)
def test_an_answer_does_not_depend_on_messages_outside_the_intervals(
    search: AsyncFixture[SearchEnv], steps: Sequence[Step], query: tuple[str, int]
) -> None:
    """Nor do its cursors and the number of pages, requests to the index and reads of tables."""

    async def run() -> None:
        async with search.open() as env:
            twins = TwinHistories(env)
            await twins.create()
            for step in steps:
                await twins.apply(step)
            await env.handle()
            first, second = [await traced(env, twins.reader, each.chat, *query) for each in twins.chats]
            assert first == second

    asyncio.run(run())


@examples
@given(histories, queries, st.integers(1, 8))
def test_the_answer_to_a_former_member_does_not_depend_on_later_messages(
    search: AsyncFixture[SearchEnv], steps: Sequence[Step], query: tuple[str, int], later: int
) -> None:
    async def run() -> None:
        async with search.open() as env:
            twins = TwinHistories(env)
            await twins.create()
            for step in (*steps, ("join", 0), ("leave", 0)):
                await twins.apply(step)
            await env.handle()
            chats = (None, twins.chats[0].chat)
            before = [await traced(env, twins.reader, chat, *query) for chat in chats]
            for _ in range(later):
                await twins.send("carol may care")
            await env.handle()
            assert [await traced(env, twins.reader, chat, *query) for chat in chats] == before

    asyncio.run(run())


@examples
@given(histories, queries)
def test_a_stranger_cannot_tell_a_chat_from_one_that_does_not_exist(
    search: AsyncFixture[SearchEnv], steps: Sequence[Step], query: tuple[str, int]
) -> None:
    async def run() -> None:
        async with search.open() as env:
            use_cases, stranger, absent = env.use_cases, UserId("eve"), UserId(f"absent-{new_ulid()}")
            twins = TwinHistories(env)
            twins.chats = [await use_cases.commands.direct(use_cases.tenant, ANNA, BEN)]
            twins.chats.append(await use_cases.group(BEN))
            for step in steps:
                if isinstance(step[1], str):
                    await twins.send(step[1])
            await env.handle()
            there, not_there = [
                await traced(env, stranger, direct_chat_key(use_cases.tenant, ANNA, other).chat, *query)
                for other in (BEN, absent)
            ]
            assert there == not_there
            assert (there.pages, there.index_calls) == ([EMPTY_PAGE], 0)
            group = await traced(env, stranger, twins.chats[1].chat, *query)
            assert group == await traced(env, stranger, ChatId("g" + new_ulid()), *query)
            assert (group.pages, group.index_calls) == ([EMPTY_PAGE], 0)

    asyncio.run(run())


async def test_an_old_list_of_chats_changes_no_answer(search: SearchEnv) -> None:
    """The list is some seconds old, or the chat row lacks the leave, when a former member searches."""
    use_cases = search.use_cases
    twins = TwinHistories(search)
    await twins.create()
    await twins.apply(("join", 0))
    await twins.send("carol one")
    await search.handle()
    search.service = search.make_search(chats_fresh_s=60)
    for chat in (None, twins.chats[0].chat):
        assert "carol one" in await search.found(twins.reader, "carol", chat=chat)
    await use_cases.manage.remove(twins.chats[0], by(ANNA), twins.reader)
    for number in range(5):
        await use_cases.send(twins.chats[0], ANNA, f"carol {number}")
    await search.handle()
    for chat in (None, twins.chats[0].chat):
        query = SearchQuery(words=rules.parse_query("carol"), chat=chat, before_ms=use_cases.clock.now_ms())
        [found] = (await search.service.search(use_cases.tenant, twins.reader, query, limit=1)).found
        assert found.shown.content == Content(text="carol one")
