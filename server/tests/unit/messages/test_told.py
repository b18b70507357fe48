"""What a process committed is told once, after the answer is settled; what it did not commit is not."""

import asyncio
from collections.abc import Sequence

from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, refusal
from fixtures.memory_log import MemoryLog

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, ClientKey, initial_epoch
from tidings.messages.append_queue import AppendDeps
from tidings.messages.model import Draft, Entry, EntryKind
from tidings.messages.sender import Appender


class Ear:
    def __init__(self) -> None:
        self.heard: list[list[int]] = []

    def __call__(self, chat: ChatKey, entries: Sequence[Entry], /) -> None:
        assert chat == CHAT
        self.heard.append([entry.sequence for entry in entries])


def listening(stage: AppendQueueEnv, ear: Ear) -> Appender[bool]:
    return Appender(
        AppendDeps(stage.log, stage.members.member_status, SystemClock(), epoch=initial_epoch, on_commit=ear)
    )


async def test_each_commit_is_told_once_and_a_batch_together() -> None:
    stage, ear = AppendQueueEnv(), Ear()
    appends = listening(stage, ear)
    await stage.send("a", via=appends)
    await asyncio.gather(*(stage.send(f"b{n}", via=appends) for n in range(4)))
    assert [n for batch in ear.heard for n in batch] == [2, 3, 4, 5, 6]
    assert len(ear.heard) == 3, "one alone, one alone, three that waited for it"


async def test_a_repeat_a_refusal_and_a_place_that_was_lost_are_not_told() -> None:
    stage, ear = AppendQueueEnv(), Ear()
    appends = listening(stage, ear)
    await stage.send("a", via=appends)
    await stage.send("a", via=appends)
    await stage.send("other process")
    await stage.send("c", via=appends)
    stage.members.members.discard(BEN)
    assert await refusal(stage.send("d", sender=BEN, via=appends)) is Code.NOT_A_MEMBER
    assert ear.heard == [[2], [4]]


async def test_what_stands_after_a_try_that_was_not_answered_is_told_when_it_is_found() -> None:
    stage, ear = AppendQueueEnv(), Ear()
    appends = listening(stage, ear)
    stage.log.failures = ["lost"]
    assert await refusal(stage.send("a", via=appends)) is Code.OUTCOME_UNKNOWN
    assert ear.heard == []
    assert (await stage.send("a", via=appends)).sequence == 2
    assert ear.heard == [[2]]


async def test_the_beginning_of_a_log_is_told() -> None:
    stage, ear = AppendQueueEnv(), Ear()
    stage.log = MemoryLog()
    draft = Draft(kind=EntryKind.CREATE, sender=BEN, client_key=ClientKey("k"), fingerprint=b"")
    appends = listening(stage, ear)
    await appends.begin(CHAT, draft, object())
    await appends.begin(CHAT, draft, object())
    assert ear.heard == [[1]]
