"""Users send, read, leave, rejoin and redact at random on an engine; their chat lists are compared with the log."""

import asyncio
import random
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from fixtures.chat_list_env import ChatListEnv
from fixtures.engines import Namespace
from fixtures.reference_rows import Expected, expected, texts_allowed
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, by
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tidings.delivery.chat_list import ChatListFilter
from tidings.delivery.rules import JOINS
from tidings.kernel.ids import UserId
from tidings.messages.model import Entry
from tidings.messages.sender import Content
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client

USERS = (ANNA, BEN, CLEO)
user = st.sampled_from(USERS)
chance = st.integers(0, 10**6)


class Machine(RuleBasedStateMachine):
    """One group. Anna is its owner and never leaves. Committed entries are delivered later, in any order."""

    tables: Tables
    key_file: Path

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.opening: AbstractAsyncContextManager[DynamoClient] = open_client(
            self.tables.url, REGION, self.tables.prefix
        )
        self.use_cases = UseCaseEnv(self.run(self.opening.__aenter__()), Namespace().tenant, self.key_file)
        self.lists = ChatListEnv(self.use_cases)
        self.chat = self.run(self.use_cases.group(BEN))
        self.log: list[Entry] = []
        self.inside = {ANNA, BEN}
        self.marks: dict[UserId, int] = {}
        self.texts: dict[int, str] = {}
        self.alive: dict[int, UserId] = {}
        self.waiting = self.take()

    def run[T](self, doing: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(doing)

    def take(self) -> list[Entry]:
        entries = self.lists.committed()
        self.log += entries
        return entries

    @property
    def head(self) -> int:
        return self.log[-1].sequence

    @rule(member=user)
    def send(self, member: UserId) -> None:
        if member in self.inside:
            text = f"said at {self.head + 1}"
            sent = self.run(self.use_cases.send(self.chat, member, text, after=self.head))
            self.texts[sent.sequence], self.alive[sent.sequence] = text, member
            self.waiting += self.take()

    @precondition(lambda self: self.alive)
    @rule(which=chance)
    def edit(self, which: int) -> None:
        sequence = self._one(which)
        if (member := self.alive[sequence]) in self.inside:
            text = f"edited at {self.head + 1}"
            ask = asked(self.chat, member, sequence, after=self.head)
            done = self.run(self.use_cases.change.edit(ask, Content(text=text)))
            self.texts[done.sequence] = text
            self.waiting += self.take()

    @precondition(lambda self: self.alive)
    @rule(which=chance)
    def redact(self, which: int) -> None:
        sequence = self._one(which)
        self.run(self.use_cases.change.redact(asked(self.chat, ANNA, sequence, after=self.head)))
        del self.alive[sequence]
        self.waiting += self.take()

    @rule(member=st.sampled_from((BEN, CLEO)))
    def leave_or_come_back(self, member: UserId) -> None:
        if member in self.inside:
            self.run(self.use_cases.manage.remove(self.chat, by(member), member))
        elif sum(member in e.users for e in self.log) < 12:
            self.run(self.use_cases.manage.add(self.chat, by(ANNA), [member]))
        else:
            return
        self.inside ^= {member}
        self.waiting += self.take()

    @rule(member=user, which=chance)
    def read(self, member: UserId, which: int) -> None:
        if member in self.inside:
            since = max(e.sequence for e in self.log if member in e.users)
            sequence = since + which % (self.head - since + 1)
            self.run(self.lists.marking.read(self.chat, member, sequence))
            self.marks[member] = max(self.marks.get(member, 0), sequence)

    @rule(seed=chance, again=st.booleans())
    def deliver_and_compare(self, seed: int, *, again: bool) -> None:
        order = random.Random(seed)
        entries = self.waiting + (order.sample(self.log, min(3, len(self.log))) if again else [])
        order.shuffle(entries)
        self.waiting = []
        while entries:
            count = order.randint(1, len(entries))
            self.run(self.lists.process(self.chat, entries[:count]))
            entries = entries[count:]
        for member in USERS:
            self._compare(member)

    def _compare(self, member: UserId) -> None:
        wanted = expected(member, self.log, self.marks.get(member, 0))
        pages = [
            self.run(self.lists.page(member, only)).chats
            for only in (ChatListFilter.ACTIVE, ChatListFilter.LEFT)
        ]
        lines = [line for page in pages for line in page]
        if wanted is None:
            assert lines == []
            return
        (line,) = lines
        assert (line.is_member, line.unread) == (wanted.is_member, wanted.unread)
        assert line.head_sequence == wanted.head
        assert (line.last and line.last.sequence) == self._shown(member, wanted)
        if line.last is not None:
            text = line.last.text or f"({line.last.state})"
            assert text in texts_allowed(wanted, self.texts)

    def _shown(self, member: UserId, wanted: Expected) -> int | None:
        """Return the last message of the list: none before the user's join, and none for a former member."""
        joined = max(e.sequence for e in self.log if e.kind in JOINS and member in e.users)
        is_shown = wanted.is_member and wanted.shown is not None and wanted.shown > joined
        return wanted.shown if is_shown else None

    def _one(self, which: int) -> int:
        return sorted(self.alive)[which % len(self.alive)]

    def teardown(self) -> None:
        self.run(self.opening.__aexit__(None, None, None))
        self.runner.close()


def test_chat_lists_equal_the_reference_for_any_history(tables_dynoxide: Tables, tmp_path: Path) -> None:
    machine = type("OnEngine", (Machine,), {"tables": tables_dynoxide, "key_file": tmp_path / "tidings.key"})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
