"""The processes of `tidings dev`: one for each command of `tidings run`, with its ports and settings.

The supervisor starts all, restarts them when the code changes, and stops the edges before the workers.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec

from tidings.app.processes.command import group
from tidings.app.settings.loader import Key, LoadedSettings, env_name
from tidings.app.wiring.media import has_decoder
from tidings.dev import process_runner
from tidings.dev.console import DevConsole
from tidings.dev.engines import wanted_engines
from tidings.dev.process_runner import ChildProcess, ProcessRunner
from tidings.dev.seed_data import is_http_ready
from tidings.doctor.machine import find_port_holder
from tidings.engines.model import Engine
from tidings.engines.node_plan import PortAllocator
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import LOCAL

_POLL_S = 0.1
_KEY_CHARS = 40
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

type OnServing = Callable[[], Coroutine[None, None, None]]

# For a developer's machine: short waits at a stop, every request logged, and no more connections than the usual
# limit of 1,024 open files allows.
_EASED: Mapping[Key, str] = {
    ("process", "drain_s"): "0",
    ("process", "stop_s"): "12",
    ("gateway", "drain_spread_s"): "0.5",
    ("gateway", "max_connections"): "400",
    ("gateway", "max_handshakes"): "100",
    ("gateway", "max_connections_per_address"): "400",
    ("gateway", "max_handshakes_per_address"): "100",
    ("gateway", "max_connects_per_s_per_address"): "500",
    ("inboxes", "broadcast_spread_s"): "1",
    ("push", "network"): "local",
    ("search", "engine"): "tantivy" if find_spec("tantivy") else "none",
    ("api", "access_log_ratio"): "1",
    ("api", "allowed_origins"): LOCAL,
    ("gateway", "allowed_origins"): LOCAL,
}


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """`port` is for clients; workers have none. `note`: why the port differs from the setting."""

    name: str
    admin_port: int
    port: int | None = None
    note: str = ""

    @property
    def is_edge(self) -> bool:
        return self.port is not None


def process_specs(loaded: LoadedSettings) -> list[ProcessSpec]:
    ports, chosen = PortAllocator(), loaded.settings
    # It moves messages that are at least 30 days old. `tidings archive sweep` does the same at once.
    left_out = {"archive"}
    # Without the extra `search` and without an engine of the user, there is no index to write.
    if find_spec("tantivy") is None and chosen.search.engine == "none":
        left_out.add("search")
    if not has_decoder() or (Engine.S3 not in wanted_engines() and not chosen.media.endpoint):
        left_out.add("media")
    return [_kind(name, loaded, ports) for name in sorted(group.commands) if name not in left_out]


def _kind(name: str, loaded: LoadedSettings, ports: PortAllocator) -> ProcessSpec:
    wanted: int | None = getattr(getattr(loaded.settings, name, None), "port", None)
    admin_port = ports.take(0, name)
    if wanted is None:
        return ProcessSpec(name, admin_port)
    holder = find_port_holder(wanted) if wanted else None
    if holder is None:
        return ProcessSpec(name, admin_port, ports.take(wanted, name))
    if (name, "port") in loaded.sources:
        raise TidingsError(
            Code.ENGINE_PORT_TAKEN,
            f"Port {wanted}, set as {name}.port, is taken{holder.text}.",
            hint=f"Free it, or set {env_name((name, 'port'))} to another, or to 0 for any free one.",
        )
    free = ports.take(0, name)
    return ProcessSpec(name, admin_port, free, f"port {wanted} is taken{holder.text}: {name} is at {free}")


def process_settings(
    kind: ProcessSpec,
    loaded: LoadedSettings,
    cursor_secret: str,
    admin_ports: Iterable[int] = (),
    mail: Mapping[Key, str] | None = None,
) -> dict[str, str]:
    """Return the environment of the process. Settings that the user has given are not changed."""
    eased = {
        **_EASED,
        **(mail or {}),
        ("api", "cursor_secret"): cursor_secret,
        ("console", "bootstrap_key"): console_key(cursor_secret),
        ("process", "drain_token"): drain_token(cursor_secret),
        ("console", "processes"): ",".join(f"127.0.0.1:{port}" for port in admin_ports),
    }
    given = {env_name(key): value for key, value in eased.items() if key not in loaded.sources}
    given[env_name(("telemetry", "log_format"))] = "json"
    given[env_name(("process", "admin_port"))] = str(kind.admin_port)
    if kind.port is not None:
        given[env_name((kind.name, "port"))] = str(kind.port)
    return given


def console_key(cursor_secret: str) -> str:
    """Return the key that signs in to the console of this directory."""
    return sha256(b"console|" + cursor_secret.encode()).hexdigest()[:_KEY_CHARS]


def drain_token(cursor_secret: str) -> str:
    return sha256(b"drain|" + cursor_secret.encode()).hexdigest()[:_KEY_CHARS]


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

    def kill_and_restart(self, name: str) -> None:
        """Kill a process with SIGKILL and start it again at once. This does not count as a failure."""
        self._runners[name].kill_and_restart()

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
