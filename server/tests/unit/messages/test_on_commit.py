"""`on_commit` is called once for each commit of this process, and for no other entry."""

import asyncio
from collections.abc import Sequence

from fixtures.append_queue import BEN, CHAT, AppendQueueEnv, refusal
from fixtures.memory_log import MemoryLog

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, ClientKey, initial_epoch
from tidings.messages.model import Draft, Entry, EntryKind
from tidings.messages.ports import AppendDeps
from tidings.messages.sender import Appender


class Recorder:
    def __init__(self) -> None:
        self.recorded: list[list[int]] = []

    def record(self, chat: ChatKey, entries: Sequence[Entry], /) -> None:
        assert chat == CHAT
        self.recorded.append([entry.sequence for entry in entries])


def appender_with(env: AppendQueueEnv, recorder: Recorder) -> Appender[bool]:
    return Appender(
        AppendDeps(
            env.log, env.members.member_status, SystemClock(), epoch=initial_epoch, on_commit=recorder.record
        )
    )


async def test_each_commit_is_reported_once_and_a_batch_together() -> None:
    env, recorder = AppendQueueEnv(), Recorder()
    appends = appender_with(env, recorder)
    await env.send("a", via=appends)
    await asyncio.gather(*(env.send(f"b{n}", via=appends) for n in range(4)))
    assert [n for batch in recorder.recorded for n in batch] == [2, 3, 4, 5, 6]
    assert len(recorder.recorded) == 3, "one alone, one alone, three that waited for it"


async def test_repeats_refusals_and_lost_sequences_are_not_reported() -> None:
    env, recorder = AppendQueueEnv(), Recorder()
    appends = appender_with(env, recorder)
    await env.send("a", via=appends)
    await env.send("a", via=appends)
    await env.send("other process")
    await env.send("c", via=appends)
    env.members.members.discard(BEN)
    assert await refusal(env.send("d", sender=BEN, via=appends)) is Code.NOT_A_MEMBER
    assert recorder.recorded == [[2], [4]]


async def test_an_entry_of_an_unanswered_append_is_reported_when_it_is_found() -> None:
    env, recorder = AppendQueueEnv(), Recorder()
    appends = appender_with(env, recorder)
    env.log.failures = ["lost"]
    assert await refusal(env.send("a", via=appends)) is Code.OUTCOME_UNKNOWN
    assert recorder.recorded == []
    assert (await env.send("a", via=appends)).sequence == 2
    assert recorder.recorded == [[2]]


async def test_the_first_entry_of_a_log_is_reported() -> None:
    env, recorder = AppendQueueEnv(), Recorder()
    env.log = MemoryLog()
    draft = Draft(kind=EntryKind.CREATE, sender=BEN, client_key=ClientKey("k"), fingerprint=b"")
    appends = appender_with(env, recorder)
    await appends.begin(CHAT, draft, object())
    await appends.begin(CHAT, draft, object())
    assert recorder.recorded == [[1]]
