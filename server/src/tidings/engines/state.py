"""What runs here, on disk, so that another command finds it. One writer at a time."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidings.engines.model import Engine, EngineNode
from tidings.engines.process import Pid
from tidings.kernel.errors import Code, TidingsError

ENDPOINTS_FILE = "endpoints.toml"


@dataclass(frozen=True)
class RunningEngine:
    node: EngineNode
    pid: Pid

    @property
    def is_alive(self) -> bool:
        return self.pid.is_alive


@dataclass(frozen=True)
class StateFile:
    home: Path

    @property
    def _file(self) -> Path:
        return self.home / "state.json"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Refuses at once if another command is at work here: waiting would look like hanging."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "lock").open("w") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TidingsError(
                    Code.ENGINES_BUSY,
                    f"Another command is starting or stopping the engines in {self.home}.",
                    hint="Wait for it to end, then try again.",
                ) from error
            yield

    def read(self) -> list[RunningEngine]:
        if not self._file.exists():
            return []
        saved = json.loads(self._file.read_text())
        return [RunningEngine(EngineNode.from_json(s["node"]), Pid(s["pid"], s["born"])) for s in saved]

    def write(self, running: list[RunningEngine]) -> None:
        """Whole or not at all; and what other commands read as settings beside it."""
        saved = [{"node": r.node.to_json(), "pid": r.pid.pid, "born": r.pid.born} for r in running]
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(saved, indent=1))
        fresh.replace(self._file)

    def publish(self, running: list[RunningEngine]) -> None:
        """The settings that point to what runs; `run/settings/load.py` reads them."""
        (self.home / ENDPOINTS_FILE).write_text(endpoints([r.node for r in running]))

    def clear(self) -> None:
        for name in ("state.json", ENDPOINTS_FILE):
            (self.home / name).unlink(missing_ok=True)


def endpoints(nodes: list[EngineNode]) -> str:
    """As TOML. Brokers share one line."""
    brokers = ",".join(node.address for node in nodes if node.engine is Engine.KAFKA)
    lines = ["# Written by `tidings engines start`, removed by `tidings engines stop`."]
    lines += ['installation = "development"'] if nodes else []
    if brokers:
        lines += ["[kafka]", f'bootstrap_servers = "{brokers}"']
    for node in nodes:
        if node.engine is Engine.DYNAMO:
            lines += ["[dynamo]", f'endpoint = "http://{node.address}"']
        elif node.engine is Engine.VALKEY:
            lines += ["[redis]", f'url = "redis://{node.address}"']
    return "\n".join(lines) + "\n"
