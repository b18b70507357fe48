"""Batches of several partitions share one call of the worker, and fail and wait on their own."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from tidings.delivery import batch_combiner
from tidings.delivery.batch_combiner import MAX_CONCURRENT, BatchCombiner
from tidings.delivery.worker import ChatEntries
from tidings.kernel.ids import ChatId, ChatKey, TenantId

ERROR = RuntimeError("scripted")


def chat(name: str) -> ChatKey:
    return ChatKey(TenantId("acme"), ChatId(name))


def batch(*names: str) -> list[ChatEntries]:
    return [(chat(name), ()) for name in names]


class Worker:
    """Records its calls. A chat in `slow` waits for its event; the chats in `failing` fail."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.slow: dict[str, asyncio.Event] = {}
        self.failing: set[str] = set()
        self.cancelled: list[list[str]] = []

    async def process(self, events: Sequence[ChatEntries]) -> Mapping[ChatKey, BaseException]:
        names = [key.chat for key, _ in events]
        self.calls.append(list(names))
        try:
            for name in names:
                await self.slow[name].wait() if name in self.slow else await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(list(names))
            raise
        return {chat(name): ERROR for name in names if name in self.failing}


@pytest.fixture
def worker() -> Worker:
    return Worker()


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def hold(worker: Worker, combiner: BatchCombiner) -> list[asyncio.Task[None]]:
    """Start as many slow calls as may run at a time."""
    tasks = []
    for number in range(MAX_CONCURRENT):
        worker.slow[f"slow{number}"] = asyncio.Event()
        tasks.append(asyncio.create_task(combiner.handle(batch(f"slow{number}"))))
        await turns()
    return tasks


async def test_batches_of_one_turn_are_one_call(worker: Worker) -> None:
    combiner = BatchCombiner(worker.process)
    await asyncio.gather(combiner.handle(batch("a", "b")), combiner.handle(batch("c")))
    assert worker.calls == [["a", "b", "c"]]


async def test_a_failed_chat_fails_its_own_batch_only(worker: Worker) -> None:
    worker.failing = {"b"}
    combiner = BatchCombiner(worker.process)
    outcomes = await asyncio.gather(
        combiner.handle(batch("a", "b")), combiner.handle(batch("c")), return_exceptions=True
    )
    assert list(outcomes) == [ERROR, None]


async def test_an_error_of_the_call_reaches_each_batch() -> None:
    async def process(events: Sequence[ChatEntries]) -> Mapping[ChatKey, BaseException]:
        del events
        raise ERROR

    combiner = BatchCombiner(process)
    outcomes = await asyncio.gather(
        combiner.handle(batch("a")), combiner.handle(batch("b")), return_exceptions=True
    )
    assert list(outcomes) == [ERROR, ERROR]


async def test_batches_that_wait_for_a_call_are_combined(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_combiner, "MAX_WAIT_S", 60)
    combiner = BatchCombiner(worker.process)
    slow = await hold(worker, combiner)
    waiting = [asyncio.create_task(combiner.handle(batch(name))) for name in "ab"]
    await turns()
    waiting.append(asyncio.create_task(combiner.handle(batch("c"))))
    await turns()
    assert len(worker.calls) == MAX_CONCURRENT
    worker.slow["slow0"].set()
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting, slow[0])
    assert worker.calls[-1] == ["a", "b", "c"]
    slow[1].cancel()


async def test_a_slow_chat_delays_other_partitions_for_a_moment_only(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_combiner, "MAX_WAIT_S", 0.01)
    combiner = BatchCombiner(worker.process)
    slow = await hold(worker, combiner)
    async with asyncio.timeout(5):
        await combiner.handle(batch("a"))
        await combiner.handle(batch("b"))
    assert worker.calls[-2:] == [["a"], ["b"]]
    for task in slow:
        task.cancel()


async def test_a_cancelled_partition_does_not_cancel_the_others(worker: Worker) -> None:
    """A partition moves to another worker while its batch is processed together with others."""
    worker.slow["a"] = asyncio.Event()
    combiner = BatchCombiner(worker.process)
    revoked, kept = (asyncio.create_task(combiner.handle(batch(name))) for name in "ab")
    await turns()
    revoked.cancel()
    await turns()
    worker.slow["a"].set()
    await kept
    assert (worker.cancelled, revoked.cancelled()) == ([], True)


async def test_a_call_without_partitions_is_cancelled(worker: Worker) -> None:
    worker.slow["a"] = asyncio.Event()
    combiner = BatchCombiner(worker.process)
    tasks = [asyncio.create_task(combiner.handle(batch(name))) for name in "ab"]
    await turns()
    for task in tasks:
        task.cancel()
    await turns(10)
    assert worker.cancelled == [["a", "b"]]


async def test_a_batch_that_is_cancelled_before_its_call_is_not_processed(worker: Worker) -> None:
    combiner = BatchCombiner(worker.process)
    slow = await hold(worker, combiner)
    waiting = [asyncio.create_task(combiner.handle(batch(name))) for name in "ab"]
    await turns()
    waiting[0].cancel()
    await turns()
    for event in worker.slow.values():
        event.set()
    await asyncio.gather(*slow, waiting[1])
    assert worker.calls[-1] == ["b"]
