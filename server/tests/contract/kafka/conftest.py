"""Brokers for the Kafka contract tests. `kafka` is shared; tests may kill `lone` and `trio`.

These two end with each file: a broker that waits uses 3 to 12 % of a core.
"""

from collections.abc import Callable, Iterator

import pytest
from fixtures.engines import Namespace

from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.platform.kafka.config import KafkaConfig

KAFKA = frozenset({Engine.KAFKA})
# A member that died or froze is given up soon, so that tests need not wait.
SHORT_SESSION = {
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.heartbeat.interval.ms": "300",
}


@pytest.fixture
def connection(kafka: str, space: Namespace) -> KafkaConfig:
    return KafkaConfig(bootstrap_servers=kafka, topic_prefix=space.topic_prefix)


@pytest.fixture(scope="module")
def _lone(fleets: Callable[[StartRequest], LocalCluster]) -> Iterator[LocalCluster]:
    fleet = fleets(StartRequest(engines=KAFKA, kafka_extra=SHORT_SESSION))
    yield fleet
    kill_all(fleet)


@pytest.fixture
def lone(_lone: LocalCluster) -> LocalCluster:
    """A broker that a test may kill or wipe. It runs again at the start of each test."""
    _lone.resume("kafka-1")
    if not _lone.find("kafka-1").is_alive:
        _lone.restart("kafka-1")
    return _lone


@pytest.fixture
def at_lone(lone: LocalCluster, space: Namespace) -> KafkaConfig:
    return KafkaConfig(bootstrap_servers=lone.find("kafka-1").node.address, topic_prefix=space.topic_prefix)


@pytest.fixture(scope="module")
def _trio(fleets: Callable[[StartRequest], LocalCluster]) -> Iterator[LocalCluster]:
    fleet = fleets(StartRequest(engines=KAFKA, kafka_brokers=3, kafka_extra=SHORT_SESSION))
    yield fleet
    kill_all(fleet)


@pytest.fixture
def trio(_trio: LocalCluster) -> LocalCluster:
    """Three brokers, all up at the start of each test."""
    for running in _trio.status():
        _trio.resume(running.node.name)
        if not running.is_alive:
            _trio.restart(running.node.name)
    return _trio


@pytest.fixture
def at_trio(trio: LocalCluster, space: Namespace) -> KafkaConfig:
    servers = ",".join(running.node.address for running in trio.status())
    return KafkaConfig(bootstrap_servers=servers, topic_prefix=space.topic_prefix)


def kill_all(fleet: LocalCluster) -> None:
    """Kill them: an orderly shutdown takes seconds when other brokers have ended."""
    for running in fleet.status():
        fleet.kill(running.node.name)
