"""Gaps that a failover leaves in a log: global tables replicate each entry on its own, in no order."""

import asyncio
import random
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest
from contract.chats.test_restored import ChatTables, random_change, restarted, rows_of
from contract.gateway.test_restored import lose_entries
from fixtures.tables import Tables
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, by

from tidings.app.wiring.chats import build_past_log
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.edits import ChangeRequest
from tidings.messages.history import HistorySlice
from tidings.messages.model import MODERATOR, Entry, EntryKind, Interval
from tidings.messages.past_log import UNKNOWN_SENDER, PastLog

_LOST = EntryKind.LOST


def entries(page: HistorySlice) -> list[Entry]:
    return [shown.entry for shown in page.entries][::-1]


def past_log(env: UseCaseEnv) -> PastLog:
    return build_past_log(env.client, env.clock, lambda: env.epoch)


async def history(env: UseCaseEnv, chat: ChatKey) -> list[Entry]:
    return entries(await env.history.before(chat, BEN, None, 100))


async def talk(env: UseCaseEnv) -> ChatKey:
    """Return a chat with the messages 2 to 5, the name 6, and the messages 7 and 8."""
    chat = await env.group(BEN)
    for n in range(2, 6):
        await env.send(chat, ANNA, f"m{n}")
    await env.manage.rename(chat, by(ANNA), "new name")
    for n in range(7, 9):
        await env.send(chat, ANNA, f"m{n}")
    return chat


async def test_the_first_reader_makes_the_log_dense_again(use_cases: UseCaseEnv, tables: Tables) -> None:
    chat = await talk(use_cases)
    before = await history(use_cases, chat)
    lose_entries(tables, chat, 3, 4, 6)
    restarted(use_cases)
    found = await history(use_cases, chat)
    assert [entry.sequence for entry in found] == [*range(1, 9)]
    assert [(entry.sequence, entry.sender, entry.epoch) for entry in found if entry.kind is _LOST] == [
        (sequence, UNKNOWN_SENDER, 0) for sequence in (3, 4, 6)
    ]
    # Two lost messages count, the lost name does not.
    assert [entry.ordinal for entry in found] == [entry.ordinal for entry in before]
    assert [entry for entry in found if entry.kind is not _LOST] == [
        entry for entry in before if entry.sequence not in {3, 4, 6}
    ]


async def test_a_log_without_gaps_is_not_written(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    before = await history(use_cases, chat)
    restarted(use_cases)
    await use_cases.send(chat, BEN, "later")
    assert (await history(use_cases, chat))[:-1] == before


async def test_readers_at_the_same_time_put_the_same_entries(use_cases: UseCaseEnv, tables: Tables) -> None:
    chat = await talk(use_cases)
    lose_entries(tables, chat, 3, 5, 7)
    restarted(use_cases)
    ends = await asyncio.gather(*(past_log(use_cases).end(chat) for _ in range(5)))
    assert {end.sequence for end in ends} == {8}
    found = await history(use_cases, chat)
    assert [entry.kind is _LOST for entry in found] == [sequence in {3, 5, 7} for sequence in range(1, 9)]


@pytest.mark.parametrize("lost", [(7,), (6, 7), (4, 6), (2, 3, 4, 5, 6, 7)])
async def test_the_end_of_the_past_log_is_found_above_a_gap(
    lost: tuple[int, ...], use_cases: UseCaseEnv, tables: Tables
) -> None:
    """A moderator needs no membership, so this message is appended before any reader compares a row."""
    chat = await talk(use_cases)
    lose_entries(tables, chat, *lost)
    restarted(use_cases)
    await use_cases.change.redact(ChangeRequest(chat, MODERATOR, ClientKey("r"), 8))
    end = await past_log(use_cases).end(chat)
    assert (end.sequence, end.ordinal) == (8, 6)
    assert [entry.sequence for entry in await history(use_cases, chat)] == [*range(1, 10)]


async def test_a_member_who_joined_above_a_gap_stays_a_member(use_cases: UseCaseEnv, tables: Tables) -> None:
    chat = await talk(use_cases)
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    lose_entries(tables, chat, 6, 8)
    restarted(use_cases)
    await use_cases.send(chat, CLEO, "here", after=9)
    assert [entry.sequence for entry in await history(use_cases, chat)] == [*range(1, 11)]
    assert [e.sequence for e in entries(await use_cases.history.before(chat, CLEO, None, 9))] == [9, 10]


async def test_a_retry_of_a_lost_message_is_appended_again(use_cases: UseCaseEnv, tables: Tables) -> None:
    chat = await talk(use_cases)
    sent = await use_cases.send(chat, BEN, "important", key="k")
    await use_cases.send(chat, ANNA, "next")
    lose_entries(tables, chat, sent.sequence)
    restarted(use_cases)
    again = await use_cases.send(chat, BEN, "important", key="k")
    assert (sent.sequence, again.sequence) == (9, 11)


async def test_a_reader_that_may_not_write_leaves_the_gap(use_cases: UseCaseEnv, tables: Tables) -> None:
    chat = await talk(use_cases)
    lose_entries(tables, chat, 4)
    restarted(use_cases)
    await build_past_log(use_cases.client, use_cases.clock, lambda: use_cases.epoch, is_read_only=True).end(
        chat
    )
    assert await use_cases.reader.one(chat, 4) is None


@pytest.mark.parametrize("seed", range(4))
async def test_memberships_agree_with_a_log_that_lost_any_entries(
    seed: int, use_cases: UseCaseEnv, tables: Tables
) -> None:
    turn = random.Random(seed)
    chat = await use_cases.group(BEN, CLEO)
    below = ChatTables(tables, chat)
    instants = [below.now()]
    for _ in range(40):
        with suppress(TidingsError):
            await random_change(use_cases, chat, turn)()
            instants.append(below.now())
    stored = await use_cases.reader.range(chat, 0, 100, 100, newest_first=False)
    for share in (0.1, 0.3, 0.5):
        lost = {entry.sequence for entry in stored[1:-1] if turn.random() < share}
        below.put_back(instants[-1], turn.choice(instants))
        lose_entries(tables, chat, *lost)
        restarted(use_cases)
        members, _ = await rows_of(use_cases, chat)
        expected = replayed(stored, lost)
        assert members.keys() >= expected.keys()
        for user, row in members.items():
            assert agree(row.intervals, expected.get(user, ())), (
                user,
                row.intervals,
                expected.get(user),
                lost,
            )


@dataclass(frozen=True)
class ExpectedInterval:
    """An interval as joins and leaves of a log say: it ended at one of `ends`; without any, it is open."""

    joined: int
    ends: Collection[int] = ()


def replayed(log: Sequence[Entry], lost: Collection[int]) -> dict[UserId, tuple[ExpectedInterval, ...]]:
    """Return the intervals of each user. A member who joins again has left in one of the lost entries in between."""
    found: dict[UserId, tuple[ExpectedInterval, ...]] = {}
    for entry in log:
        for user in entry.users if entry.sequence not in lost else ():
            before = found.get(user, ())
            is_member = bool(before) and not before[-1].ends
            if entry.kind is EntryKind.LEAVE and is_member:
                found[user] = (*before[:-1], replace(before[-1], ends=(entry.sequence,)))
            elif entry.kind in {EntryKind.CREATE, EntryKind.JOIN}:
                if is_member:
                    between = [each for each in lost if before[-1].joined + 1 < each < entry.sequence]
                    before = (*before[:-1], replace(before[-1], ends=between))
                found[user] = (*before, ExpectedInterval(entry.sequence - 1))
    return found


def agree(intervals: Sequence[Interval], expected: Sequence[ExpectedInterval]) -> bool:
    return len(intervals) == len(expected) and all(
        interval.joined == each.joined
        and (interval.removed in each.ends if each.ends else interval.removed is None)
        for interval, each in zip(intervals, expected, strict=True)
    )
