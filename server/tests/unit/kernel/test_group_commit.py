"""Group commit: every caller is answered, however a write ends."""

import asyncio
from collections.abc import Sequence

import pytest

from tidings.kernel.group_commit import GroupCommit


class Writes:
    """Records batches. Holds a write back while `open` is not set, and raises `errors` in order."""

    def __init__(self, *errors: BaseException | None) -> None:
        self.batches: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.errors = list(errors)
        self.task: asyncio.Task[None] | None = None

    async def write(self, items: Sequence[str]) -> None:
        self.task = asyncio.current_task()
        await self.open.wait()
        self.batches.append(list(items))
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error


def adding(commits: GroupCommit[str], *items: str) -> "asyncio.Task[None]":
    return asyncio.create_task(commits.add(items))


async def test_items_that_arrive_during_a_write_form_the_next_batch() -> None:
    writes = Writes()
    commits = GroupCommit(writes.write)
    writes.open.clear()
    first = [adding(commits, "a", "b"), adding(commits, "c")]
    await asyncio.sleep(0.01)
    second = [adding(commits, "d"), adding(commits, "e")]
    await asyncio.sleep(0.01)
    assert not any(task.done() for task in first)
    writes.open.set()
    await asyncio.wait_for(asyncio.gather(*first, *second), 5)
    assert writes.batches == [["a", "b", "c"], ["d", "e"]]


@pytest.mark.parametrize("error", [RuntimeError("unforeseen"), asyncio.CancelledError()])
async def test_a_write_that_fails_fails_its_batch_and_no_other(error: BaseException) -> None:
    writes = Writes(error)
    commits = GroupCommit(writes.write)
    failed = await asyncio.wait_for(
        asyncio.gather(adding(commits, "a"), adding(commits, "b"), return_exceptions=True), 5
    )
    assert [type(each) for each in failed] == [type(error)] * 2
    await asyncio.wait_for(commits.add(["c"]), 5)
    assert writes.batches == [["a", "b"], ["c"]]


async def test_a_cancelled_write_ends_the_next_batch_too() -> None:
    writes = Writes()
    commits = GroupCommit(writes.write)
    writes.open.clear()
    first = adding(commits, "a")
    await asyncio.sleep(0.01)
    second = adding(commits, "b")
    await asyncio.sleep(0.01)
    assert writes.task is not None
    writes.task.cancel()
    await asyncio.wait([first, second], timeout=5)
    assert first.cancelled()
    assert second.cancelled()
    writes.open.set()
    await asyncio.wait_for(commits.add(["c"]), 5)
    assert writes.batches == [["c"]]


async def test_a_cancelled_caller_does_not_cancel_the_write() -> None:
    writes = Writes()
    commits = GroupCommit(writes.write)
    writes.open.clear()
    first, second = adding(commits, "a"), adding(commits, "b")
    await asyncio.sleep(0.01)
    first.cancel()
    writes.open.set()
    await asyncio.wait_for(second, 5)
    await commits.wait_idle()
    assert writes.batches == [["a", "b"]]
