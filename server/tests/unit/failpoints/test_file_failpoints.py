"""A process pauses at a named step while its file exists, and only there."""

import asyncio
from pathlib import Path

import pytest
from failpoints.file_failpoints import FileFailpoints


@pytest.mark.parametrize("steps", [["worker.looked_up"], ["*"]])
async def test_a_held_failpoint_reports_its_step_and_continues_when_released(
    tmp_path: Path, steps: list[str]
) -> None:
    pauses = FileFailpoints(tmp_path, steps)
    hold = tmp_path / "worker.looked_up.hold"
    hold.touch()
    held = asyncio.create_task(pauses.hit("worker.looked_up"))
    async with asyncio.timeout(30):
        while not (tmp_path / "worker.looked_up.reached").exists():  # noqa: ASYNC110 - as another process sees it
            await asyncio.sleep(0)
    assert not held.done()
    hold.unlink()
    async with asyncio.timeout(30):
        await held


async def test_steps_that_are_not_named_or_not_held_do_not_pause(tmp_path: Path) -> None:
    (tmp_path / "worker.pushed.hold").touch()
    pauses = FileFailpoints(tmp_path, ["worker.looked_up"])
    await pauses.hit("worker.pushed")
    await pauses.hit("worker.looked_up")
    assert not (tmp_path / "worker.pushed.reached").exists()
