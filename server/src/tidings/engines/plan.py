"""From a wish to nodes: which processes, on which ports, with their files where."""

import hashlib
import os
from pathlib import Path

from tidings.engines.model import Engine, Node, Wish
from tidings.engines.ports import Ports


def kinds(wish: Wish) -> list[str]:
    of = {Engine.DYNAMO: wish.dynamo, Engine.KAFKA: "broker", Engine.VALKEY: "valkey"}
    return [of[engine] for engine in Engine if engine in wish.engines]


def plan(home: Path, wish: Wish) -> list[Node]:
    """The nodes of a wish, with ports."""
    ports = Ports()
    nodes: list[Node] = []
    if Engine.DYNAMO in wish.engines:
        nodes.append(_node(home, wish, ports, Engine.DYNAMO, wish.dynamo))
    if Engine.VALKEY in wish.engines:
        nodes.append(_node(home, wish, ports, Engine.VALKEY, "valkey"))
    if Engine.KAFKA in wish.engines:
        nodes += _brokers(home, wish, ports)
    return nodes


def _node(home: Path, wish: Wish, ports: Ports, engine: Engine, kind: str) -> Node:
    return Node(
        name=engine,
        engine=engine,
        kind=kind,
        data=_data(home, engine, kind, is_kept=wish.on_disk),
        log=home / "logs" / f"{engine}.log",
        on_disk=wish.on_disk,
        port=ports.take(wish.ports.get(engine, 0), engine),
    )


def _brokers(home: Path, wish: Wish, ports: Ports) -> list[Node]:
    names = [f"kafka-{number}" for number in range(1, wish.kafka_brokers + 1)]
    first = wish.ports.get(Engine.KAFKA, 0)
    peers = {name: ports.take(0, name) for name in names}
    return [
        Node(
            name=name,
            engine=Engine.KAFKA,
            kind="broker",
            data=_data(home, name, "broker", is_kept=wish.on_disk),
            log=home / "logs" / f"{name}.log",
            on_disk=wish.on_disk,
            port=ports.take(first and first + offset, name),
            ports={"controller": peers[name]} | _proxied(wish, ports, name),
            peers=peers,
            extra=wish.kafka_extra,
        )
        for offset, name in enumerate(names)
    ]


def _proxied(wish: Wish, ports: Ports, name: str) -> dict[str, int]:
    if not wish.kafka_behind_proxy:
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
