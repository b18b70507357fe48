"""Plan the nodes of a start request: names, data directories and free ports."""

import fcntl
import hashlib
import os
import random
import socket
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import psutil

from tidings.engines import opensearch
from tidings.engines.model import Engine, EngineNode, StartRequest
from tidings.kernel.errors import Code, TidingsError

SEAWEEDFS_PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"),
    *("s3.port.grpc", "admin.port", "admin.port.grpc"),
)


class PortAllocator:
    """Allocate ports, each once, even while no process listens on the earlier ones yet."""

    def __init__(self) -> None:
        self._given: set[int] = set()

    def take(self, wanted: int, for_whom: str) -> int:
        """Return `wanted`, which must be free, or any free port for 0."""
        port = _find_free(self._given) if wanted == 0 else wanted
        if not is_port_free(port) or port in self._given:
            holder = _holder(port)
            raise TidingsError(
                Code.ENGINE_PORT_TAKEN,
                f"Port {port} for {for_whom} is already in use{holder}.",
                hint=f"Free it, choose another, or set engines.{for_whom.partition('-')[0]}_port to 0 for any free port.",
                details={"port": port},
            )
        self._given.add(port)
        return port


def is_port_free(port: int) -> bool:
    # On all interfaces, so that a listener on any address is found.
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("0.0.0.0", port))  # noqa: S104 - a test, nothing listens
        except OSError:
            return False
        return True


_FREE_PORTS = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections, which would take one before its process listens."""


_RESERVATIONS = Path(tempfile.gettempdir()) / f"tidings-ports-{os.getuid()}"


def _find_free(given: set[int]) -> int:
    while True:
        port = random.choice(_FREE_PORTS)  # noqa: S311 - no secret
        if port not in given and is_port_free(port) and _reserve(port):
            return port


_reserved: set[int] = set()


@cache
def _reservations() -> int:
    """Return a descriptor, which stays open until the process ends: closing it would release the locks."""
    return os.open(_RESERVATIONS, os.O_WRONLY | os.O_CREAT, 0o600)


def _reserve(port: int) -> bool:
    """Reserve a port until this process ends. Returns False if this process or another one has reserved it."""
    # Race: two processes choose the same port, and neither listens on it yet. Each port has a byte in a file of the user,
    # and the system lets one process lock it.
    if port in _reserved:
        return False
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _reserved.add(port)
    return True


def _holder(port: int) -> str:
    try:
        pid = next(
            c.pid
            for c in psutil.net_connections("tcp")
            if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port and c.pid
        )
        return f" by {psutil.Process(pid).name()} (process {pid})"
    except (StopIteration, psutil.Error):
        return ""


def engine_modules(request: StartRequest) -> list[str]:
    of = {
        Engine.DYNAMO: request.dynamo,
        Engine.KAFKA: "broker",
        Engine.VALKEY: "valkey",
        Engine.S3: "seaweedfs",
        Engine.OPENSEARCH: "opensearch",
    }
    return [of[engine] for engine in Engine if engine in request.engines]


def plan_nodes(home: Path, request: StartRequest) -> list[EngineNode]:
    """Return the nodes of a start request, with ports."""
    ports = PortAllocator()
    nodes: list[EngineNode] = []
    if Engine.DYNAMO in request.engines:
        nodes.append(_node(home, request, ports, Engine.DYNAMO, request.dynamo))
    if Engine.VALKEY in request.engines:
        nodes.append(_node(home, request, ports, Engine.VALKEY, "valkey"))
    if Engine.KAFKA in request.engines:
        nodes += _brokers(home, request, ports)
    if Engine.S3 in request.engines:
        s3 = _node(home, request, ports, Engine.S3, "seaweedfs")
        nodes.append(replace(s3, ports=_seaweedfs_ports(ports)))
    if Engine.OPENSEARCH in request.engines:
        port = next(each for each in opensearch.shuffled_ports() if is_port_free(each))
        asked = replace(request, ports={Engine.OPENSEARCH: port})
        nodes.append(_node(home, asked, ports, Engine.OPENSEARCH, "opensearch"))
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


def _seaweedfs_ports(ports: PortAllocator) -> dict[str, int]:
    """Return a port for each part of SeaweedFS, which would otherwise use fixed ones."""
    return {role: ports.take(0, f"s3-{role}") for role in SEAWEEDFS_PORTS}


def _proxied(request: StartRequest, ports: PortAllocator, name: str) -> dict[str, int]:
    if not request.kafka_behind_proxy:
        return {}
    return {"proxied": ports.take(0, name), "advertised": ports.take(0, name)}


def _data(home: Path, name: str, kind: str, *, is_kept: bool) -> Path:
    if is_kept:
        return home / "data" / name
    shared_memory = Path("/dev/shm")  # noqa: S108 - a directory per user is created in it
    if kind == "dynoxide" and shared_memory.is_dir():
        mark = hashlib.sha256(str(home).encode()).hexdigest()[:12]
        return shared_memory / f"tidings-{os.getuid()}-{mark}" / name
    return home / "scratch" / name
