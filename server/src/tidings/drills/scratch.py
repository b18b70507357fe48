"""A scratch installation: engines and processes of its own on this machine, in a directory that is deleted at the end."""

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tidings.app.settings.loader import INSTALLATION, Key, LoadedSettings, env_name, load
from tidings.dev.process_runner import ChildProcess
from tidings.dev.seed_data import is_http_ready
from tidings.engines import dynoxide
from tidings.engines.jars import cache_in
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import CHAT_ENGINES, Engine, StartRequest
from tidings.engines.node_plan import PortAllocator
from tidings.kernel.errors import Code, TidingsError

PROCESSES: Final = ("api", "gateway", "delivery", "relay")
"""Enough to send and to deliver. Nothing that leaves the installation: no push, mail, webhook or search."""
_CURSOR_SECRET: Final[Key] = ("api", "cursor_secret")
_COMMAND_TIMEOUT_S: Final = 600.0
_READY_WITHIN_S: Final = 180.0
_STOP_WITHIN_S: Final = 15.0
_POLL_S: Final = 0.1
_LAST_LINES: Final = 12


@dataclass(slots=True)
class ScratchInstallation:
    """Its settings are those of production, except for the addresses of the engines and the ports."""

    home: Path
    cluster: LocalCluster
    production: LoadedSettings
    _ports: PortAllocator = field(default_factory=PortAllocator)
    _admin_ports: dict[str, int] = field(default_factory=dict)
    _given: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return dynoxide.database(self.cluster.find(Engine.DYNAMO).node)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self._given[env_name(('api', 'port'))]}"

    def start_engines(self) -> None:
        """Start them on free ports. Call it in the main thread: the engines end with that thread."""
        request = StartRequest(
            engines=CHAT_ENGINES,
            dynamo="dynoxide",
            on_disk=True,
            ready_timeout_s=self.production.settings.engines.ready_timeout_s,
        )
        running = {each.node.engine: each.node.address for each in self.cluster.start(request)}
        self._given = {
            env_name(INSTALLATION): self.production.settings.installation,
            env_name(("engines", "data_dir")): str(self.home),
            env_name(("dynamo", "endpoint")): f"http://{running[Engine.DYNAMO]}",
            env_name(("kafka", "bootstrap_servers")): running[Engine.KAFKA],
            env_name(("redis", "url")): f"redis://{running[Engine.VALKEY]}",
            env_name(("api", "port")): str(self._ports.take(0, "api")),
            env_name(("gateway", "port")): str(self._ports.take(0, "gateway")),
        }
        if _CURSOR_SECRET not in self.production.sources:
            self._given[env_name(_CURSOR_SECRET)] = secrets.token_urlsafe(32)

    def load(self) -> LoadedSettings:
        return load(self._environment())

    def run_command(self, *words: str) -> None:
        """Run a `tidings` command in the scratch installation. Raise `internal` with its output if it fails."""
        done = subprocess.run(  # noqa: S603 - a fixed command
            [sys.executable, "-m", "tidings", *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
            env=self._environment(),
        )
        if done.returncode:
            lines = "\n".join((done.stdout + done.stderr).splitlines()[-_LAST_LINES:])
            raise TidingsError(Code.INTERNAL, f"`tidings {' '.join(words)}` failed in the drill:\n{lines}")

    @asynccontextmanager
    async def processes(self) -> AsyncIterator[None]:
        """Start the processes, and yield when all of them are ready."""
        children: list[ChildProcess] = []
        try:
            for name in PROCESSES:
                self._admin_ports[name] = self._ports.take(0, name)
                admin_port = {env_name(("process", "admin_port")): str(self._admin_ports[name])}
                children.append(await ChildProcess.start(name, self._given | admin_port, _ignore_line))
            async with asyncio.timeout(_READY_WITHIN_S):
                for child in children:
                    await self._until_ready(child)
            yield
        except TimeoutError as error:
            raise TidingsError(
                Code.INTERNAL, f"The processes were not ready in {_READY_WITHIN_S:g} s."
            ) from error
        finally:
            await asyncio.gather(*(child.stop(_STOP_WITHIN_S) for child in children))

    async def _until_ready(self, child: ChildProcess) -> None:
        while not await is_http_ready(self._admin_ports[child.name]):
            if not child.is_alive:
                lines = "\n".join(child.last_lines)
                raise TidingsError(
                    Code.INTERNAL, f"{child.name} ended in the drill. Its last lines:\n{lines}"
                )
            await asyncio.sleep(_POLL_S)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self._given}


def _ignore_line(name: str, line: str) -> None:
    """Ignore a log line: `ChildProcess.last_lines` keeps the last ones."""


@contextmanager
def scratch_installation(loaded: LoadedSettings) -> Iterator[ScratchInstallation]:
    """Create the directory below that of production's engines, and delete it at the end, also after a failure."""
    chosen = loaded.settings.engines
    home = (chosen.data_dir / "drill").absolute()
    cache = cache_in(chosen.cache_dir)
    cluster = LocalCluster(home, cache, dies_with_us=True)
    if any(each.is_alive for each in cluster.status()):
        raise TidingsError(
            Code.ENGINES_BUSY, f"Another drill runs in {home}.", hint="Wait until it has ended."
        )
    shutil.rmtree(home, ignore_errors=True)  # of a drill that was killed
    home.mkdir(parents=True, mode=0o700)
    try:
        yield ScratchInstallation(home, cluster, loaded)
    finally:
        cluster.stop()
        shutil.rmtree(home)
