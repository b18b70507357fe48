"""A clock that tests control, and scripted components."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import override

from tidings.platform.lifecycle.component import Component, ExitCode, Health
from tidings.platform.lifecycle.process import Process, StopOptions
from tidings.platform.lifecycle.process_status import ProcessStatus
from tidings.platform.telemetry.metrics import Metrics

DEADLINE_S = 60.0


class StillClock:
    def __init__(self) -> None:
        self.gone_s = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.gone_s)

    def now_ms(self) -> int:
        return round(self.now().timestamp() * 1000)

    def monotonic(self) -> float:
        return self.gone_s


type ComponentAction = Callable[[], Coroutine[object, object, object]]


async def nothing() -> None: ...


async def hang() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise RuntimeError("token=hunter2 is wrong")


class FakeComponent(Component):
    def __init__(
        self,
        name: str,
        diary: list[str],
        *,
        start: ComponentAction = nothing,
        stop: ComponentAction = nothing,
    ) -> None:
        self.name = name
        self.start_s = self.stop_s = 1.0
        self.reported_health: Health | None = None
        self._diary = diary
        self._start = start
        self._stop = stop

    @override
    async def start(self) -> None:
        self._diary.append(f"start {self.name}")
        await self._start()
        self._diary.append(f"started {self.name}")

    @override
    async def stop(self) -> None:
        self._diary.append(f"stop {self.name}")
        await self._stop()
        self._diary.append(f"stopped {self.name}")

    @override
    def health(self) -> Health | None:
        return self.reported_health


class ProcessRun:
    """A process under test, inside a loop."""

    def __init__(self, *parts: FakeComponent, drain_s: float = 0.0, stop_s: float = 2.0) -> None:
        self.metrics = Metrics()
        self.board = ProcessStatus(StillClock(), self.metrics)
        self.process = Process(StopOptions(drain_s=drain_s, stop_s=stop_s), self.board)
        self.running = asyncio.create_task(self.process.run(parts))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not holds():  # noqa: ASYNC110 - any condition of a test
                await asyncio.sleep(0.001)

    async def ended(self) -> ExitCode:
        async with asyncio.timeout(DEADLINE_S):
            return await self.running
