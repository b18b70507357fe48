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


async def test_after_a_death_it_is_started_again_and_that_is_said(scene: Scene) -> None:
    scene.bodies += [Body(KILLED)]
    keeping = asyncio.create_task(scene.keeper.run())
    await lives(scene, 2)
    assert "api died (SIGKILL): starting it again" in scene.hear()
    await scene.keeper.stop()
    await keeping


async def test_three_quick_deaths_in_a_row_end_the_trying_with_what_it_said_last(scene: Scene) -> None:
    scene.bodies += [Body(CRASHED, last_lines=["first"]), Body(CRASHED), Body(CRASHED, last_lines=["last"])]
    with pytest.raises(ProcessFailedError, match=r"api died .exit code 70") as given_up:
        await scene.keeper.run()
    assert given_up.value.last_lines == ["last"]
    assert len(scene.born) == 3


async def test_who_lived_long_is_forgiven(scene: Scene) -> None:
    old = Body(CRASHED, age_s=process_runner.QUICK_S)
    scene.bodies += [Body(CRASHED), Body(CRASHED), old, Body(CRASHED)]
    keeping = asyncio.create_task(scene.keeper.run())
    await lives(scene, 5)
    await scene.keeper.stop()
    await keeping


async def test_who_never_started_died_quickly_however_long_it_took(scene: Scene) -> None:
    scene.bodies += [Body(CRASHED, has_started=False, age_s=100) for _ in range(3)]
    with pytest.raises(ProcessFailedError):
        await scene.keeper.run()


async def test_settings_that_it_cannot_use_are_not_tried_again(scene: Scene) -> None:
    scene.bodies += [Body(SETTINGS)]
    with pytest.raises(ProcessFailedError):
        await scene.keeper.run()
    assert len(scene.born) == 1


async def test_once_it_was_ready_the_next_change_of_the_code_is_waited_for(scene: Scene) -> None:
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


async def test_a_stop_while_it_is_being_started_is_heard(scene: Scene) -> None:
    keeping = asyncio.create_task(scene.keeper.run())
    stopping = asyncio.create_task(scene.keeper.stop())
    async with asyncio.timeout(30):
        await stopping
        await keeping
    assert [body.is_alive for body in scene.born] in ([], [False])


async def test_a_change_of_the_code_is_no_death(scene: Scene) -> None:
    keeping = asyncio.create_task(scene.keeper.run())
    for births in range(1, 6):
        await lives(scene, births)
        await scene.keeper.restart()
    await lives(scene, 6)
    await scene.keeper.stop()
    await keeping
    assert not re.search("died", scene.hear())
