"""A process can be held at a step by name, and only there."""

import asyncio
from pathlib import Path

from tidings.platform.lifecycle.pauses import FilePauses


async def test_it_says_where_it_stands_and_goes_on_when_told(tmp_path: Path) -> None:
    pauses = FilePauses(tmp_path, ["worker.looked_up"])
    held = asyncio.create_task(pauses.at("worker.looked_up"))
    async with asyncio.timeout(30):
        while not (tmp_path / "worker.looked_up.reached").exists():  # noqa: ASYNC110 - that is how another process sees it
            await asyncio.sleep(0)
    assert not held.done()
    (tmp_path / "worker.looked_up.go").touch()
    async with asyncio.timeout(30):
        await held


async def test_steps_that_are_not_named_are_passed(tmp_path: Path) -> None:
    await FilePauses(tmp_path, ["worker.looked_up"]).at("worker.pushed")
    assert not (tmp_path / "worker.pushed.reached").exists()
