"""From a wish to nodes: which processes, on which ports, with their files where."""

import hashlib
import os
from pathlib import Path

from tidings.engines.model import Engine, EngineNode, StartRequest
from tidings.engines.ports import PortAllocator


def engine_modules(request: StartRequest) -> list[str]:
    of = {Engine.DYNAMO: request.dynamo, Engine.KAFKA: "broker", Engine.VALKEY: "valkey"}
    return [of[engine] for engine in Engine if engine in request.engines]


def plan_nodes(home: Path, request: StartRequest) -> list[EngineNode]:
    """The nodes of a wish, with ports."""
    ports = PortAllocator()
    nodes: list[EngineNode] = []
    if Engine.DYNAMO in request.engines:
        nodes.append(_node(home, request, ports, Engine.DYNAMO, request.dynamo))
    if Engine.VALKEY in request.engines:
        nodes.append(_node(home, request, ports, Engine.VALKEY, "valkey"))
    if Engine.KAFKA in request.engines:
        nodes += _brokers(home, request, ports)
    return nodes


def _node(home: Path, request: StartRequest, ports: PortAllocator, engine: Engine, kind: str) -> EngineNode:
    return EngineNode(
        name=engine,
        engine=engine,
        kind=kind,
        data=_data(home, engine, kind, is_kept=request.on_disk),
        log=home / "logs" / f"{engine}.log",
        on_disk=request.on_disk,
        port=ports.take(request.ports.get(engine, 0), engine),
    )


def _brokers(home: Path, request: StartRequest, ports: PortAllocator) -> list[EngineNode]:
    names = [f"kafka-{number}" for number in range(1, request.kafka_brokers + 1)]
    first = request.ports.get(Engine.KAFKA, 0)
    peers = {name: ports.take(0, name) for name in names}
    return [
        EngineNode(
            name=name,
            engine=Engine.KAFKA,
            kind="broker",
            data=_data(home, name, "broker", is_kept=request.on_disk),
            log=home / "logs" / f"{name}.log",
            on_disk=request.on_disk,
            port=ports.take(first and first + offset, name),
            ports={"controller": peers[name]} | _proxied(request, ports, name),
            peers=peers,
            extra=request.kafka_extra,
        )
        for offset, name in enumerate(names)
    ]


def _proxied(request: StartRequest, ports: PortAllocator, name: str) -> dict[str, int]:
    if not request.kafka_behind_proxy:
        return {}
    return {"proxied": ports.take(0, name), "advertised": ports.take(0, name)}


def _data(home: Path, name: str, kind: str, *, is_kept: bool) -> Path:
    if is_kept:
        return home / "data" / name
    shared_memory = Path("/dev/shm")  # noqa: S108 - a directory of our own is made in it
    if kind == "dynoxide" and shared_memory.is_dir():
        mark = hashlib.sha256(str(home).encode()).hexdigest()[:12]
        return shared_memory / f"tidings-{os.getuid()}-{mark}" / name
    return home / "scratch" / name
