"""Restarts after a death and after code changes, with fake child processes."""

import asyncio
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from tidings.dev import process_runner
from tidings.dev.console import DevConsole
from tidings.dev.process_runner import ChildProcess, ProcessFailedError, ProcessRunner

CRASHED, KILLED, SETTINGS = 70, -9, 2


@dataclass
class FakeChild:
    """A child that exits at once with a code, or runs until it is stopped."""

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

    def send(self, number: signal.Signals) -> None:
        del number
        self.gone.set()

    async def stop(self, within_s: float) -> bool:
        del within_s
        self.gone.set()
        return True


@dataclass
class RunnerEnv:
    runner: ProcessRunner
    children: list[FakeChild]
    started: list[FakeChild]
    capture: pytest.CaptureFixture[str]
    output: str = ""

    def read_output(self) -> str:
        self.output += self.capture.readouterr().out
        return self.output


@pytest.fixture
def env(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunnerEnv:
    monkeypatch.setattr(process_runner, "_PAUSES_S", (0.0, 0.0, 0.0))
    children: list[FakeChild] = []
    started: list[FakeChild] = []

    async def start() -> ChildProcess:
        await asyncio.sleep(0)
        started.append(children.pop(0) if children else FakeChild(None))
        return cast("ChildProcess", started[-1])

    console = DevConsole(["api"], tmp_path, is_raw=False)
    runner = ProcessRunner("api", start, console, stop_s=1.0, waits_for_code=True)
    return RunnerEnv(runner, children, started, capsys)


async def wait_for_starts(env: RunnerEnv, count: int) -> None:
    async with asyncio.timeout(30):
        while len(env.started) < count:  # noqa: ASYNC110 - one turn of the loop after the other
            await asyncio.sleep(0)


async def test_a_process_that_died_is_restarted_and_reported(env: RunnerEnv) -> None:
    env.children += [FakeChild(KILLED)]
    keeping = asyncio.create_task(env.runner.run())
    await wait_for_starts(env, 2)
    assert "api died (SIGKILL): starting it again" in env.read_output()
    await env.runner.stop()
    await keeping


async def test_after_three_quick_deaths_restarts_end_with_the_last_lines(env: RunnerEnv) -> None:
    env.children += [
        FakeChild(CRASHED, last_lines=["first"]),
        FakeChild(CRASHED),
        FakeChild(CRASHED, last_lines=["last"]),
    ]
    with pytest.raises(ProcessFailedError, match=r"api died .exit code 70") as given_up:
        await env.runner.run()
    assert given_up.value.last_lines == ["last"]
    assert len(env.started) == 3


async def test_kills_on_request_are_no_failures(env: RunnerEnv) -> None:
    keeping = asyncio.create_task(env.runner.run())
    for count in range(1, 6):
        await wait_for_starts(env, count)
        env.runner.kill_and_restart()
    await wait_for_starts(env, 6)
    assert "died" not in env.read_output()
    await env.runner.stop()
    await keeping


async def test_a_long_run_resets_the_count_of_deaths(env: RunnerEnv) -> None:
    old = FakeChild(CRASHED, age_s=process_runner.QUICK_S)
    env.children += [FakeChild(CRASHED), FakeChild(CRASHED), old, FakeChild(CRASHED)]
    keeping = asyncio.create_task(env.runner.run())
    await wait_for_starts(env, 5)
    await env.runner.stop()
    await keeping


async def test_a_process_that_never_became_ready_counts_as_a_quick_death(env: RunnerEnv) -> None:
    env.children += [FakeChild(CRASHED, has_started=False, age_s=100) for _ in range(3)]
    with pytest.raises(ProcessFailedError):
        await env.runner.run()


async def test_a_process_with_invalid_settings_is_not_restarted(env: RunnerEnv) -> None:
    env.children += [FakeChild(SETTINGS)]
    with pytest.raises(ProcessFailedError):
        await env.runner.run()
    assert len(env.started) == 1


async def test_a_process_that_was_ready_waits_for_the_next_code_change(env: RunnerEnv) -> None:
    env.runner.was_ready = True
    env.children += [FakeChild(CRASHED), FakeChild(CRASHED), FakeChild(CRASHED)]
    keeping = asyncio.create_task(env.runner.run())
    await wait_for_starts(env, 3)
    async with asyncio.timeout(30):
        while "waiting until the code changes" not in env.read_output():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
    assert not keeping.done()
    await env.runner.restart()
    await wait_for_starts(env, 4)
    await env.runner.stop()
    await keeping


async def test_a_stop_during_the_start_is_applied(env: RunnerEnv) -> None:
    keeping = asyncio.create_task(env.runner.run())
    stopping = asyncio.create_task(env.runner.stop())
    async with asyncio.timeout(30):
        await stopping
        await keeping
    assert [body.is_alive for body in env.started] in ([], [False])


async def test_a_restart_for_a_code_change_is_not_a_death(env: RunnerEnv) -> None:
    keeping = asyncio.create_task(env.runner.run())
    for count in range(1, 6):
        await wait_for_starts(env, count)
        await env.runner.restart()
    await wait_for_starts(env, 6)
    await env.runner.stop()
    await keeping
    assert not re.search("died", env.read_output())
