"""Brokers for the Kafka contract tests. `kafka` is shared; `lone` and `trio` are ours to kill."""

from collections.abc import Callable, Iterator

import pytest
from fixtures.engines import Space

from tidings.engines.fleet import Fleet
from tidings.engines.model import Engine, Wish
from tidings.platform.kafka.connection import Connection

KAFKA = frozenset({Engine.KAFKA})
# A member that died or froze is given up soon, so that tests need not wait.
SHORT_SESSION = {
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.heartbeat.interval.ms": "300",
}


@pytest.fixture
def connection(kafka: str, space: Space) -> Connection:
    return Connection(bootstrap_servers=kafka, topic_prefix=space.topic_prefix)


@pytest.fixture(scope="session")
def _lone(fleets: Callable[[Wish], Fleet]) -> Iterator[Fleet]:
    fleet = fleets(Wish(engines=KAFKA, kafka_extra=SHORT_SESSION))
    yield fleet
    kill_all(fleet)


@pytest.fixture
def lone(_lone: Fleet) -> Fleet:
    """One broker of which a test may do anything; it is up again at the start of each test."""
    _lone.thaw("kafka-1")
    if not _lone.find("kafka-1").is_alive:
        _lone.restart("kafka-1")
    return _lone


@pytest.fixture
def at_lone(lone: Fleet, space: Space) -> Connection:
    return Connection(bootstrap_servers=lone.find("kafka-1").node.address, topic_prefix=space.topic_prefix)


@pytest.fixture(scope="session")
def _trio(fleets: Callable[[Wish], Fleet]) -> Iterator[Fleet]:
    fleet = fleets(Wish(engines=KAFKA, kafka_brokers=3, kafka_extra=SHORT_SESSION))
    yield fleet
    kill_all(fleet)


@pytest.fixture
def trio(_trio: Fleet) -> Fleet:
    """Three brokers, all up at the start of each test."""
    for running in _trio.status():
        _trio.thaw(running.node.name)
        if not running.is_alive:
            _trio.restart(running.node.name)
    return _trio


@pytest.fixture
def at_trio(trio: Fleet, space: Space) -> Connection:
    servers = ",".join(running.node.address for running in trio.status())
    return Connection(bootstrap_servers=servers, topic_prefix=space.topic_prefix)


def kill_all(fleet: Fleet) -> None:
    """Nobody needs their orderly shutdown, which takes seconds when peers are gone."""
    for running in fleet.status():
        fleet.kill(running.node.name)
