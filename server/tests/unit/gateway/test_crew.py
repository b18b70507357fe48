"""A work queue processes every item, also one that is added when the last worker ends."""

import asyncio

from fixtures.loops import until

from tidings.kernel.concurrency import WorkQueue


async def test_work_added_when_the_last_item_ends_is_processed() -> None:
    done: list[int] = []
    loop = asyncio.get_running_loop()

    async def work(item: int) -> None:
        done.append(item)
        if item < 5:
            # Runs after the task has ended and before its done callback.
            loop.call_soon(crew.add, item + 1)

    crew: WorkQueue[int] = WorkQueue(work, 1, lambda _, __: None)
    crew.add(1)
    await until(lambda: done == [1, 2, 3, 4, 5])
    await crew.wait_idle(1)


async def test_concurrency_is_bounded() -> None:
    running, most = 0, 0
    go = asyncio.Event()

    async def work(_: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await go.wait()
        running -= 1

    crew: WorkQueue[int] = WorkQueue(work, 3, lambda _, __: None)
    for item in range(10):
        crew.add(item)
    await until(lambda: running == 3)
    go.set()
    await until(lambda: crew.done == 10)
    assert most == 3
    await crew.wait_idle(1)
