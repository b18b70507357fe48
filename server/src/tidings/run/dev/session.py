"""One `tidings dev`, from the first engine to the last line: what is started in which order, and ended.

What is slow to import comes while the engines start, and so do the tables: Kafka takes longer than both.
"""

import asyncio
import os
import signal
from dataclasses import dataclass
from time import monotonic
from typing import NoReturn

from tidings.run.dev.aside import BackgroundTask
from tidings.run.dev.engines import DevEngines
from tidings.run.dev.kinds import ProcessSpec, process_specs
from tidings.run.dev.place import StateDir
from tidings.run.dev.voice import DevConsole
from tidings.run.settings.load import INSTALLATION, LoadedSettings, env_name, load


@dataclass(frozen=True, slots=True)
class DevOptions:
    is_fresh: bool = False
    is_raw: bool = False
    watches: bool = True


def run_dev(options: DevOptions) -> int:
    """Run until it is stopped, as an installation for development whatever is set; return the exit code."""
    os.environ[env_name(INSTALLATION)] = "development"
    began, loaded = monotonic(), load()
    place = StateDir(loaded.settings.engines.data_dir)
    engines = DevEngines.of(loaded)
    with place.held():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _as_ctrl_c)
        known = process_specs(loaded)
        voice = DevConsole([kind.name for kind in known], place.logs, is_raw=options.is_raw)
        try:
            _lay_ground(options, loaded, engines, place, voice)
            return _serve(options, place, known, voice, began)
        except KeyboardInterrupt:
            voice.info("stopped before it was ready")
            return 0
        finally:
            place.leave()
            _stop(engines, voice)
            voice.close()


def _as_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _lay_ground(
    options: DevOptions, loaded: LoadedSettings, engines: DevEngines, state_dir: StateDir, console: DevConsole
) -> None:
    if options.is_fresh:
        with console.step("fresh") as said:
            engines.wipe()
            state_dir.delete()
            said.append("what was kept here is forgotten")
    tables = BackgroundTask(lambda: _tables(engines, loaded))
    with console.step("engines") as said:
        said.extend(engines.start(console.progress))
    with console.step("tables") as said:
        said.append(tables.result())
    with console.step("topics") as said:
        from tidings.run.dev.ground import create_topics  # noqa: PLC0415 - see the top: slow to import

        said.append(create_topics(load().settings))


def _tables(engines: DevEngines, loaded: LoadedSettings) -> str:
    from tidings.run.dev import serving  # noqa: F401, PLC0415 - see the top: so that it is there when it is needed
    from tidings.run.dev.ground import create_tables  # noqa: PLC0415 - see the top

    return create_tables(engines.dynamo_when_ready(loaded.settings.dynamo))


def _serve(
    options: DevOptions, state_dir: StateDir, known: list[ProcessSpec], console: DevConsole, began: float
) -> int:
    from tidings.run.dev.serving import DevRun  # noqa: PLC0415 - see the top

    return asyncio.run(DevRun(state_dir, known, console, began).serve(load(), may_watch=options.watches))


def _stop(engines: DevEngines, console: DevConsole) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # nearly through: an engine cut off here would need a recovery
    stopped = engines.stop()
    console.info(f"stopped: {', '.join(stopped)}" if stopped else "the engines ran before and run on")
