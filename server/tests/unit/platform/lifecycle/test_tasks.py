import asyncio
from collections.abc import Callable, Coroutine

import pytest
from unit.platform.lifecycle.parts import fail, hang, nothing

from tidings.platform.lifecycle.component import TaskEndedError, TaskSupervisor


def crashes(
    scenario: Callable[[TaskSupervisor], Coroutine[object, object, None]],
) -> list[tuple[str, BaseException]]:
    found: list[tuple[str, BaseException]] = []

    async def run() -> None:
        tasks = TaskSupervisor(lambda name, error: found.append((name, error)))
        await scenario(tasks)
        await asyncio.sleep(0)
        seen = list(found)
        await tasks.close()
        assert found == seen

    asyncio.run(run())
    return found


def test_an_exception_is_a_crash_with_the_name_of_its_task() -> None:
    async def scenario(tasks: TaskSupervisor) -> None:
        await asyncio.wait({tasks.spawn("consume", fail())})

    ((name, error),) = crashes(scenario)
    assert name == "consume"
    assert isinstance(error, RuntimeError)


@pytest.mark.parametrize(("may_end", "count"), [(False, 1), (True, 0)])
def test_a_task_that_just_ends_is_a_crash_unless_it_may(may_end: bool, count: int) -> None:  # noqa: FBT001 - a parameter of the test
    async def scenario(tasks: TaskSupervisor) -> None:
        await asyncio.wait({tasks.spawn("consume", nothing(), may_end=may_end)})

    found = crashes(scenario)
    assert len(found) == count
    assert all(isinstance(error, TaskEndedError) for _, error in found)


def test_stopping_a_task_is_no_crash() -> None:
    async def scenario(tasks: TaskSupervisor) -> None:
        task = tasks.spawn("consume", hang())
        await asyncio.sleep(0)
        await tasks.stop(task)
        assert task.cancelled()

    assert crashes(scenario) == []


def test_a_task_cancelled_from_outside_is_a_crash() -> None:
    async def scenario(tasks: TaskSupervisor) -> None:
        task = tasks.spawn("consume", hang())
        task.cancel()
        await asyncio.wait({task})

    ((_, error),) = crashes(scenario)
    assert str(error) == "cancelled by other code"


def test_a_task_that_fails_while_it_is_stopped_is_a_crash() -> None:
    async def stubborn() -> None:
        try:
            await hang()
        finally:
            raise RuntimeError("while leaving")

    async def scenario(tasks: TaskSupervisor) -> None:
        task = tasks.spawn("consume", stubborn())
        await asyncio.sleep(0)
        await tasks.stop(task)

    ((_, error),) = crashes(scenario)
    assert str(error) == "while leaving"
