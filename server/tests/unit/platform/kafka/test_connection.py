from dataclasses import replace
from pathlib import Path

from tidings.kernel.security import Secret
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.consumer import consumer_config
from tidings.platform.kafka.publisher import PublisherTuning, producer_config

PLAIN = KafkaConfig(bootstrap_servers="a:1", topic_prefix="acme-")


def test_topics_and_groups_have_the_prefix() -> None:
    assert PLAIN.topic("messages") == "acme-messages"
    assert consumer_config(PLAIN, PLAIN.group("delivery"))["group.id"] == "acme-delivery"


def test_security_is_passed_on_and_the_password_does_not_print() -> None:
    connection = KafkaConfig(
        bootstrap_servers="a:1",
        security_protocol="sasl_ssl",
        sasl_mechanism="scram-sha-512",
        sasl_username="me",
        sasl_password=Secret("hunter2"),
        ca_file=Path("/ca.pem"),
    )
    config = connection.config()
    assert config["sasl.mechanism"] == "SCRAM-SHA-512"
    assert (config["sasl.username"], config["sasl.password"]) == ("me", "hunter2")
    assert config["ssl.ca.location"] == "/ca.pem"
    assert "hunter2" not in repr(connection)


def test_without_security_nothing_of_it_is_set() -> None:
    assert not any(key.startswith(("sasl.", "ssl.")) for key in PLAIN.config())


def test_the_required_client_settings_are_set() -> None:
    """librdkafka's own defaults for these are others."""
    producer = producer_config(PLAIN, PublisherTuning())
    assert (producer["acks"], producer["enable.idempotence"]) == ("all", True)
    assert producer["partitioner"] == "murmur2_random"
    consumer = consumer_config(PLAIN, "g")
    assert consumer["group.protocol"] == "consumer"
    classic = consumer_config(replace(PLAIN, group_protocol="classic"), "g")
    assert classic["group.protocol"] == "classic"
    assert classic["partition.assignment.strategy"] == "cooperative-sticky"
    assert consumer["auto.offset.reset"] == "earliest"
    assert consumer["enable.auto.commit"] is False
