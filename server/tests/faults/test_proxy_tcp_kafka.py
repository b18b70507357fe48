"""The TCP proxy in front of a broker that advertises the proxy's port, so that its clients connect through the proxy."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from fixtures.engines import Namespace

from faults.proxy import Direction, Freeze, TcpProxy
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest


@pytest.fixture
def proxy(own_fleet: Callable[[StartRequest], LocalCluster]) -> Iterator[TcpProxy]:
    fleet = own_fleet(StartRequest(engines=frozenset({Engine.KAFKA}), kafka_behind_proxy=True))
    ports = fleet.status()[0].node.ports
    with TcpProxy("127.0.0.1", ports["proxied"], listen_port=ports["advertised"]) as proxy:
        yield proxy


@dataclass
class Sender:
    """Produce through the proxy and record the result of each message; None means confirmed."""

    producer: Producer
    topic: str
    reports: list[KafkaError | None]

    def send(self, value: bytes) -> None:
        self.producer.produce(self.topic, value, on_delivery=lambda error, _: self.reports.append(error))

    def confirmed(self) -> list[KafkaError | None]:
        self.producer.flush(20)
        return self.reports


@pytest.fixture
def sender(proxy: TcpProxy, space: Namespace) -> Sender:
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": f"127.0.0.1:{proxy.port}",
        "enable.idempotence": True,
    }
    topic = f"{space.topic_prefix}faults"
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(topic, 1)])[topic].result(20)
    return Sender(Producer(settings), topic, [])


def test_a_broker_is_reached_through_the_proxy_frozen_and_cut(proxy: TcpProxy, sender: Sender) -> None:
    sender.send(b"one")
    assert sender.confirmed() == [None]
    with proxy.fault(Freeze(Direction.TO_CLIENT)):
        sender.send(b"two")
        proxy.wait_until(lambda: proxy.flow(Direction.TO_CLIENT).waiting_bytes > 0)
        sender.producer.poll(0)
        assert sender.reports == [None]
    assert sender.confirmed() == [None, None]
    accepted = proxy.accepted
    assert proxy.cut(reset=True) > 0
    sender.send(b"three")
    assert sender.confirmed() == [None, None, None]
    assert proxy.accepted > accepted
