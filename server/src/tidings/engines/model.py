"""What can be run: which engine, how, where its files are."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal


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
