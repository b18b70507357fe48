"""What runs once the ground is laid: the processes, the people, and what to do next. Ends with a signal."""

import asyncio
from time import monotonic

from tidings.kernel.clock import Clock, SystemClock
from tidings.run.cli import plugin_commands
from tidings.run.dev import code, town
from tidings.run.dev.keeper import ProcessFailedError
from tidings.run.dev.keys import DevKeys, create_dev_tenant
from tidings.run.dev.kinds import ProcessSpec, process_settings
from tidings.run.dev.place import StateDir
from tidings.run.dev.supervisor import Supervisor
from tidings.run.dev.voice import DevConsole
from tidings.run.settings.load import LoadedSettings

_BESIDE_STOP_S = 2.0
_EXIT_FAILED = 1


class DevRun:
    def __init__(
        self, state_dir: StateDir, kinds: list[ProcessSpec], console: DevConsole, began: float
    ) -> None:
        self.state_dir = state_dir
        self.console = console
        self._kinds = kinds
        self._began = began
        self._clock: Clock = SystemClock()

    async def serve(self, loaded: LoadedSettings, *, may_watch: bool) -> int:
        watches = may_watch and code.is_checkout()
        keys = await create_dev_tenant(loaded.settings, self.state_dir, self._clock)
        for kind in self._kinds:
            if kind.note:
                self.console.info(kind.note, "yellow")
        supervisor = Supervisor(
            self._kinds,
            lambda kind: process_settings(kind, loaded, keys.cursor_secret),
            self.console,
            stop_s=_stop_s(self._kinds, loaded),
            watches=watches,
        )
        try:
            await supervisor.run(lambda: self._finish(supervisor, loaded, keys, watches=watches))
        except ProcessFailedError as error:
            self._print_exit(error)
            return _EXIT_FAILED
        return 0

    async def _finish(
        self, supervisor: Supervisor, loaded: LoadedSettings, keys: DevKeys, *, watches: bool
    ) -> None:
        await supervisor.ready()
        urls, life_s = self._urls(loaded), loaded.settings.accounts.token_max_lifetime_s
        tokens = town.mint_tokens(keys, self._clock.now_ms() // 1000, life_s)
        chats = await town.SeedData(urls["api"], keys, tokens, self.console).create()
        ports = {kind.name: kind.admin_port for kind in self._kinds}
        more = {"chats": chats, "server_key": keys.server, "admin_ports": ports}
        town.write_dev_file(self.state_dir, self._clock, urls, tokens, **more)
        self._print_next_steps(urls, watches=watches)
        while True:
            await asyncio.sleep(life_s / 2)
            tokens = town.mint_tokens(keys, self._clock.now_ms() // 1000, life_s)
            town.write_dev_file(self.state_dir, self._clock, urls, tokens, **more)

    def _urls(self, loaded: LoadedSettings) -> dict[str, str]:
        ports = {kind.name: kind.port for kind in self._kinds}
        return {
            "api": f"http://127.0.0.1:{ports['api']}",
            "gateway": f"ws://127.0.0.1:{ports['gateway']}{loaded.settings.gateway.path}",
        }

    def _print_next_steps(self, urls: dict[str, str], *, watches: bool) -> None:
        names = ", ".join(kind.name for kind in self._kinds)
        lines = [
            f"  API      {urls['api']}, every route to try at {urls['api']}/docs",
            f"  gateway  {urls['gateway']}",
            f"  try      curl -H @{self.state_dir.header('anna')} {urls['api']}/v1/chats",
            f"  people   {', '.join(town.DEMO_USERS)}: addresses and tokens in {self.state_dir.client}",
            f"  kept     data and logs in {self.state_dir.home}; `tidings dev --fresh` forgets them",
            "  stop     Ctrl-C" + (f"; a change of the code restarts {names}" if watches else ""),
        ]
        if "chat" in plugin_commands():
            lines.insert(3, "  chat     tidings chat --as anna, in another terminal; --as ben in a third")
        self.console.print(f"ready in {monotonic() - self._began:.1f} s", "bold green")
        for line in lines:
            self.console.print(line)

    def _print_exit(self, error: ProcessFailedError) -> None:
        self.console.info(f"{error}. The last it said:", "bold red")
        for line in error.last_lines:
            self.console.replay(error.name, line)
        self.console.info(
            f"all of it: {self.state_dir.logs / error.name}.log; `tidings doctor` looks for the cause"
        )


def _stop_s(kinds: list[ProcessSpec], loaded: LoadedSettings) -> float:
    """As long as a process takes for itself, and a little."""
    given = process_settings(kinds[0], loaded, "")
    life = loaded.settings.process
    drain_s = float(given.get("TIDINGS_PROCESS_DRAIN_S", life.drain_s))
    return drain_s + float(given.get("TIDINGS_PROCESS_STOP_S", life.stop_s)) + _BESIDE_STOP_S
