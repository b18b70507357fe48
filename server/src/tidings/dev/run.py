"""Run `tidings dev`: engines, tables, topics, processes and demo data, until it is stopped."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.metadata import entry_points
from time import monotonic
from typing import NoReturn

from tidings.app.settings.loader import INSTALLATION, LoadedSettings, env_name, load
from tidings.dev import process_runner, seed_data
from tidings.dev.console import DevConsole
from tidings.dev.demo_faults import GATEWAY, DemoFaults
from tidings.dev.demo_page import DemoPage, require_checkout
from tidings.dev.demo_server import DemoContent, DemoServer
from tidings.dev.engines import DevEngines
from tidings.dev.mail_sink import MailSink
from tidings.dev.process_runner import ProcessFailedError
from tidings.dev.seed_data import DevKeys, create_dev_tenant
from tidings.dev.state_dir import StateDir
from tidings.dev.supervisor import ProcessSpec, Supervisor, process_settings, process_specs
from tidings.dev.supervisor import console_key as supervisor_key
from tidings.kernel.clock import Clock, SystemClock


class BackgroundTask[T]:
    """Work in a daemon thread; `result` waits for it and returns its result or raises its error."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        threading.Thread(target=self._run, args=(work,), name="aside", daemon=True).start()

    def result(self) -> T:
        return self._future.result()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - `result` raises it again
            self._future.set_exception(error)


_STOP_MARGIN_S = 2.0
_EXIT_FAILED = 1


@dataclass(frozen=True, slots=True)
class DevOptions:
    is_fresh: bool = False
    is_raw: bool = False
    watches: bool = True
    uses_vite: bool = False


class DevRun:
    def __init__(
        self,
        options: DevOptions,
        state_dir: StateDir,
        kinds: list[ProcessSpec],
        engines: DevEngines,
        console: DevConsole,
        *,
        began: float,
    ) -> None:
        self.state_dir = state_dir
        self.console = console
        self._options = options
        self._kinds = kinds
        self._engines = engines
        self._began = began
        self._clock: Clock = SystemClock()

    async def serve(self, loaded: LoadedSettings) -> int:
        watches = self._options.watches and process_runner.is_checkout()
        keys = await create_dev_tenant(loaded.settings, self.state_dir, self._clock)
        for kind in self._kinds:
            if kind.note:
                self.console.info(kind.note, "yellow")
        sink = MailSink(self.state_dir.mail, self.console)
        mail = {
            ("mail", "smtp_url"): f"smtp://127.0.0.1:{await sink.open()}",
            ("mail", "sender"): "tidings@localhost",
            ("mail", "public_url"): self._urls(loaded)["api"],
        }
        supervisor = Supervisor(
            self._kinds,
            lambda kind: process_settings(
                kind, loaded, keys.cursor_secret, [each.admin_port for each in self._kinds], mail
            ),
            self.console,
            stop_s=_stop_s(self._kinds, loaded),
            watches=watches,
        )
        try:
            await supervisor.run(lambda: self._finish(supervisor, loaded, keys, watches=watches))
        except ProcessFailedError as error:
            self._print_exit(error)
            return _EXIT_FAILED
        finally:
            sink.close()
        return 0

    async def _finish(
        self, supervisor: Supervisor, loaded: LoadedSettings, keys: DevKeys, *, watches: bool
    ) -> None:
        await supervisor.ready()
        urls, life_s = self._urls(loaded), loaded.settings.accounts.token_max_lifetime_s
        tokens = seed_data.mint_tokens(keys, self._clock.now_ms() // 1000, life_s)
        chats = await seed_data.SeedData(urls["api"], keys, tokens, self.console).create()
        page = self._demo_page(supervisor, DemoContent(urls, chats, keys.server, tokens))
        key = loaded.settings.console.bootstrap_key
        console_key = key.reveal() if key else supervisor_key(keys.cursor_secret)
        try:
            address = await page.open()
            more = {
                "page": address,
                "chats": chats,
                "server_key": keys.server,
                "admin_ports": {kind.name: kind.admin_port for kind in self._kinds},
                "console_key": console_key,
            }
            seed_data.write_dev_file(self.state_dir, self._clock, urls, tokens, **more)
            self._print_next_steps(urls, address, console_key, watches=watches)
            while True:
                await asyncio.sleep(life_s / 2)
                tokens = seed_data.mint_tokens(keys, self._clock.now_ms() // 1000, life_s)
                page.server.content.tokens = tokens
                seed_data.write_dev_file(self.state_dir, self._clock, urls, tokens, **more)
        finally:
            await page.close()

    def _demo_page(self, supervisor: Supervisor, content: DemoContent) -> DemoPage:
        gateway_port = next(kind.port or 0 for kind in self._kinds if kind.name == GATEWAY)
        faults = DemoFaults(
            self._engines, gateway_port, lambda: supervisor.kill_and_restart(GATEWAY), self.console
        )
        return DemoPage(DemoServer(content, faults), self.console, uses_vite=self._options.uses_vite)

    def _urls(self, loaded: LoadedSettings) -> dict[str, str]:
        """Return the addresses for clients. `media` is absent without attachments."""
        ports = {kind.name: kind.port for kind in self._kinds}
        media = loaded.settings.media
        endpoint = media.public_endpoint or media.endpoint
        return {
            **({"media": endpoint} if endpoint and endpoint != "aws" else {}),
            "api": f"http://127.0.0.1:{ports['api']}",
            "gateway": f"ws://127.0.0.1:{ports['gateway']}{loaded.settings.gateway.path}",
            "console": f"http://127.0.0.1:{ports['console']}",
        }

    def _print_next_steps(
        self, urls: dict[str, str], address: str | None, console_key: str, *, watches: bool
    ) -> None:
        names = ", ".join(kind.name for kind in self._kinds)
        lines = [
            *([f"  open     {address}"] if address else []),
            f"  console  {urls['console']}/#key={console_key}",
            f"  API      {urls['api']}, every route to try at {urls['api']}/docs; socket {urls['gateway']}",
            f"  try      curl -H @{self.state_dir.header('anna')} {urls['api']}/v1/chats",
            f"  kept     data, logs and tokens in {self.state_dir.home}; `tidings dev --fresh` deletes them",
            "  stop     Ctrl-C" + (f"; a change of the code restarts {names}" if watches else ""),
        ]
        if entry_points(group="tidings.commands", name="chat"):  # the package tidings-terminal is installed
            lines.insert(-2, "  chat     tidings chat --as anna, in another terminal; --as ben in a third")
        self.console.print(f"ready in {monotonic() - self._began:.1f} s", "bold green")
        for line in lines:
            self.console.print(line)

    def _print_exit(self, error: ProcessFailedError) -> None:
        self.console.info(f"{error}. Its last lines:", "bold red")
        for line in error.last_lines:
            self.console.replay(error.name, line)
        self.console.info(
            f"complete log: {self.state_dir.logs / error.name}.log; `tidings doctor` helps to find the cause"
        )


def _stop_s(kinds: list[ProcessSpec], loaded: LoadedSettings) -> float:
    """Return how long to wait for a process to stop: its own limits and a margin."""
    given = process_settings(kinds[0], loaded, "")
    life = loaded.settings.process
    drain_s = float(given.get("TIDINGS_PROCESS_DRAIN_S", life.drain_s))
    return drain_s + float(given.get("TIDINGS_PROCESS_STOP_S", life.stop_s)) + _STOP_MARGIN_S


def run_dev(options: DevOptions) -> int:
    """Run until it is stopped, as an installation for development regardless of the settings; return the exit code."""
    os.environ[env_name(INSTALLATION)] = "development"
    if options.uses_vite:
        require_checkout()
    began, loaded = monotonic(), load()
    place = StateDir(loaded.settings.engines.data_dir)
    engines = DevEngines.of(loaded)
    with place.held():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _as_ctrl_c)
        known = process_specs(loaded)
        voice = DevConsole([kind.name for kind in known], place.logs, is_raw=options.is_raw)
        try:
            _prepare(options, loaded, engines, place, voice)
            return asyncio.run(DevRun(options, place, known, engines, voice, began=began).serve(load()))
        except KeyboardInterrupt:
            voice.info("stopped before it was ready")
            return 0
        finally:
            place.leave()
            _stop(engines, voice)
            voice.close()


def _as_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _prepare(
    options: DevOptions, loaded: LoadedSettings, engines: DevEngines, state_dir: StateDir, console: DevConsole
) -> None:
    if options.is_fresh:
        with console.step("fresh") as said:
            engines.wipe()
            state_dir.delete()
            said.append("the data of this directory was deleted")
    tables = BackgroundTask(lambda: _tables(engines, loaded))
    with console.step("engines") as said:
        said.extend(engines.start(console.progress))
    with console.step("tables") as said:
        said.append(tables.result())
    with console.step("topics") as said:
        from tidings.dev.engines import create_topics  # noqa: PLC0415 - see the top: slow to import

        said.append(create_topics(load().settings))
    with console.step("bucket") as said:
        from tidings.dev.engines import create_bucket  # noqa: PLC0415 - see the top: slow to import

        said.append(create_bucket(load().settings))


def _tables(engines: DevEngines, loaded: LoadedSettings) -> str:
    from tidings.dev.engines import create_tables  # noqa: PLC0415 - see the top

    return create_tables(engines.dynamo_when_ready(loaded.settings.dynamo))


def _stop(engines: DevEngines, console: DevConsole) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            number, signal.SIG_IGN
        )  # an engine that is interrupted while it stops would need a recovery
    stopped = engines.stop()
    console.info(f"stopped: {', '.join(stopped)}" if stopped else "the engines ran before and keep running")
