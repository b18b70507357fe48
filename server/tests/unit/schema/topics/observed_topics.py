"""Observed topics for tests."""

from tidings.schema.topics.diff import ObservedPartition, ObservedTopic, topic_settings
from tidings.schema.topics.model import (
    MESSAGES,
    NOTIFICATIONS,
    DesiredTopic,
    InstallationSize,
    Topic,
    desired_topic,
)


def want(
    topic: Topic = MESSAGES, size: InstallationSize = InstallationSize.SMALL, brokers: int = 3
) -> DesiredTopic:
    return desired_topic(topic, "p-", size, brokers)


def as_declared(topic: Topic = MESSAGES, **other: str) -> ObservedTopic:
    """Return a topic as declared, except for `other` settings (with _ for the dots of their names)."""
    one = want(topic)
    changed = {name.replace("_", "."): value for name, value in other.items()}
    return ObservedTopic(one.name, partitions(one.partitions, one.replicas), topic_settings(one) | changed)


def partitions(count: int, replicas: int = 3, in_sync: int | None = None) -> tuple[ObservedPartition, ...]:
    return (ObservedPartition(has_leader=True, replicas=replicas, in_sync=in_sync or replicas),) * count


__all__ = ["MESSAGES", "NOTIFICATIONS", "as_declared", "partitions", "want"]
