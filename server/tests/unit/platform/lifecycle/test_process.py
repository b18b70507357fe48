import asyncio
import signal
import time

import pytest
from structlog.testing import capture_logs
from unit.platform.lifecycle.parts import FakeComponent, ProcessRun, fail, hang

from tidings.platform.lifecycle.component import ExitCode
from tidings.platform.lifecycle.process_status import ComponentState, Phase


async def test_components_start_in_order_and_stop_in_reverse() -> None:
    diary: list[str] = []
    life = ProcessRun(
        FakeComponent("dynamo", diary), FakeComponent("kafka", diary), FakeComponent("api", diary)
    )
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.CLEAN
    started = [
        "start dynamo",
        "started dynamo",
        "start kafka",
        "started kafka",
        "start api",
        "started api",
    ]
    stopped = ["stop api", "stopped api", "stop kafka", "stopped kafka", "stop dynamo", "stopped dynamo"]
    assert diary == started + stopped


async def test_a_draining_process_is_not_ready_and_stops_nothing_before_the_end() -> None:
    diary: list[str] = []
    life = ProcessRun(FakeComponent("api", diary), drain_s=60.0)
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    await life.until(lambda: life.board.report.phase is Phase.DRAINING)
    assert not life.board.report.is_ready
    assert "stop api" not in diary
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.LATE


async def test_after_the_drain_everything_stops() -> None:
    diary: list[str] = []
    life = ProcessRun(FakeComponent("api", diary), drain_s=0.05)
    await life.until(lambda: life.board.report.is_ready)
    began = time.monotonic()
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.CLEAN
    assert time.monotonic() - began >= 0.05
    assert diary[-1] == "stopped api"


def test_a_component_that_fails_to_start_is_named_and_stops_the_others() -> None:
    async def scenario() -> None:
        diary: list[str] = []
        life = ProcessRun(
            FakeComponent("dynamo", diary),
            FakeComponent("kafka", diary, start=fail),
            FakeComponent("api", diary),
        )
        assert await life.ended() is ExitCode.START_FAILED
        assert diary == ["start dynamo", "started dynamo", "start kafka", "stop dynamo", "stopped dynamo"]

    with capture_logs() as lines:
        asyncio.run(scenario())
    (line,) = (line for line in lines if line["event"] == "component did not start")
    assert line["component"] == "kafka"
    assert line["reason"] == "RuntimeError: token=*** is wrong"


async def test_a_component_that_takes_too_long_to_start_is_a_failed_start() -> None:
    part = FakeComponent("kafka", [], start=hang)
    part.start_s = 0.02
    life = ProcessRun(part)
    assert await life.ended() is ExitCode.START_FAILED
    assert life.board.report.components[0].reason == "not started within 0.02 s"


async def test_a_signal_during_the_start_stops_started_components() -> None:
    diary: list[str] = []
    life = ProcessRun(FakeComponent("dynamo", diary), FakeComponent("kafka", diary, start=hang), drain_s=60.0)
    await life.until(lambda: "start kafka" in diary)
    life.process.signalled(signal.SIGINT)
    assert await life.ended() is ExitCode.CLEAN
    assert diary[-2:] == ["stop dynamo", "stopped dynamo"]


async def test_a_component_that_hangs_in_stop_is_abandoned_and_the_others_are_stopped() -> None:
    diary: list[str] = []
    stuck = FakeComponent("kafka", diary, stop=hang)
    stuck.stop_s = 0.02
    life = ProcessRun(FakeComponent("dynamo", diary), stuck, FakeComponent("api", diary))
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.LATE
    assert diary[-5:] == ["stop api", "stopped api", "stop kafka", "stop dynamo", "stopped dynamo"]
    states = {part.name: part.state for part in life.board.report.components}
    assert states == {
        "dynamo": ComponentState.STOPPED,
        "kafka": ComponentState.FAILED,
        "api": ComponentState.STOPPED,
    }


async def test_all_stops_together_have_a_deadline_too() -> None:
    diary: list[str] = []
    life = ProcessRun(FakeComponent("dynamo", diary), FakeComponent("kafka", diary, stop=hang), stop_s=0.02)
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.LATE
    assert "stop dynamo" not in diary
    assert life.board.report.components[0].reason == "no time was left for it"


async def test_the_second_signal_stops_at_once() -> None:
    diary: list[str] = []
    life = ProcessRun(FakeComponent("dynamo", diary), FakeComponent("kafka", diary, stop=hang), stop_s=60.0)
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    await life.until(lambda: "stop kafka" in diary)
    life.process.signalled(signal.SIGINT)
    assert await life.ended() is ExitCode.LATE
    assert "stop dynamo" not in diary


def test_a_task_that_crashes_ends_the_process_without_draining() -> None:
    async def scenario() -> None:
        diary: list[str] = []
        life = ProcessRun(FakeComponent("api", diary), drain_s=60.0)
        await life.until(lambda: life.board.report.is_ready)
        _ = life.process.tasks.spawn("consume", fail())
        assert await life.ended() is ExitCode.CRASHED
        assert diary[-1] == "stopped api"

    with capture_logs() as lines:
        asyncio.run(scenario())
    (line,) = (line for line in lines if line["event"] == "crashed")
    assert line["component"] == "task consume"
    assert line["reason"] == "RuntimeError: token=*** is wrong"


async def test_a_crash_during_the_drain_cuts_it_short() -> None:
    life = ProcessRun(FakeComponent("api", []), drain_s=60.0)
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    await life.until(lambda: life.board.report.phase is Phase.DRAINING)
    _ = life.process.tasks.spawn("consume", fail())
    assert await life.ended() is ExitCode.CRASHED


async def test_a_component_that_fails_to_stop_is_a_crash_and_the_first_fault_sets_the_exit_code() -> None:
    diary: list[str] = []
    stuck = FakeComponent("dynamo", diary, stop=hang)
    stuck.stop_s = 0.02
    life = ProcessRun(stuck, FakeComponent("kafka", diary, stop=fail))
    await life.until(lambda: life.board.report.is_ready)
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.CRASHED
    assert "stop dynamo" in diary


async def test_remaining_tasks_are_stopped_at_the_end() -> None:
    life = ProcessRun(FakeComponent("api", []))
    await life.until(lambda: life.board.report.is_ready)
    task = life.process.tasks.spawn("forgotten", hang())
    life.process.signalled(signal.SIGTERM)
    assert await life.ended() is ExitCode.CLEAN
    assert task.cancelled()


async def test_two_components_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="the same name"):
        await ProcessRun(FakeComponent("api", []), FakeComponent("api", [])).running
