"""Each thing that can be wrong with an engine, provoked on a real one, is found and explained."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from contract.doctor.conftest import Examine, only, states
from fixtures.engines import Namespace
from fixtures.redis_cluster import Server, ask, wait_for
from fixtures.tables import REGION, Tables

from tidings.app.settings.model import KafkaSettings
from tidings.doctor import kafka as kafka_checks
from tidings.doctor.model import CheckState
from tidings.doctor.redis import check_info
from tidings.engines import valkey as valkey_engine
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.engines.node_plan import PortAllocator
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.tables.control_plane import connect_control_plane
from tidings.schema.topics import control_plane


def closed_port() -> int:
    return PortAllocator().take(0, "nobody")


def dynamo_of(tables: Tables) -> dict[str, str]:
    return {
        "DYNAMO_ENDPOINT": tables.url,
        "DYNAMO_TABLE_PREFIX": tables.prefix,
        "DYNAMO_CAPACITY": "on_demand",
    }


class TestDynamo:
    def test_a_healthy_engine_has_no_problems(self, tables_local: Tables, examine: Examine) -> None:
        found = states(examine("dynamo", **dynamo_of(tables_local)))
        assert found == {"dynamo": CheckState.OK, "clock": CheckState.OK, "tables": CheckState.OK}

    def test_a_missing_setting_is_reported(self, examine: Examine) -> None:
        assert "not set" in only(examine("dynamo"), "dynamo", CheckState.WRONG).found

    def test_an_unreachable_engine_is_reported(self, examine: Examine) -> None:
        endpoint = f"http://127.0.0.1:{closed_port()}"
        found = examine("dynamo", DYNAMO_ENDPOINT=endpoint)
        assert endpoint in only(found, "dynamo", CheckState.WRONG).found

    def test_a_server_that_is_not_the_engine_is_reported(self, examine: Examine) -> None:
        with another_server() as url:
            only(examine("dynamo", DYNAMO_ENDPOINT=url), "tables", CheckState.WRONG)

    @pytest.mark.parametrize(("offset_s", "state"), [(10, CheckState.WARNING), (-130, CheckState.WRONG)])
    def test_the_clock_is_wrong(
        self, tables_local: Tables, examine: Examine, offset_s: int, state: CheckState
    ) -> None:
        examined = examine("dynamo", clock_offset_s=offset_s, **dynamo_of(tables_local))
        found = only(examined, "clock", state)
        assert ("ahead of" if offset_s > 0 else "behind") in found.found

    def test_tables_are_missing(self, tables_local: Tables, space: Namespace, examine: Examine) -> None:
        given = dynamo_of(tables_local) | {"DYNAMO_TABLE_PREFIX": space.table_prefix}
        found = only(examine("dynamo", **given), "tables", CheckState.WRONG)
        assert f"{space.table_prefix}messages: missing" in found.details
        assert "tidings tables apply" in found.todo

    def test_a_table_has_another_key(self, tables_local: Tables, space: Namespace, examine: Examine) -> None:
        connect_control_plane(tables_local.url, REGION).create_table(
            TableName=f"{space.table_prefix}messages",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        given = dynamo_of(tables_local) | {"DYNAMO_TABLE_PREFIX": space.table_prefix}
        found = next(each for each in examine("dynamo", **given) if each.state is CheckState.WRONG)
        assert [line for line in found.details if "messages: keys: id (S)" in line]

    def test_ttl_stream_and_protection_are_off(self, bent_tables: Tables, examine: Examine) -> None:
        client, prefix = connect_control_plane(bent_tables.url, REGION), bent_tables.prefix
        client.update_time_to_live(
            TableName=f"{prefix}sessions",
            TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"},
        )
        client.update_table(TableName=f"{prefix}messages", StreamSpecification={"StreamEnabled": False})
        client.update_table(TableName=f"{prefix}users", DeletionProtectionEnabled=False)
        found = [each for each in examine("dynamo", **dynamo_of(bent_tables)) if each.check == "tables"]
        assert [each.state for each in found] == [CheckState.WRONG, CheckState.WARNING]
        assert [line.split(":")[:2] for line in sorted(found[0].details)] == [
            [f"{prefix}messages", " stream"],
            [f"{prefix}sessions", " TTL"],
        ]
        assert [line.split(":")[:2] for line in found[1].details] == [
            [f"{prefix}users", " deletion protection"]
        ]


class TestKafka:
    def test_a_healthy_engine_has_no_problems(self, topics: dict[str, str], examine: Examine) -> None:
        found = states(examine("kafka", **topics))
        assert found == {
            "kafka": CheckState.OK,
            "kafka version": CheckState.OK,
            "kafka session": CheckState.OK,
            "topics": CheckState.OK,
            "lag": CheckState.SKIPPED,
        }

    def test_a_missing_setting_is_reported(self, examine: Examine) -> None:
        assert "not set" in only(examine("kafka"), "kafka", CheckState.WRONG).found

    def test_an_unreachable_broker_is_reported(self, examine: Examine) -> None:
        found = examine("kafka", KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port()}")
        assert "no answer at" in only(found, "kafka", CheckState.WRONG).found

    def test_a_server_that_is_not_a_broker_is_reported(
        self, examine: Examine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(control_plane, "_METADATA_S", 1.0)
        with another_server() as url:
            found = examine("kafka", KAFKA_BOOTSTRAP_SERVERS=url.removeprefix("http://"))
        assert "does not answer" in only(found, "kafka", CheckState.WRONG).found

    def test_topics_are_missing(self, kafka: str, space: Namespace, examine: Examine) -> None:
        given = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "KAFKA_TOPIC_PREFIX": space.topic_prefix}
        found = only(examine("kafka", **given), "topics", CheckState.WRONG)
        assert f"{space.topic_prefix}messages: missing" in found.details

    def test_a_long_session_timeout_is_reported(
        self, fleets: Callable[[StartRequest], LocalCluster], examine: Examine
    ) -> None:
        as_kafka_comes = {"group.consumer.session.timeout.ms": "45000"}
        fleet = fleets(StartRequest(engines=frozenset({Engine.KAFKA}), kafka_extra=as_kafka_comes))
        found = examine("kafka", KAFKA_BOOTSTRAP_SERVERS=fleet.find("kafka-1").node.address)
        assert "for 45 s" in only(found, "kafka session", CheckState.WARNING).why
        fleet.kill("kafka-1")

    def test_a_topic_with_another_retention_is_reported(
        self, topics: dict[str, str], link: KafkaConfig, examine: Examine
    ) -> None:
        entry = ConfigEntry("retention.ms", "60000", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, link.topic("messages"), incremental_configs=[entry])
        admin = AdminClient(link.admin_config())
        for future in admin.incremental_alter_configs([resource]).values():
            future.result()
        found = only(examine("kafka", **topics), "topics", CheckState.WARNING)
        assert link.topic("messages") in found.details[0]

    def test_it_is_too_old(self) -> None:
        """A fake broker answers ApiVersions as an old one does; no old broker is installed."""
        with old_kafka() as address:
            assert kafka_checks.supported_calls(address) == {0, 1, 3, 18}
            found = kafka_checks._version(KafkaSettings(bootstrap_servers=address))
        assert found.state is CheckState.WRONG
        assert "older than 4.0" in found.found

    def test_a_group_is_far_behind(
        self,
        topics: dict[str, str],
        link: KafkaConfig,
        examine: Examine,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(kafka_checks, "BEHIND", 5)
        group = fall_behind(link, 5)
        found = only(examine("kafka", **topics), "lag", CheckState.WARNING)
        assert f"{group} by 5" in found.found


def fall_behind(link: KafkaConfig, by: int) -> str:
    """A group that has consumed one record, and not the others."""
    topic, group = link.topic("messages"), link.group("slow")
    producer = Producer(link.admin_config())
    for _ in range(by + 1):
        producer.produce(topic, b"x", partition=0)
    assert producer.flush(30) == 0
    consumer = Consumer({**link.admin_config(), "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
    return group


class TestRedis:
    def test_a_healthy_engine_has_no_problems(self, valkey: str, examine: Examine) -> None:
        assert states(examine("redis", REDIS_URL=valkey)) == {"redis": CheckState.OK, "clock": CheckState.OK}

    def test_a_missing_setting_is_reported(self, examine: Examine) -> None:
        assert "not set" in only(examine("redis"), "redis", CheckState.WRONG).found

    def test_an_unreachable_engine_is_reported(self, examine: Examine) -> None:
        found = examine("redis", REDIS_URL=f"redis://127.0.0.1:{closed_port()}")
        assert "does not answer" in only(found, "redis", CheckState.WRONG).found

    def test_the_clock_is_wrong(self, valkey: str, examine: Examine) -> None:
        found = examine("redis", REDIS_URL=valkey, clock_offset_s=90)
        assert "90 s ahead of Redis" in only(found, "clock", CheckState.WRONG).found

    def test_an_eviction_policy_is_reported(self, own: "Own", examine: Examine) -> None:
        server = own()
        ask(server.port, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        found = only(examine("redis", REDIS_URL=url_of(server)), "redis memory", CheckState.WARNING)
        assert "allkeys-lru" in found.found

    def test_it_is_a_replica(self, own: "Own", examine: Examine) -> None:
        server = own()
        ask(server.port, "REPLICAOF", "127.0.0.1", str(closed_port()))
        only(examine("redis", REDIS_URL=url_of(server)), "redis role", CheckState.WRONG)

    def test_it_cannot_write_to_its_disk(self, own: "Own", examine: Examine) -> None:
        server = own()
        (server.home / "log").unlink()
        server.home.rename(server.home.with_name("moved"))
        server.home.with_name("moved").joinpath("dump.rdb").mkdir()
        ask(server.port, "SET", "a", "b")
        ask(server.port, "BGSAVE")
        wait_for(
            lambda: b"rdb_last_bgsave_status:err" in bytes(str(ask(server.port, "INFO")), "utf-8"), "failure"
        )
        found = only(examine("redis", REDIS_URL=url_of(server)), "redis persistence", CheckState.WRONG)
        assert "rdb_last_bgsave_status" in found.found

    def test_a_single_node_configured_as_cluster_is_reported(self, valkey: str, examine: Examine) -> None:
        found = examine("redis", REDIS_URL=valkey, REDIS_IS_CLUSTER="true")
        assert "Set redis.is_cluster to false" in only(found, "redis cluster", CheckState.WRONG).todo

    def test_a_cluster_configured_as_single_node_is_reported(self, own: "Own", examine: Examine) -> None:
        found = examine("redis", REDIS_URL=url_of(own(bus_port=closed_port())))
        assert "Set redis.is_cluster to true" in only(found, "redis cluster", CheckState.WRONG).todo

    def test_an_incomplete_cluster_is_reported(self, own: "Own", examine: Examine) -> None:
        server = own(bus_port=closed_port())
        found = examine("redis", REDIS_URL=url_of(server), REDIS_IS_CLUSTER="true")
        assert "state is fail" in only(found, "redis cluster", CheckState.WRONG).found

    def test_it_is_too_old(self) -> None:
        found = list(check_info({"redis_version": "6.2.14"}, is_cluster_set=False))
        assert "6.2.14" in only(found, "redis version", CheckState.WRONG).found


type Own = Callable[..., Server]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    """A Valkey of the test's own; with a `bus_port` a node of a cluster that has no slots."""
    started: list[Server] = []

    def start(bus_port: int = 0) -> Server:
        server = Server(str(valkey_engine._binary()), tmp_path / "valkey", closed_port(), bus_port)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()


def url_of(server: Server) -> str:
    return f"redis://127.0.0.1:{server.port}"


class _Refuse(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(400)

    do_POST = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def another_server() -> Iterator[str]:
    """Serve HTTP as a server that is not an engine."""
    server = HTTPServer(("127.0.0.1", 0), _Refuse)
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@contextmanager
def old_kafka() -> Iterator[str]:
    calls = [0, 1, 3, 18]
    body = struct.pack(">ihi", 1, 0, len(calls)) + b"".join(struct.pack(">hhh", call, 0, 3) for call in calls)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while (client := listening.accept()[0]).recv(4_096):
                with client:
                    client.sendall(struct.pack(">i", len(body)) + body)
            client.close()

        serving = threading.Thread(target=serve)
        serving.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        socket.create_connection(listening.getsockname()).close()  # stops the server
        serving.join()
