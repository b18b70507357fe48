"""A child process of `tidings dev`: it ends with its supervisor and is killed if it does not stop."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from tidings.dev.process_runner import ChildProcess
from tidings.engines.node_plan import PortAllocator

DEADLINE_S = 90.0


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings of a process that starts and waits for its engines."""
    monkeypatch.chdir(tmp_path)
    port = PortAllocator().take(0, "nobody")
    return {
        "TIDINGS_INSTALLATION": "development",
        "TIDINGS_PROCESS_ADMIN_PORT": "0",
        "TIDINGS_DYNAMO_ENDPOINT": f"http://127.0.0.1:{port}",
        "TIDINGS_REDIS_URL": f"redis://127.0.0.1:{port}",
        "TIDINGS_KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{port}",
        "TIDINGS_API_PORT": "0",
    }


async def started(environment: dict[str, str]) -> tuple[ChildProcess, list[str]]:
    lines: list[str] = []
    child = await ChildProcess.start("api", environment, lambda _, line: lines.append(line))
    async with asyncio.timeout(DEADLINE_S):
        while not any("process starting" in line for line in lines):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    return child, lines


async def test_a_child_process_dies_when_its_supervisor_closes_the_pipe(nowhere: dict[str, str]) -> None:
    child, _ = await started(nowhere)
    assert child._process.stdin
    child._process.stdin.close()
    try:
        async with asyncio.timeout(DEADLINE_S):
            assert await child.ended() == -signal.SIGKILL
    finally:
        child.send(signal.SIGKILL)


async def test_a_suspended_child_process_is_killed(nowhere: dict[str, str]) -> None:
    child, _ = await started(nowhere)
    psutil.Process(child.pid).suspend()
    async with asyncio.timeout(DEADLINE_S):
        assert not await child.stop(within_s=0.2)
    assert not child.is_alive


async def test_invalid_settings_are_in_the_last_lines_of_a_child_process(nowhere: dict[str, str]) -> None:
    lines: list[str] = []
    child = await ChildProcess.start(
        "api", nowhere | {"TIDINGS_API_PORTT": "1"}, lambda _, line: lines.append(line)
    )
    async with asyncio.timeout(DEADLINE_S):
        assert await child.ended() == 2
    assert "TIDINGS_API_PORTT: no such setting" in "\n".join(child.last_lines)
    assert list(child.last_lines) == lines[-12:]
