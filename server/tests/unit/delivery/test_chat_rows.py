"""Rows are the same for any order of delivery, and agree with the log."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

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
from tidings.delivery.model import ChatRow, LogPosition, RowUpdate
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))


def delivered(
    scenario: EntryScenario, handfuls: Iterable[Sequence[Entry]], chat: MemoryChat | None = None
) -> MemoryChatRowWriter:
    truth = MemoryChatRowWriter()

    async def run() -> None:
        rows = rows_of(truth, chat or scenario.chat)
        for handful in handfuls:
            await rows.handle(CHAT, handful)

    asyncio.run(run())
    return truth


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_rows_are_the_same_in_any_order_repeated_and_coalesced(data: st.DataObject) -> None:
    scenario = data.draw(entry_scenarios())
    in_order = delivered(scenario, [[entry] for entry in scenario.log])
    as_it_came = delivered(scenario, data.draw(deliveries(scenario)))
    assert as_it_came.rows == in_order.rows


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_the_same_in_any_order_for_many_more_histories(seed: int) -> None:
    """The case of a redaction that overtook its message, for a former member, needed a thousand scenarios."""
    chance = random.Random(seed)
    for _ in range(500):
        scenario = pushes_of(chance)
        in_order = delivered(scenario, [[entry] for entry in scenario.log])
        assert delivered(scenario, deliveries_by(chance, scenario)).rows == in_order.rows, scenario.log


@settings(max_examples=80, deadline=None)
@given(scenario=entry_scenarios(), data=st.data())
def test_a_row_equals_the_reference(scenario: EntryScenario, data: st.DataObject) -> None:
    truth = delivered(scenario, [scenario.log])
    for user in USERS:
        read = data.draw(st.integers(0, len(scenario.log)))
        wanted = expected(user, scenario.log, read)
        if wanted is None:
            assert user not in truth.rows
            continue
        known = truth.rows[user]
        mark = LogPosition(read, scenario.log[read - 1].ordinal) if read else None
        row = ChatRow(chat=CHAT.chat, known=known, read=mark)
        assert (known.head and known.head.sequence) == wanted.head
        assert rules.unread_count(row) == wanted.unread
        assert rules.is_member(known) == wanted.is_member
        assert (known.shown and known.shown.sequence) == wanted.shown


@settings(max_examples=50, deadline=None)
@given(scenario=entry_scenarios(), data=st.data())
def test_no_row_shows_redacted_text(scenario: EntryScenario, data: st.DataObject) -> None:
    truth = delivered(scenario, data.draw(deliveries(scenario)))
    redacted = {e.sequence for e in scenario.now if e.redacted_at_ms is not None}
    shown = [known.shown for known in truth.rows.values() if known.shown]
    assert [s for s in shown if s.sequence in redacted and s.preview is not None] == []


@settings(max_examples=50, deadline=None)
@given(scenario=entry_scenarios(), data=st.data())
def test_a_chat_that_becomes_large_has_the_same_rows_in_any_order(
    scenario: EntryScenario, data: st.DataObject
) -> None:
    since = data.draw(st.integers(1, len(scenario.log)))

    def lines(handfuls: Iterable[Sequence[Entry]]) -> dict[str, object]:
        truth = delivered(scenario, handfuls, replace(scenario.chat, large_since=since))
        return {user: line(known, truth.head) for user, known in truth.rows.items()}

    assert lines(data.draw(deliveries(scenario))) == lines([[entry] for entry in scenario.log])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_row_of_a_large_chat_equals_the_reference(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        scenario = pushes_of(chance)
        large = replace(scenario.chat, large_since=chance.randint(1, len(scenario.log)))
        truth = delivered(scenario, deliveries_by(chance, scenario), large)
        for user, known in truth.rows.items():
            _compare(
                expected(user, scenario.log),
                rules.with_head(ChatRow(chat=CHAT.chat, known=known), truth.head),
            )
        redacted = {e.sequence for e in scenario.now if e.redacted_at_ms is not None}
        shown = [known.shown for known in (*truth.rows.values(), truth.head) if known.shown]
        assert [s for s in shown if s.sequence in redacted and s.preview is not None] == []


def _compare(wanted: Expected | None, row: ChatRow) -> None:
    """For an earlier interval the row may show less, but never an entry that its user may not see."""
    assert wanted is not None
    assert (rules.unread_count(row), rules.is_member(row.known)) == (wanted.unread, wanted.is_member)
    assert row.known.joined is not None
    shown = row.known.shown.sequence if row.known.shown else 0
    is_of_now = wanted.is_member and (wanted.shown or 0) > row.known.joined.sequence
    assert shown == wanted.shown if is_of_now else shown <= (wanted.shown or 0)


def line(known: RowUpdate, head: RowUpdate) -> object:
    row = rules.with_head(ChatRow(chat=CHAT.chat, known=known), head)
    return row, rules.unread_count(row)


@settings(max_examples=50, deadline=None)
@given(scenario=entry_scenarios(), data=st.data())
def test_the_missed_range_starts_at_the_first_missed_entry(
    scenario: EntryScenario, data: st.DataObject
) -> None:
    """Only the end of the log is processed; processing the reported missing ranges completes the rows."""
    tail = scenario.log[data.draw(st.integers(0, len(scenario.log) - 1)) :]
    truth = MemoryChatRowWriter()

    async def run() -> None:
        rows = rows_of(truth, scenario.chat)
        missed = await rows.handle(CHAT, tail)
        while missed is not None:
            missed = await rows.handle(CHAT, scenario.log[missed.after : missed.up_to])

    asyncio.run(run())
    people = asyncio.run(scenario.chat.everyone(CHAT))
    reached = [m.user for m in people if rules.entries_visible_to(m.intervals, tail)]
    whole = delivered(scenario, [scenario.log]).rows
    assert {user: truth.rows[user] for user in reached} == {user: whole[user] for user in reached}


@given(entries=st.lists(st.integers(1, 12), min_size=1))
def test_runs_have_no_holes_and_lose_nothing(entries: list[int]) -> None:
    scenario = EntryScenario()
    for _ in range(12):
        scenario.say(USERS[0], expires=False)
    found = list(rules.split_runs(scenario.log[n - 1] for n in entries))
    assert sorted({e.sequence for run in found for e in run}) == sorted(set(entries))
    assert all(a.sequence + 1 == b.sequence for run in found for a, b in pairwise(run))
    assert all(one[-1].sequence + 1 < two[0].sequence for one, two in pairwise(found))
