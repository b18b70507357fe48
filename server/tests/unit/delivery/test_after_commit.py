"""The worker behind the commit: in order, coalesced, bounded, and patient."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from fixtures.loops import until
from fixtures.memory_rows import MemoryChat, MemoryTruth, rows_of
from unit.delivery.stories import USERS, Story

from tidings.delivery import after_commit
from tidings.delivery.after_commit import AfterCommit, Bounds
from tidings.delivery.rows import Missed
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import Entry

CHAT, OTHER = (ChatKey(TenantId("acme"), ChatId(name)) for name in ("gX", "gY"))


def a_log(count: int = 12) -> Story:
    story = Story()
    for _ in range(count):
        story.say(USERS[0], expires=False)
    return story


@dataclass
class Handler:
    """Notes what it is given; holds at the gate; fails as it is told to."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    given: list[tuple[ChatKey, list[int]]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    missed: list[Missed | None] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def handle(self, chat: ChatKey, entries: Sequence[Entry]) -> Missed | None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.given.append((chat, [entry.sequence for entry in entries]))
        try:
            await self.gate.wait()
            if self.failures:
                raise self.failures.pop(0)
        finally:
            self.at_once -= 1
        return self.missed.pop(0) if self.missed else None


def worker(handler: Handler, story: Story, bounds: Bounds | None = None) -> AfterCommit:
    after = AfterCommit(handler, MemoryChat(story.now, {}), bounds)
    after.start()
    return after


async def test_what_comes_in_while_a_chat_is_worked_on_goes_together_afterwards() -> None:
    story, handler = a_log(), Handler()
    after = worker(handler, story)
    after(CHAT, story.log[:1])
    await until(lambda: handler.given)
    for entry in story.log[1:6]:
        after(CHAT, [entry])
    after(OTHER, story.log[:1])
    await until(lambda: len(handler.given) == 2)
    assert handler.given == [(CHAT, [1]), (OTHER, [1])], "one run of a chat at a time, others beside it"
    handler.gate.set()
    await until(lambda: after.is_idle)
    assert handler.given[2:] == [(CHAT, [2, 3, 4, 5, 6])]
    await after.stop()


async def test_a_full_queue_keeps_ranges_and_reads_them_from_the_log() -> None:
    story, handler = a_log(), Handler()
    after = worker(handler, story, Bounds(entries=4, at_once=1))
    after(OTHER, story.log[:1])
    await until(lambda: handler.given)
    for entry in story.log:
        after(CHAT, [entry])
    assert after._held <= 4
    handler.gate.set()
    await until(lambda: after.is_idle)
    read = [n for chat, numbers in handler.given if chat == CHAT for n in numbers]
    assert read == list(range(1, 13))
    assert after.dropped == 0
    await after.stop()


async def test_the_number_of_chats_that_wait_is_bounded_too() -> None:
    story, handler = a_log(), Handler()
    after = AfterCommit(handler, MemoryChat(story.now, {}), Bounds(chats=3))
    for n in range(10):
        after(ChatKey(TenantId("acme"), ChatId(f"g{n}")), story.log[:1])
    assert (len(after._waiting), after.dropped) == (3, 7)


async def test_a_fault_that_passes_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_commit, "_LONGEST_WAIT_S", 0.01)
    story, handler = a_log(), Handler()
    handler.gate.set()
    handler.failures = [TidingsError(Code.OVERLOADED, "scripted")] * 3
    after = worker(handler, story)
    after(CHAT, story.log[:2])
    await until(lambda: after.is_idle)
    assert handler.given == [(CHAT, [1, 2])] * 4
    assert after.dropped == 0
    await after.stop()


@pytest.mark.parametrize("fault", [TidingsError(Code.CONTENT_INVALID, "scripted"), KeyError("scripted")])
async def test_a_chat_that_can_not_be_handled_does_not_end_the_worker(fault: Exception) -> None:
    story, handler = a_log(), Handler()
    handler.gate.set()
    handler.failures = [fault]
    after = worker(handler, story, Bounds(at_once=1))
    after(CHAT, story.log[:2])
    after(OTHER, story.log[:2])
    await until(lambda: after.is_idle)
    assert (handler.given, after.dropped) == ([(CHAT, [1, 2]), (OTHER, [1, 2])], 1)
    await after.stop()


async def test_what_rows_have_missed_is_read_and_handled() -> None:
    story, handler = a_log(), Handler()
    handler.gate.set()
    handler.missed = [Missed(4, 9), Missed(1, 4)]
    after = worker(handler, story)
    after(CHAT, story.log[9:])
    await until(lambda: after.is_idle)
    assert [numbers for _, numbers in handler.given] == [[10, 11, 12], [5, 6, 7], [2, 3, 4], [8, 9]]
    await after.stop()


async def test_stopping_writes_what_waits() -> None:
    story, handler = a_log(), Handler()
    after = worker(handler, story)
    after(CHAT, story.log[:3])
    asyncio.get_running_loop().call_later(0.05, handler.gate.set)
    await after.stop()
    assert handler.given == [(CHAT, [1, 2, 3])]
    assert after.is_idle


async def test_stopping_does_not_wait_for_ever() -> None:
    story, handler = a_log(), Handler()
    after = worker(handler, story)
    after(CHAT, story.log[:3])
    await until(lambda: handler.given)
    await after.stop(within_s=0.01)
    assert all(task.done() for task in after._tasks)


async def test_a_process_that_comes_late_makes_the_rows_whole() -> None:
    """What another process committed and did not get to is in no queue here: the rows themselves tell."""
    story = a_log()
    truth, chat = MemoryTruth(), MemoryChat(story.now, {USERS[0]: [(1, 10**9)], USERS[1]: [(3, 10**9)]})
    after = AfterCommit(rows_of(truth, chat), chat)
    after.start()
    after(CHAT, story.log[11:])
    await until(lambda: after.is_idle)
    own = truth.rows[USERS[0]].own
    assert own is not None
    assert own.sequence == 12
    assert truth.writes > 8, "all twelve were handled, three at a time"
    await after.stop()
