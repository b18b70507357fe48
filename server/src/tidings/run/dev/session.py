"""One `tidings dev`, from the first engine to the last line: what is started in which order, and ended.

What is slow to import comes while the engines start, and so do the tables: Kafka takes longer than both.
"""

import asyncio
import os
import signal
from dataclasses import dataclass
from time import monotonic
from typing import NoReturn

from tidings.run.dev.aside import Aside
from tidings.run.dev.engines import Engines
from tidings.run.dev.kinds import Kind, kinds
from tidings.run.dev.place import Place
from tidings.run.dev.voice import Voice
from tidings.run.settings.load import INSTALLATION, Loaded, env_name, load


@dataclass(frozen=True, slots=True)
class Wanted:
    is_fresh: bool = False
    is_raw: bool = False
    watches: bool = True


def run_dev(wanted: Wanted) -> int:
    """Run until it is stopped, as an installation for development whatever is set; return the exit code."""
    os.environ[env_name(INSTALLATION)] = "development"
    began, loaded = monotonic(), load()
    place = Place(loaded.settings.engines.data_dir)
    engines = Engines.of(loaded)
    with place.held():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _as_ctrl_c)
        known = kinds(loaded)
        voice = Voice([kind.name for kind in known], place.logs, is_raw=wanted.is_raw)
        try:
            _lay_ground(wanted, loaded, engines, place, voice)
            return _serve(wanted, place, known, voice, began)
        except KeyboardInterrupt:
            voice.say("stopped before it was ready")
            return 0
        finally:
            place.leave()
            _stop(engines, voice)
            voice.close()


def _as_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _lay_ground(wanted: Wanted, loaded: Loaded, engines: Engines, place: Place, voice: Voice) -> None:
    if wanted.is_fresh:
        with voice.step("fresh") as said:
            engines.forget()
            place.forget()
            said.append("what was kept here is forgotten")
    tables = Aside(lambda: _tables(engines, loaded))
    with voice.step("engines") as said:
        said.extend(engines.start(voice.doing))
    with voice.step("tables") as said:
        said.append(tables.result())
    with voice.step("topics") as said:
        from tidings.run.dev.ground import lay_topics  # noqa: PLC0415 - see the top: slow to import

        said.append(lay_topics(load().settings))


def _tables(engines: Engines, loaded: Loaded) -> str:
    from tidings.run.dev import serving  # noqa: F401, PLC0415 - see the top: so that it is there when it is needed
    from tidings.run.dev.ground import lay_tables  # noqa: PLC0415 - see the top

    return lay_tables(engines.dynamo_when_ready(loaded.settings.dynamo))


def _serve(wanted: Wanted, place: Place, known: list[Kind], voice: Voice, began: float) -> int:
    from tidings.run.dev.serving import Serving  # noqa: PLC0415 - see the top

    return asyncio.run(Serving(place, known, voice, began).serve(load(), may_watch=wanted.watches))


def _stop(engines: Engines, voice: Voice) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # nearly through: an engine cut off here would need a recovery
    stopped = engines.stop()
    voice.say(f"stopped: {', '.join(stopped)}" if stopped else "the engines ran before and run on")
