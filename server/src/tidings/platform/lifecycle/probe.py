"""Asks something outside, again and again, whether it answers; `/readyz` then says who does not and why."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import override

from tidings.kernel.clock import Clock
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health, HealthTracker, describe_error
from tidings.platform.lifecycle.tasks import TaskSupervisor

type Ping = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """An engine that stops answering shows within `patience * (every_s + timeout_s)`."""

    every_s: float = 2.0
    timeout_s: float = 2.0
    failure_threshold: int = 2


class Probe(Component):
    """`ping` returns if all is well and raises if not. `complaint` begins the reason: "no broker answered"."""

    def __init__(
        self,
        name: str,
        ping: Ping,
        *,
        complaint: str,
        tasks: TaskSupervisor,
        clock: Clock,
        options: ProbeOptions,
        gates_readiness: bool = True,
    ) -> None:
        self.name = name
        self.gates_readiness = gates_readiness
        self._ping = ping
        self._tasks = tasks
        self._options = options
        self._health = HealthTracker(clock, complaint, patience=options.failure_threshold)
        self._watching: asyncio.Task[None] | None = None

    @override
    async def start(self) -> None:
        """Asks once, so that what follows knows; no answer is no reason not to start."""
        await self.ask()
        self._watching = self._tasks.spawn(f"probe {self.name}", self._watch())

    @override
    async def stop(self) -> None:
        if self._watching is not None:
            await self._tasks.stop(self._watching)

    @override
    def health(self) -> Health:
        return self._health.health()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._options.every_s)
            await self.ask()

    async def ask(self) -> None:
        limit = asyncio.timeout(self._options.timeout_s)
        try:
            async with limit:
                await self._ping()
        except TimeoutError as error:
            late = f"nothing came back within {self._options.timeout_s:g} s"
            self._health.failed(late if limit.expired() else describe_error(error))
        except Exception as error:  # noqa: BLE001 - whatever a ping raises is what the probe is there to tell
            self._health.failed(describe_error(error))
        else:
            self._health.answered()
