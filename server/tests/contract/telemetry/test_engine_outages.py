"""Each engine becomes unavailable in each way and recovers; the process reports which engine is missing and why."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from contract.telemetry.pings import TOPIC
from contract.telemetry.running import Running, eventually, running
from faults.proxy import Freeze, Refuse, TcpProxy
from fixtures.engines import Dynamo

from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, EngineNode, StartRequest

COMPLAINTS = {
    "dynamo": "DynamoDB did not answer",
    "kafka": "no broker answered",
    "redis": "Redis did not answer",
}
# patience * (every_s + timeout_s) of the sample's probes, five times over for a busy machine
BOUND_S = 5 * 2 * (0.05 + 0.5)

type Proxies = dict[str, TcpProxy]


@pytest.fixture(scope="module")
def broker(fleets: Callable[[StartRequest], LocalCluster]) -> EngineNode:
    """A broker that sends its clients to a proxy; they would go round it otherwise."""
    fleet = fleets(StartRequest(engines=frozenset({Engine.KAFKA}), kafka_behind_proxy=True))
    node = fleet.find("kafka-1").node
    admin = AdminClient({"bootstrap.servers": node.address})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    return node


@pytest.fixture(scope="module")
def proxies(dynamo_local: Dynamo, broker: EngineNode, valkey: str) -> Iterator[Proxies]:
    ways = {
        "dynamo": (urlsplit(dynamo_local.url).port or 0, 0),
        "kafka": (broker.ports["proxied"], broker.ports["advertised"]),
        "redis": (urlsplit(valkey).port or 0, 0),
    }
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(TcpProxy("127.0.0.1", port, listen_port=listen))
            for name, (port, listen) in ways.items()
        }


@pytest.fixture(scope="module")
def process(proxies: Proxies) -> Iterator[Running]:
    with running(engines={name: proxy.port for name, proxy in proxies.items()}) as process:
        process.wait_for_status("/readyz", 200)
        yield process


def unready_reason(process: Running, engine: str) -> str:
    """Return the reason in `/readyz`. It must appear within the bound and name only this engine."""

    def look() -> str | None:
        status, body = process.get("/readyz")
        ill = [name for name, part in body["components"].items() if not part["ok"]]
        return body["problems"][0] if status == 503 and ill == [engine] else None

    report = eventually(look, f"complaint of {engine} alone", BOUND_S)
    assert process.get("/livez")[0] == 200
    return report


def test_a_process_is_ready_with_all_engines(process: Running) -> None:
    body: Any = process.wait_for_status("/readyz", 200)
    assert {name: part["state"] for name, part in body["components"].items()} == dict.fromkeys(
        ["span_export", "dynamo", "kafka", "redis", "worker"], "started"
    )


@pytest.mark.parametrize("engine", COMPLAINTS)
@pytest.mark.parametrize("fault", [Freeze(), Refuse()], ids=["deaf", "refusing"])
def test_an_unavailable_engine_is_reported_in_time_and_its_recovery_too(
    proxies: Proxies, process: Running, engine: str, fault: Freeze | Refuse
) -> None:
    with proxies[engine].fault(fault):
        if isinstance(fault, Refuse):
            proxies[engine].cut()  # Open connections would still be served.
        report = unready_reason(process, engine)
    assert re.match(rf"{engine}: {COMPLAINTS[engine]} for .*; last error: .+", report)
    process.wait_for_status("/readyz", 200)
    eventually(lambda: process.events("component is well again")[-1]["component"] == engine or None, "line")


def test_a_real_engine_killed_and_frozen_before_and_after_the_start(
    own_fleet: Callable[[StartRequest], LocalCluster],
) -> None:
    fleet = own_fleet(StartRequest(engines=frozenset({Engine.VALKEY})))
    fleet.kill("valkey")
    with running(engines={"redis": fleet.find("valkey").node.port}) as process:
        process.wait_for("process started")
        assert "last error" in unready_reason(process, "redis")
        fleet.restart("valkey")
        process.wait_for_status("/readyz", 200)
        fleet.pause("valkey")
        assert "no answer within" in unready_reason(process, "redis")
        fleet.resume("valkey")
        process.wait_for_status("/readyz", 200)


def test_an_optional_engine_is_reported_and_does_not_affect_readiness(proxies: Proxies) -> None:
    ports = {name: proxies[name].port for name in ("dynamo", "redis")}
    with proxies["redis"].fault(Refuse()), running(engines=ports, optional=["redis"]) as process:
        body: Any = process.wait_for_status("/readyz", 200)
        assert body["components"]["redis"]["ok"] is False
        assert body["problems"][0].startswith("redis: Redis did not answer for ")
        assert 'tidings_component_ok{component="redis"} 0.0' in process.get("/metrics")[1]
