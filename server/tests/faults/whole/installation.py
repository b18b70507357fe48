"""An installation for fault tests: its processes are stopped and replaced by kind while devices use it."""

import asyncio
import functools
import signal
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from fixtures.installation_processes import Balancer, InstallationProcess, InstallationProcesses, ProcessKind

from tidings_harness.workload.run import HarnessRun
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.target import TargetInstallation

_TRIES: Final = 4
_POLL_EVERY_S: Final = 0.3
WHOLE: Final[tuple[ProcessKind, ...]] = ("gateway", "gateway", "delivery", "relay", "api")


class FaultInstallation:
    """The running processes of an installation, by kind.

    Blocking work (start, wait for readiness) runs in threads, because the devices run in this event loop.
    """

    def __init__(self, processes: InstallationProcesses, balancer: Balancer) -> None:
        self.processes, self._balancer = processes, balancer
        self.running: dict[ProcessKind, list[InstallationProcess]] = defaultdict(list)
        self.histories: list[Path] = []
        self.until_end = ExitStack()
        """Resources that a fault adds to the installation and leaves there; closed with the installation."""
        self.site = TargetInstallation(
            api="",
            sockets=[],
            steady_socket=f"ws://127.0.0.1:{balancer.port}/v1/socket",
            token=functools.cache(processes.token),
        )

    async def start(self, *kinds: ProcessKind, **changes: str) -> list[InstallationProcess]:
        """Start all processes concurrently, and return when all of them are ready."""
        started = [self.processes.run(kind, **{"FAILPOINTS_PAUSE_AT": "", **changes}) for kind in kinds]
        for process in started:
            await asyncio.to_thread(_ready, process)
        for kind, process in zip(kinds, started, strict=True):
            self.running[kind].append(process)
        await asyncio.to_thread(self._update_addresses)
        return started

    async def kill(self, process: InstallationProcess, by: signal.Signals = signal.SIGKILL) -> int:
        """Stop a process, wait for its exit, and return its exit code.

        New connections are routed to other processes before the signal is sent.
        """
        for processes in self.running.values():
            if process in processes:
                processes.remove(process)
        await asyncio.to_thread(self._update_addresses)
        process.popen.send_signal(by)
        return await asyncio.to_thread(process.exit_code)

    async def replace(
        self, process: InstallationProcess, kind: ProcessKind, **changes: str
    ) -> InstallationProcess:
        """Kill a process and start another one of its kind."""
        await self.kill(process)
        return (await self.start(kind, **changes))[0]

    def disconnect_all(self) -> None:
        """Cut the connections through the load balancer, which then go to the current gateways."""
        self._balancer.cut()

    async def renew(self, *kinds: ProcessKind, **changes: str) -> None:
        """Replace all processes of these kinds: start new ones with the given settings, then kill the old ones."""
        old = [(kind, process) for kind in set(kinds) for process in self.running[kind]]
        await self.start(*kinds, **changes)
        for _, process in old:
            await self.kill(process)

    @asynccontextmanager
    async def load(self, scenario: Scenario) -> AsyncIterator[HarnessRun]:
        directory = Path(tempfile.mkdtemp(prefix="history-", dir=self.processes.directory))
        self.histories.append(directory)
        async with HarnessRun(self.site, scenario, directory) as load:
            yield load

    async def replace_exited(self) -> list[str]:
        """Replace processes that exited unexpectedly, and return one note with exit code and last output for each."""
        found = []
        for kind in list(self.running):
            for process in [each for each in self.running[kind] if each.popen.poll() is not None]:
                found.append(
                    f"{kind} exited unexpectedly with {process.popen.poll()}: {process.tail()[-800:]}"
                )
                await self.replace(process, kind)
        return found

    def _update_addresses(self) -> None:
        ports = [process.socket_port for process in self.running["gateway"]]
        self._balancer.ports = ports
        self.site.sockets[:] = [f"ws://127.0.0.1:{port}/v1/socket" for port in ports]
        if self.running["api"]:
            self.site.api = f"http://127.0.0.1:{self.running['api'][0].wait_for('listening')['port']}"


@asynccontextmanager
async def installation_under_fault(
    processes: InstallationProcesses, *kinds: ProcessKind
) -> AsyncIterator[FaultInstallation]:
    async with Balancer() as balancer:
        installation = FaultInstallation(processes, balancer)
        await installation.start(*(kinds or WHOLE))
        try:
            yield installation
        finally:
            for process in [each for processes in installation.running.values() for each in processes]:
                process.popen.kill()
            installation.until_end.close()


def _ready(process: InstallationProcess) -> None:
    """Wait for readiness longer than other tests do: the machine is busy on purpose."""
    for tries_left in reversed(range(_TRIES)):
        try:
            process.wait_for_status("/readyz", 200)
        except (AssertionError, OSError):
            if not tries_left or process.popen.poll() is not None:
                raise
        else:
            return


async def passed(seconds: float) -> None:
    """Wait while a fault lasts. Here the passage of time does the harm; there is no event to wait for."""
    await asyncio.sleep(seconds)


async def within(seconds: float, holds: Callable[[], bool], what: str) -> None:
    """Wait until `holds` returns true. It queries other processes, so it is called in a thread."""
    try:
        async with asyncio.timeout(seconds):
            while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - the state is in other processes
                await asyncio.sleep(_POLL_EVERY_S)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None
