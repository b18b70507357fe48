"""Rows and heads are the same for any order of delivery, and agree with the log."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest
from fixtures.memory_chat_rows import MemoryChat, MemoryChatRowWriter, rows_of
from fixtures.reference_rows import Expected, expected
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.delivery.scenarios import (
    USERS,
    EntryScenario,
    deliveries,
    deliveries_by,
    entry_scenarios,
    pushes_of,
)

from tidings.delivery import rules
from tidings.delivery.chat_rows import ChatRowProjector
from tidings.delivery.model import ChatRow, LogPosition, RowUpdate
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))


DIRECT = ChatKey(TenantId("acme"), ChatId("dX"))


def delivered(
    scenario: EntryScenario,
    handfuls: Iterable[Sequence[Entry]],
    chat: MemoryChat | None = None,
    key: ChatKey = CHAT,
) -> MemoryChatRowWriter:
    """Write rows and heads as a worker does: entries that they lack first, then the run again."""
    truth = MemoryChatRowWriter()

    async def write(rows: ChatRowProjector, entries: Sequence[Entry]) -> None:
        for run in rules.split_runs(entries):
            while (missed := await rows.handle(key, run)) is not None:
                await write(rows, scenario.log[missed.after : missed.up_to])

    async def run() -> None:
        rows = rows_of(truth, chat or scenario.chat)
        for handful in handfuls:
            await write(rows, handful)

    asyncio.run(run())
    return truth


def shown_rows(truth: MemoryChatRowWriter) -> dict[UserId, ChatRow]:
    rows = {user: ChatRow(chat=CHAT.chat, known=known) for user, known in truth.rows.items()}
    return {user: rules.with_head(row, truth.head, user) for user, row in rows.items()}


def grown(chance: random.Random, scenario: EntryScenario) -> MemoryChat:
    return replace(scenario.chat, large_since=chance.choice([None, chance.randint(1, len(scenario.log))]))


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_rows_are_the_same_in_any_order_repeated_and_coalesced(data: st.DataObject) -> None:
    scenario = data.draw(entry_scenarios())
    in_order = delivered(scenario, [[entry] for entry in scenario.log])
    as_it_came = delivered(scenario, data.draw(deliveries(scenario)))
    assert shown_rows(as_it_came) == shown_rows(in_order)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_rows_are_the_same_in_any_order_for_many_more_histories(seed: int) -> None:
    """The case of a redaction that overtook its message needed a thousand scenarios."""
    chance = random.Random(seed)
    for _ in range(500):
        scenario = pushes_of(chance)
        chat = grown(chance, scenario)
        in_order = delivered(scenario, [[entry] for entry in scenario.log], chat)
        as_it_came = delivered(scenario, deliveries_by(chance, scenario), chat)
        assert shown_rows(as_it_came) == shown_rows(in_order), scenario.log


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_row_with_its_head_equals_the_reference(seed: int) -> None:
    chance = random.Random(seed)
    scenario = pushes_of(chance)
    truth = delivered(scenario, deliveries_by(chance, scenario), grown(chance, scenario))
    rows = shown_rows(truth)
    for user in USERS:
        read = chance.randint(0, len(scenario.log))
        wanted = expected(user, scenario.log, read)
        if wanted is None:
            assert user not in rows
            continue
        mark = LogPosition(read, scenario.log[read - 1].ordinal) if read else None
        _compare(wanted, msgspec.structs.replace(rows[user], read=mark))
    redacted = {e.sequence for e in scenario.now if e.redacted_at_ms is not None}
    shown = [known.shown for known in (*truth.rows.values(), truth.head) if known.shown]
    assert [s for s in shown if s.sequence in redacted and s.preview is not None] == []


def _compare(wanted: Expected, row: ChatRow) -> None:
    """A former member is shown no message, and a member none from before their last join."""
    known = row.known
    assert (rules.unread_count(row), rules.is_member(known)) == (wanted.unread, wanted.is_member)
    assert (known.head and known.head.sequence) == wanted.head
    assert known.joined is not None
    is_of_now = wanted.is_member and (wanted.shown or 0) > known.joined.sequence
    assert (known.shown and known.shown.sequence) == (wanted.shown if is_of_now else None)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_head_proves_that_the_rows_below_it_are_written(seed: int) -> None:
    """One batch is missing: every head on the way includes only joins, leaves and messages that are in their rows."""
    chance = random.Random(seed)
    scenario = pushes_of(chance)
    rest = deliveries_by(chance, scenario)[1:]
    truth = delivered(scenario, rest)
    end = truth.head.head.sequence if truth.head.head else 0
    for user, entries in rules.entries_by_affected_user(scenario.log[:end]).items():
        wanted = rules.row_update_for(user, entries)
        assert rules.newer_parts(truth.rows[user], wanted) is None


def test_a_run_writes_one_head_and_the_rows_of_its_senders() -> None:
    scenario = EntryScenario()
    scenario.add(EntryKind.CREATE, USERS[0], users=USERS, member_count=3)
    for sender in (USERS[0], USERS[1], USERS[0]):
        scenario.say(sender, expires=False)
    truth = delivered(scenario, [scenario.log[:1]])
    before = truth.writes
    asyncio.run(rows_of(truth, scenario.chat).handle(CHAT, scenario.log[1:]))
    assert truth.writes - before == 3, "the rows of two senders and the head"


def test_both_rows_of_a_direct_chat_have_its_last_message() -> None:
    scenario = EntryScenario()
    scenario.add(EntryKind.CREATE, USERS[0], users=USERS[:2], member_count=2)
    scenario.say(USERS[0], expires=False)
    scenario.change(EntryKind.EDIT, USERS[0], scenario.now[1])
    truth = delivered(scenario, [scenario.log[2:], scenario.log[:1]], key=DIRECT)
    assert truth.head == RowUpdate()
    assert {user: known.other for user, known in truth.rows.items()} == dict(pairwise([*USERS[:2], USERS[0]]))
    shown = [known.shown for known in truth.rows.values()]
    assert [each and (each.rank, each.preview) for each in shown] == [((2, 3), b"edited 3")] * 2


@given(entries=st.lists(st.integers(1, 12), min_size=1))
def test_runs_have_no_holes_and_lose_nothing(entries: list[int]) -> None:
    scenario = EntryScenario()
    for _ in range(12):
        scenario.say(USERS[0], expires=False)
    found = list(rules.split_runs(scenario.log[n - 1] for n in entries))
    assert sorted({e.sequence for run in found for e in run}) == sorted(set(entries))
    assert all(a.sequence + 1 == b.sequence for run in found for a, b in pairwise(run))
    assert all(one[-1].sequence + 1 < two[0].sequence for one, two in pairwise(found))
