"""The declaration against the design and against the client that uses it."""

from pathlib import Path

import pytest

from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import PublisherTuning, producer_config
from tidings.schema.topics.model import (
    MESSAGES,
    MESSAGES_DEAD,
    RETIRED,
    TOPICS,
    Cleanup,
    InstallationSize,
    Topic,
    desired_topic,
)

DOCS = Path(__file__).parents[5] / "docs" / "reference"
PRODUCER = producer_config(KafkaConfig(bootstrap_servers="x:1"), PublisherTuning())


def test_the_topics_are_those_of_the_design() -> None:
    assert [topic.name for topic in TOPICS] == [
        "messages",
        "messages-dead",
        "offline",
        "offline-checks",
        "offline-checks-late",
        "offline-dead",
        "push-retries",
        "push-retries-late",
        "push-reads",
        "expired",
        "notifications",
        "notifications-dead",
        "mails",
        "pushes",
        "indexing",
        "erasures",
        "exports",
        "media",
        "media-dead",
    ]
    assert not set(RETIRED) & {topic.name for topic in TOPICS}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_acknowledged_records_are_on_two_of_three_brokers_and_never_compacted(topic: Topic) -> None:
    assert (topic.replicas, topic.min_in_sync) == (3, 2)
    assert topic.cleanup is Cleanup.DELETE


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_larger_installations_have_more_partitions(topic: Topic) -> None:
    counts = [topic.partitions.of(size) for size in InstallationSize]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_batch_of_the_publisher_fits_into_every_topic(topic: Topic) -> None:
    """A topic's limit applies to a whole batch; a larger batch would be rejected."""
    assert PRODUCER["batch.size"] < topic.max_message_bytes


def test_a_dead_letter_of_the_largest_message_fits_with_its_reason() -> None:
    room = 64 * 1024
    assert MESSAGES.max_message_bytes + room < PRODUCER["message.max.bytes"] < MESSAGES_DEAD.max_message_bytes


def test_events_outlive_the_stream_that_audits_them() -> None:
    assert MESSAGES.retention_s >= 2 * 24 * 3600


def test_one_broker_has_one_copy_and_more_have_the_declared_number() -> None:
    alone = desired_topic(MESSAGES, "p-", InstallationSize.SMALL, brokers=1)
    assert (alone.name, alone.replicas, alone.min_in_sync) == ("p-messages", 1, 1)
    for brokers in (2, 3, 12):
        many = desired_topic(MESSAGES, "p-", InstallationSize.LARGE, brokers)
        assert (many.partitions, many.replicas, many.min_in_sync) == (720, 3, 2)
