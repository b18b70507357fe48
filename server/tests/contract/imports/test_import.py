"""Imports on both engines: what users read afterwards, repeats, and continued imports."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, code_of

from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.app.wiring.imports import ProductChecks, build_import_deps
from tidings.chats.model import ChatType, Membership, Role, chat_type, direct_chat_key
from tidings.imports.chat_import import CHUNK_ENTRIES, REWRITTEN
from tidings.imports.importer import Importer
from tidings.imports.model import ChatLine, ImportStats, LinePlace, imported_chat_key
from tidings.imports.ports import ImportChats, ImportDeps, ImportLog
from tidings.imports.validation import ImportValidator
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.history import ContentState
from tidings.messages.model import Entry, EntryKind

type Lines = list[dict[str, Any]]

USERS: Lines = [{"type": "user", "id": str(user), "name": str(user).title()} for user in (ANNA, BEN, CLEO)]


def header() -> Lines:
    return [{"type": "import", "version": 1, "source": "old"}, *USERS]


def chat_lines(chat: str, messages: int, *, kind: str = "group", **more: Any) -> Lines:
    members = (ANNA, BEN) if kind == "direct" else (ANNA, BEN, CLEO)
    return [
        {"type": "chat", "id": chat, "kind": kind, "name": "General", "created_at": "2020-01-01T00:00:00Z"},
        *({"type": "member", "chat": chat, "user": user} for user in members),
        *(message(chat, n, **more) for n in range(1, messages + 1)),
    ]


def message(chat: str, number: int, **more: Any) -> dict[str, Any]:
    hours, minutes = divmod(number, 60)
    line = {"type": "message", "chat": chat, "id": f"m{number}", "user": str(ANNA), "text": f"text {number}"}
    return line | {"at": f"2020-01-{1 + hours // 24:02}T{hours % 24:02}:{minutes:02}:00Z"} | more


def deps_of(use_cases: UseCaseEnv) -> ImportDeps:
    store = DynamoUserStore(use_cases.client, use_cases.ring, use_cases.user_keys)
    users = UserService(store, use_cases.clock)
    client, tenant, clock = use_cases.client, use_cases.tenant, use_cases.clock
    return build_import_deps(client, tenant, use_cases.user_keys, users, clock=clock, epoch=lambda: 0)


def placed(lines: Lines) -> list[tuple[LinePlace, bytes]]:
    return [(LinePlace("a.jsonl", n), json.dumps(line).encode()) for n, line in enumerate(lines, 1)]


async def run(use_cases: UseCaseEnv, lines: Lines, deps: ImportDeps | None = None) -> ImportStats:
    found = ImportValidator(ProductChecks(), use_cases.clock.now_ms()).validate(placed(lines))
    assert found.problems == []
    return await Importer(deps or deps_of(use_cases), use_cases.tenant).run(placed(lines))


def group_key(use_cases: UseCaseEnv, chat: str) -> ChatKey:
    return imported_chat_key(use_cases.tenant, "old", ChatLine(id=chat, kind="group"), ())


async def stored(use_cases: UseCaseEnv, chat: ChatKey) -> list[Entry]:
    found: list[Entry] = []
    while page := await use_cases.reader.between(chat, len(found), 10**9):
        found += page
    return found


async def test_members_list_read_and_continue_an_imported_group(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    done = await run(use_cases, [*header(), *chat_lines("C1", 3)])
    assert (done.users, done.chats, done.members, done.messages, done.entries) == (3, 1, 3, 3, 4)
    chat = group_key(use_cases, "C1")
    line = await lists.listed(chat, BEN)
    assert (line.name, line.unread, line.member_count, line.read_sequence) == ("General", 0, 3, 4)
    assert line.last is not None
    assert (line.last.text, line.last.sender) == ("text 3", ANNA)
    history = await use_cases.history.before(chat, BEN, None, 50)
    texts = [shown.content.text for shown in history.entries if shown.content is not None]
    assert texts == ["text 3", "text 2", "text 1"]
    assert (await use_cases.rows.membership(chat, ANNA)).role is Role.OWNER  # type: ignore[union-attr]
    sent = await use_cases.send(chat, BEN, "new", after=4)
    assert sent.sequence == 5
    assert await lists.hand(chat, lists.committed()) is None, "the worker would deliver imported entries"
    assert (await lists.listed(chat, CLEO)).unread == 1


async def test_a_direct_chat_is_the_chat_that_both_users_open(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    await run(use_cases, [*header(), *chat_lines("D1", 2, kind="direct")])
    chat = await use_cases.manage.direct(use_cases.tenant, BEN, ANNA)
    assert chat == direct_chat_key(use_cases.tenant, ANNA, BEN)
    assert (await lists.listed(chat, BEN)).unread == 0
    await use_cases.send(chat, BEN, "new", after=3)
    assert await lists.hand(chat, lists.committed()) is None, "the worker would deliver imported entries"
    line = await lists.listed(chat, ANNA)
    assert (line.unread, line.members) == (1, (BEN,))


async def test_nothing_is_published_or_delivered(use_cases: UseCaseEnv) -> None:
    await run(use_cases, [*header(), *chat_lines("C1", 3)])
    assert use_cases.commits == []


async def test_edits_deletions_and_reactions_are_as_in_the_source(use_cases: UseCaseEnv) -> None:
    reactions = [{"emoji": "👍", "users": ["ben", "cleo"]}, {"emoji": "🎉", "users": ["ben"]}]
    lines = [
        *chat_lines("C1", 0),
        message("C1", 1, edited_at="2020-02-01T00:00:00Z", reactions=reactions),
        message("C1", 2, text="", deleted_at="2020-02-01T00:00:00Z"),
        message("C1", 3, reply_to="m1", mentions=["ben"]),
    ]
    await run(use_cases, [*header(), *lines])
    chat = group_key(use_cases, "C1")
    first, deleted, reply = [await use_cases.history.one(chat, BEN, n) for n in (2, 3, 4)]
    assert first.entry.reaction_counts == {"👍": 2, "🎉": 1}
    assert first.entry.edited_at_ms is not None
    assert deleted.state is ContentState.REDACTED
    assert reply.content is not None
    assert (reply.content.reply_to, reply.content.mentions) == (2, (BEN,))
    await use_cases.change.react(asked(chat, BEN, 2), "👍", is_added=False)
    assert (await use_cases.history.one(chat, BEN, 2)).entry.reaction_counts == {"👍": 1, "🎉": 1}


async def test_a_user_who_joined_later_reads_from_their_join(use_cases: UseCaseEnv) -> None:
    lines = chat_lines("C1", 4)
    lines[3] |= {"joined_at": "2020-01-01T00:02:30Z"}  # Cleo
    await run(use_cases, [*header(), *lines])
    seen = await use_cases.history.before(group_key(use_cases, "C1"), CLEO, None, 50)
    texts = [shown.content.text for shown in seen.entries if shown.content is not None]
    assert texts == ["text 4", "text 3"]
    assert (await ChatListEnv(use_cases).listed(group_key(use_cases, "C1"), CLEO)).unread == 0


async def test_a_second_import_changes_nothing(use_cases: UseCaseEnv) -> None:
    lines = [*header(), *chat_lines("C1", 3), *chat_lines("D1", 2, kind="direct")]
    await run(use_cases, lines)
    chat = group_key(use_cases, "C1")
    await use_cases.send(chat, BEN, "new", after=4)
    before = await stored(use_cases, chat), await use_cases.rows.chat(chat)
    again = await run(use_cases, lines)
    assert (again.users, again.users_known, again.chats, again.chats_known) == (0, 3, 0, 2)
    assert (again.entries, again.members, again.skipped_count) == (0, 0, 0)
    assert (await stored(use_cases, chat), await use_cases.rows.chat(chat)) == before


async def test_a_file_with_more_messages_of_an_imported_chat_is_reported(use_cases: UseCaseEnv) -> None:
    await run(use_cases, [*header(), *chat_lines("C1", 3)])
    again = await run(use_cases, [*header(), *chat_lines("C1", 5)])
    assert again.skipped == ["`C1`: it was imported with 4 entries, and the file has 6. It was not changed."]


async def test_a_direct_chat_with_messages_of_its_users_is_skipped(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA, "live")
    done = await run(use_cases, [*header(), *chat_lines("D1", 2, kind="direct")])
    assert (done.chats, done.skipped_count) == (0, 1)
    assert len(await stored(use_cases, chat)) == 2


async def test_a_user_who_was_erased_is_refused_before_any_chat_is_written(use_cases: UseCaseEnv) -> None:
    await use_cases.user_keys.destroy(use_cases.tenant, CLEO)
    assert await code_of(run(use_cases, [*header(), *chat_lines("C1", 2)])) is Code.USER_ERASED
    assert await use_cases.rows.chat(group_key(use_cases, "C1")) is None


class BrokenLog:
    """Writes a number of chunks, in part, and fails then, like a process that is killed."""

    def __init__(self, log: ImportLog, chunks: int) -> None:
        self._log = log
        self._left = chunks

    async def newest(self, chat: ChatKey) -> Entry | None:
        return await self._log.newest(chat)

    async def write(
        self, chat: ChatKey, entries: Sequence[Entry], reactions: Iterable[tuple[int, UserId, str, int]]
    ) -> None:
        self._left -= 1
        if self._left < 0:
            await self._log.write(chat, entries[1::2], reactions)
            raise TidingsError(Code.OVERLOADED, "killed")
        await self._log.write(chat, entries, reactions)


@pytest.mark.parametrize("chunks", [1, 12])
async def test_an_interrupted_log_is_not_readable_and_a_second_run_completes_it(
    use_cases: UseCaseEnv, chunks: int
) -> None:
    count = REWRITTEN + 5 * CHUNK_ENTRIES + 7
    lines = [*header(), *chat_lines("C1", count)]
    chat, deps = group_key(use_cases, "C1"), deps_of(use_cases)
    broken = BrokenLog(deps.log, chunks)
    assert await code_of(run(use_cases, lines, replace(deps, log=broken))) is Code.OVERLOADED
    assert await code_of(use_cases.history.before(chat, BEN, None, 10)) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.send(chat, BEN)) is Code.CHAT_NOT_FOUND
    done = await run(use_cases, lines)
    assert done.chats == 1
    entries = await stored(use_cases, chat)
    assert [entry.sequence for entry in entries] == list(range(1, count + 2))
    assert [entry.client_key for entry in entries[1:]] == [f"m{n}" for n in range(1, count + 1)]
    if chunks == 12:
        assert done.entries < count


async def test_a_partly_imported_chat_cannot_be_continued_from_another_file(use_cases: UseCaseEnv) -> None:
    deps = deps_of(use_cases)
    broken = replace(deps, log=BrokenLog(deps.log, 1))
    assert await code_of(run(use_cases, [*header(), *chat_lines("C1", 250)], broken)) is Code.OVERLOADED
    others = [*header(), *chat_lines("C1", 0), *(message("C1", n, id=f"x{n}") for n in range(1, 250))]
    assert await code_of(run(use_cases, others)) is Code.REQUEST_INVALID
    shorter = [*header(), *chat_lines("C1", 20)]
    assert await code_of(run(use_cases, shorter)) is Code.REQUEST_INVALID


class WatchedChats:
    """Reads the positions that a worker would find when the first member can send."""

    def __init__(self, chats: ImportChats, lists: ChatListEnv) -> None:
        self._chats = chats
        self._lists = lists
        self.claim, self.open, self.finish = chats.claim, chats.open, chats.finish
        self.found: list[int] = []

    async def add_member(self, chat: ChatKey, member: Membership, joined_at_ms: int) -> None:
        if chat_type(chat.chat) is ChatType.GROUP:
            heads = await self._lists.store.heads(chat.tenant, [chat.chat])
            self.found += [each.head.sequence for each in heads.values() if each.head is not None]
        else:
            for user in (ANNA, BEN):
                row = await self._lists.row(chat, user)
                self.found += [row.known.head.sequence] if row.known.head is not None else []
        await self._chats.add_member(chat, member, joined_at_ms)


@pytest.mark.parametrize(("kind", "found"), [("group", [3, 3, 3]), ("direct", [3, 3, 3, 3])])
async def test_heads_and_rows_are_written_before_any_member_can_send(
    use_cases: UseCaseEnv, kind: str, found: list[int]
) -> None:
    deps = deps_of(use_cases)
    watched = WatchedChats(deps.chats, ChatListEnv(use_cases))
    await run(use_cases, [*header(), *chat_lines("C1", 2, kind=kind)], replace(deps, chats=watched))
    assert watched.found == found


async def test_a_run_that_stops_between_two_members_is_completed_and_keeps_live_messages(
    use_cases: UseCaseEnv,
) -> None:
    class Stopping(WatchedChats):
        async def add_member(self, chat: ChatKey, member: Membership, joined_at_ms: int) -> None:
            if member.user == CLEO:
                while await use_cases.rows.membership(chat, ANNA) is None:  # noqa: ASYNC110 - another task adds it
                    await asyncio.sleep(0.01)
                raise TidingsError(Code.OVERLOADED, "killed")
            await self._chats.add_member(chat, member, joined_at_ms)

    lists, deps, lines = ChatListEnv(use_cases), deps_of(use_cases), [*header(), *chat_lines("C1", 2)]
    stopping = replace(deps, chats=Stopping(deps.chats, lists))
    assert await code_of(run(use_cases, lines, stopping)) is Code.OVERLOADED
    chat = group_key(use_cases, "C1")
    await use_cases.send(chat, ANNA, "live", after=3)
    await lists.deliver()
    done = await run(use_cases, lines)
    assert (done.chats, done.entries) == (1, 0)
    assert len(await stored(use_cases, chat)) == 4
    assert (await lists.listed(chat, CLEO)).unread == 1
    assert (await lists.listed(chat, ANNA)).unread == 0


async def test_a_large_group_is_large(use_cases: UseCaseEnv) -> None:
    users: Lines = [{"type": "user", "id": f"u{n}"} for n in range(120)]
    lines = chat_lines("C1", 2)
    lines[4:4] = [{"type": "member", "chat": "C1", "user": f"u{n}"} for n in range(120)]
    await run(use_cases, [*header(), *users, *lines])
    chat = await use_cases.rows.chat(group_key(use_cases, "C1"))
    assert chat is not None
    assert (chat.member_count, chat.large_since) == (123, 2)
    assert (await use_cases.kinds(chat.key))[:2] == [EntryKind.CREATE, EntryKind.JOIN]
