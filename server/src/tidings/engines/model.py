"""What can be run: which engine, how, where its files are."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from tidings.engines.process import Pid
from tidings.kernel.errors import Code, TidingsError


class Engine(StrEnum):
    DYNAMO = "dynamo"
    KAFKA = "kafka"
    VALKEY = "valkey"


type DynamoKind = Literal["local", "dynoxide"]


@dataclass(frozen=True, kw_only=True)
class StartRequest:
    """What a start is asked for. A port of 0 means: any that is free."""

    engines: frozenset[Engine] = frozenset(Engine)
    dynamo: DynamoKind = "local"
    on_disk: bool = False
    kafka_brokers: int = 1
    ports: dict[Engine, int] = field(default_factory=dict)
    kafka_behind_proxy: bool = False
    """Each broker gets a second listener that advertises a port of its own, for a proxy to listen on."""
    kafka_extra: dict[str, str] = field(default_factory=dict)
    ready_timeout_s: float = 90.0


@dataclass(frozen=True, kw_only=True)
class EngineNode:
    """One process of one engine. Everything needed to start it again on the same data and ports."""

    name: str
    engine: Engine
    kind: str
    """`local`, `dynoxide`, `broker` or `valkey`: which file of this package knows how to run it."""
    data: Path
    log: Path
    on_disk: bool
    port: int
    ports: dict[str, int] = field(default_factory=dict)
    """Further ports, by role: a broker's `controller`, its `proxied` listener and what that `advertised`."""
    peers: dict[str, int] = field(default_factory=dict)
    """The controllers of a Kafka cluster: node name → port. Also for a cluster of one."""
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"data": str(self.data), "log": str(self.log)}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "EngineNode":
        known = dict(saved)
        known |= {"engine": Engine(known["engine"]), "data": Path(known["data"]), "log": Path(known["log"])}
        return cls(**known)


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
        """The settings that point to what runs; `app/settings/loader.py` reads them."""
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
