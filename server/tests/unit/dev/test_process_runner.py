"""Deaths and changes of the code, with children that only seem to live."""

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from tidings.dev import process_runner
from tidings.dev.console import DevConsole
from tidings.dev.process_runner import ChildProcess, ProcessFailedError, ProcessRunner

CRASHED, KILLED, SETTINGS = 70, -9, 2


@dataclass
class Body:
    """Dies at once with a code, or lives until it is stopped."""

    code: int | None
    has_started: bool = True
    age_s: float = 1.0
    last_lines: list[str] = field(default_factory=lambda: ["oh"])
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_alive(self) -> bool:
        return not self.gone.is_set()

    async def ended(self) -> int:
        if self.code is None:
            await self.gone.wait()
        return self.code or 0

    async def stop(self, within_s: float) -> bool:
        del within_s
        self.gone.set()
        return True


@dataclass
class Scene:
    keeper: ProcessRunner
    bodies: list[Body]
    born: list[Body]
    capture: pytest.CaptureFixture[str]
    said: str = ""

    def hear(self) -> str:
        self.said += self.capture.readouterr().out
        return self.said


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(process_runner, "_PAUSES_S", (0.0, 0.0, 0.0))
    bodies: list[Body] = []
    born: list[Body] = []

    async def start() -> ChildProcess:
        await asyncio.sleep(0)
        born.append(bodies.pop(0) if bodies else Body(None))
        return cast("ChildProcess", born[-1])

    voice = DevConsole(["api"], tmp_path, is_raw=False)
    kept = ProcessRunner("api", start, voice, stop_s=1.0, waits_for_code=True)
    return Scene(kept, bodies, born, capsys)


async def lives(scene: Scene, births: int) -> None:
    async with asyncio.timeout(30):
        while len(scene.born) < births:  # noqa: ASYNC110 - one turn of the loop after the other
            await asyncio.sleep(0)


async def test_a_process_that_died_is_restarted_and_reported(scene: Scene) -> None:
    scene.bodies += [Body(KILLED)]
    keeping = asyncio.create_task(scene.keeper.run())
    await lives(scene, 2)
    assert "api died (SIGKILL): starting it again" in scene.hear()
    await scene.keeper.stop()
    await keeping


async def test_after_three_quick_deaths_restarts_end_with_the_last_lines(scene: Scene) -> None:
    scene.bodies += [Body(CRASHED, last_lines=["first"]), Body(CRASHED), Body(CRASHED, last_lines=["last"])]
    with pytest.raises(ProcessFailedError, match=r"api died .exit code 70") as given_up:
        await scene.keeper.run()
    assert given_up.value.last_lines == ["last"]
    assert len(scene.born) == 3


async def test_a_long_run_resets_the_count_of_deaths(scene: Scene) -> None:
    old = Body(CRASHED, age_s=process_runner.QUICK_S)
    scene.bodies += [Body(CRASHED), Body(CRASHED), old, Body(CRASHED)]
    keeping = asyncio.create_task(scene.keeper.run())
    await lives(scene, 5)
    await scene.keeper.stop()
    await keeping


async def test_a_process_that_never_became_ready_counts_as_a_quick_death(scene: Scene) -> None:
    scene.bodies += [Body(CRASHED, has_started=False, age_s=100) for _ in range(3)]
    with pytest.raises(ProcessFailedError):
        await scene.keeper.run()


async def test_a_process_with_invalid_settings_is_not_restarted(scene: Scene) -> None:
    scene.bodies += [Body(SETTINGS)]
    with pytest.raises(ProcessFailedError):
        await scene.keeper.run()
    assert len(scene.born) == 1


async def test_a_process_that_was_ready_waits_for_the_next_code_change(scene: Scene) -> None:
    scene.keeper.was_ready = True
    scene.bodies += [Body(CRASHED), Body(CRASHED), Body(CRASHED)]
    keeping = asyncio.create_task(scene.keeper.run())
    await lives(scene, 3)
    async with asyncio.timeout(30):
        while "waiting until the code changes" not in scene.hear():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
    assert not keeping.done()
    await scene.keeper.restart()
    await lives(scene, 4)
    await scene.keeper.stop()
    await keeping


async def test_a_stop_during_the_start_is_applied(scene: Scene) -> None:
    keeping = asyncio.create_task(scene.keeper.run())
    stopping = asyncio.create_task(scene.keeper.stop())
    async with asyncio.timeout(30):
        await stopping
        await keeping
    assert [body.is_alive for body in scene.born] in ([], [False])


async def test_a_restart_for_a_code_change_is_not_a_death(scene: Scene) -> None:
    keeping = asyncio.create_task(scene.keeper.run())
    for births in range(1, 6):
        await lives(scene, births)
        await scene.keeper.restart()
    await lives(scene, 6)
    await scene.keeper.stop()
    await keeping
    assert not re.search("died", scene.hear())
