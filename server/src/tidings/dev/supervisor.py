"""Run all processes: start them, restart them when the code changes, and stop the edges before the workers."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping

from tidings.dev import process_runner
from tidings.dev.console import DevConsole
from tidings.dev.process_runner import ChildProcess, ProcessRunner
from tidings.dev.process_specs import ProcessSpec
from tidings.dev.seed_data import is_http_ready

_POLL_S = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

type OnServing = Callable[[], Coroutine[None, None, None]]


class Supervisor:
    def __init__(
        self,
        kinds: list[ProcessSpec],
        settings_of: Callable[[ProcessSpec], Mapping[str, str]],
        console: DevConsole,
        *,
        stop_s: float,
        watches: bool,
    ) -> None:
        self._kinds = kinds
        self._settings_of = settings_of
        self._console = console
        self._watches = watches
        self._asked = asyncio.Event()
        self._runners = {
            kind.name: ProcessRunner(
                kind.name, self._start(kind), console, stop_s=stop_s, waits_for_code=watches
            )
            for kind in kinds
        }

    async def run(self, serving: OnServing) -> None:
        """Run until a signal arrives or a process cannot continue, which is raised. `serving` runs at the same time."""
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)
        work = [runner.run() for runner in self._runners.values()]
        work += [serving(), *([self._follow_code()] if self._watches else [])]
        tasks = [asyncio.create_task(each) for each in work]
        asked = asyncio.create_task(self._asked.wait())
        try:
            await self._first_end(tasks, asked)
        finally:
            await self._stop_all()
            for task in (*tasks, asked):
                task.cancel()
            await asyncio.gather(*tasks, asked, return_exceptions=True)

    async def ready(self) -> None:
        """Wait until every process is ready."""
        for kind in self._kinds:
            while not await is_http_ready(kind.admin_port):  # noqa: ASYNC110 - another process: there is no event to wait for
                await asyncio.sleep(_POLL_S)
            self._runners[kind.name].was_ready = True

    def _start(self, kind: ProcessSpec) -> Callable[[], Coroutine[None, None, ChildProcess]]:
        return lambda: ChildProcess.start(kind.name, self._settings_of(kind), self._console.process_line)

    async def _first_end(self, tasks: list[asyncio.Task[None]], asked: asyncio.Task[bool]) -> None:
        waiting = {*tasks}
        while not asked.done() and waiting:
            done, _ = await asyncio.wait({*waiting, asked}, return_when=asyncio.FIRST_COMPLETED)
            for task in done & waiting:
                task.result()
            waiting -= done

    async def _follow_code(self) -> None:
        async for paths in process_runner.watch_source():
            if fault := process_runner.syntax_error_in(paths):
                self._console.info(f"not restarted: {fault}", "bold red")
                continue
            self._console.info(
                f"{process_runner.describe_paths(paths)} changed: restarting {', '.join(self._runners)}",
                "bold",
            )
            await asyncio.gather(*(runner.restart() for runner in self._runners.values()))

    def _signalled(self) -> None:
        """Stop at the first signal; kill the processes at the second."""
        if self._asked.is_set():
            for runner in self._runners.values():
                runner.kill()
        self._asked.set()

    async def _stop_all(self) -> None:
        for is_edge in (True, False):
            chosen = [kind.name for kind in self._kinds if kind.is_edge is is_edge]
            if chosen:
                self._console.info(f"stopping {', '.join(chosen)}")
                await asyncio.gather(*(self._runners[name].stop() for name in chosen))
