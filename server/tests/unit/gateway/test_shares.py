"""Fair shares: no holder waits or is refused because of another one."""

import asyncio

import pytest
from fixtures.loops import until

from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.fair_shares import FairShares, FairSlots, release_slot


def test_each_holder_has_its_own_share() -> None:
    shares: FairShares[str] = FairShares(2)
    assert [shares.take("a") for _ in range(3)] == [True, True, False]
    assert shares.take("b")
    shares.release("a")
    assert shares.take("a")
    for holder in ("a", "a", "b"):
        shares.release(holder)
    assert len(shares) == 0


async def test_a_free_slot_goes_to_the_next_holder_not_to_the_longest_queue() -> None:
    slots: FairSlots[str] = FairSlots(2, 2)
    served: list[str] = []

    async def work(holder: str) -> None:
        async with slots.slot(holder):
            served.append(holder)
            await asyncio.sleep(0)

    many = [asyncio.create_task(work("many")) for _ in range(10)]
    await asyncio.sleep(0)
    await asyncio.gather(asyncio.create_task(work("one")), *many)
    assert served.index("one") <= 5, served
    assert slots.held("many") == slots.held("one") == 0


async def test_a_holder_never_exceeds_its_share_and_the_rest_serves_others() -> None:
    slots: FairSlots[str] = FairSlots(4, 3)
    go, held = asyncio.Event(), dict[str, int]()

    async def work(holder: str) -> None:
        async with slots.slot(holder):
            held[holder] = held.get(holder, 0) + 1
            await go.wait()

    tasks = [asyncio.create_task(work("many")) for _ in range(6)]
    await until(lambda: held.get("many") == 3)
    tasks.append(asyncio.create_task(work("one")))
    await until(lambda: held.get("one") == 1)
    assert held["many"] == 3
    go.set()
    await asyncio.gather(*tasks)
    assert held == {"many": 6, "one": 1}


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_cancelled_wait_frees_its_slot(turns: int) -> None:
    slots: FairSlots[str] = FairSlots(1, 1)
    await slots.acquire("a")
    waiting = asyncio.create_task(slots.acquire("b"))
    await asyncio.sleep(0)
    if turns:
        slots.release("a")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    if not turns:
        slots.release("a")
    await asyncio.wait_for(slots.acquire("c"), 1)
    assert (slots.held("a"), slots.held("b")) == (0, 0)


async def test_work_that_steps_aside_gives_up_its_slot_and_waits_for_it_again() -> None:
    slots: FairSlots[str] = FairSlots(1, 1)
    steps: list[str] = []
    go = asyncio.Event()

    async def slow() -> None:
        async with slots.slot("slow"):
            async with release_slot():
                await go.wait()
            assert slots.held("slow") == 1
            steps.append("slow")

    task = asyncio.create_task(slow())
    await asyncio.sleep(0)
    async with asyncio.timeout(1), slots.slot("quick"):
        go.set()
        await asyncio.sleep(0)
        steps.append("quick")
    await task
    assert steps == ["quick", "slow"]
    assert slots.held("slow") == slots.held("quick") == 0


async def test_work_that_fails_while_it_is_aside_gives_nothing_back_twice() -> None:
    slots: FairSlots[str] = FairSlots(1, 1)
    with pytest.raises(RuntimeError):
        async with slots.slot("a"), release_slot():
            raise RuntimeError("gone")
    async with slots.slot("b"):
        assert not slots._free


async def test_a_crew_goes_on_while_one_of_it_is_aside_and_is_never_more_than_allowed() -> None:
    go, working, most, done = asyncio.Event(), 0, 0, list[int]()

    async def work(item: int) -> None:
        nonlocal working, most
        if item == 0:
            async with release_slot():
                await go.wait()
        working += 1
        most = max(most, working)
        await asyncio.sleep(0)
        working -= 1
        done.append(item)

    faults: list[str] = []
    crew: WorkQueue[int] = WorkQueue(work, 2, lambda what, _: faults.append(what))
    for item in range(6):
        crew.add(item)
    await until(lambda: sorted(done) == [1, 2, 3, 4, 5])
    go.set()
    await until(lambda: len(done) == 6)
    for item in range(10, 20):
        crew.add(item)
    await until(lambda: len(done) == 16)
    assert (most, faults) == (2, [])
    await until(lambda: crew._working == 0)


async def test_a_crew_keeps_its_places_when_work_fails_or_is_stopped_while_it_is_aside() -> None:
    async def work(item: int) -> None:
        async with release_slot():
            if item:
                raise RuntimeError("gone")
            await asyncio.Event().wait()

    faults: list[str] = []
    crew: WorkQueue[int] = WorkQueue(work, 1, lambda what, _: faults.append(what))
    for item in (1, 2, 0):
        crew.add(item)
    await until(lambda: len(faults) == 2 and not crew._waiting)
    await crew.wait_idle(0)
    assert crew._working == 0
