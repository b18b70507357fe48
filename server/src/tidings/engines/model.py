"""Engines, their nodes, and the file that records which of them run."""

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
    S3 = "s3"
    OPENSEARCH = "opensearch"


CHAT_ENGINES = frozenset({Engine.DYNAMO, Engine.KAFKA, Engine.VALKEY})
"""The engines that every installation needs. S3 is for attachments, OpenSearch for search; it starts only by its name."""


type DynamoKind = Literal["local", "dynoxide"]


@dataclass(frozen=True, kw_only=True)
class StartRequest:
    """The engines to start. Port 0 means any free port."""

    engines: frozenset[Engine] = CHAT_ENGINES
    dynamo: DynamoKind = "local"
    on_disk: bool = False
    kafka_brokers: int = 1
    ports: dict[Engine, int] = field(default_factory=dict)
    kafka_behind_proxy: bool = False
    """Each broker gets a second listener that advertises another port, on which a proxy can listen."""
    kafka_extra: dict[str, str] = field(default_factory=dict)
    ready_timeout_s: float = 90.0


@dataclass(frozen=True, kw_only=True)
class EngineNode:
    """One process of an engine, with everything needed to start it again on the same data and ports."""

    name: str
    engine: Engine
    kind: str
    """`local`, `dynoxide`, `broker`, `valkey`, `seaweedfs` or `opensearch`: the module of this package that runs it."""
    data: Path
    log: Path
    on_disk: bool
    port: int
    ports: dict[str, int] = field(default_factory=dict)
    """Other ports, by role: `controller` of a broker, its `proxied` listener and the port `advertised` for it; the parts
    of SeaweedFS."""
    peers: dict[str, int] = field(default_factory=dict)
    """Controller ports of the Kafka cluster by node name, also for one broker."""
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
LOCAL_S3_KEYS = {"access_key": "local", "secret_key": "local-secret"}
"""Credentials of the local S3, which listens on the loopback address only."""


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
        """Lock the directory. Raises at once if another command holds the lock, because waiting would look like hanging."""
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
        """Write the file atomically."""
        saved = [{"node": r.node.to_json(), "pid": r.pid.pid, "born": r.pid.born} for r in running]
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(saved, indent=1))
        fresh.replace(self._file)

    def publish(self, running: list[RunningEngine]) -> None:
        """Write the settings with the addresses of the engines. `app/settings/loader.py` reads them."""
        (self.home / ENDPOINTS_FILE).write_text(endpoints([r.node for r in running]))

    def clear(self) -> None:
        for name in ("state.json", ENDPOINTS_FILE):
            (self.home / name).unlink(missing_ok=True)


def endpoints(nodes: list[EngineNode]) -> str:
    """Return settings with the engines' addresses, as TOML."""
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
        elif node.engine is Engine.S3:
            lines += ["[media]", f'endpoint = "http://{node.address}"']
            lines += [f'{name} = "{value}"' for name, value in LOCAL_S3_KEYS.items()]
        elif node.engine is Engine.OPENSEARCH:
            lines += ["[search]", f'url = "http://{node.address}"']
    return "\n".join(lines) + "\n"
