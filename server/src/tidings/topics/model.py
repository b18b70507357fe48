"""What a topic is, as data."""

from dataclasses import dataclass
from enum import StrEnum

HOUR_S = 3600
DAY_S = 24 * HOUR_S


class InstallationSize(StrEnum):
    """How large an installation is meant to become; `kafka.partitions` chooses."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class Cleanup(StrEnum):
    DELETE = "delete"
    COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Partitions:
    """How many, by size. Few are cheap; many let many workers share the topic."""

    small: int
    medium: int
    large: int
    why: str

    def of(self, size: InstallationSize) -> int:
        return {
            InstallationSize.SMALL: self.small,
            InstallationSize.MEDIUM: self.medium,
            InstallationSize.LARGE: self.large,
        }[size]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic. `order` says what is kept in order by the key; empty where nothing depends on it."""

    name: str
    key: str
    order: str
    partitions: Partitions
    retention_s: int
    retention_why: str
    max_message_bytes: int
    purpose: str
    replicas: int = 3
    min_in_sync: int = 2
    cleanup: Cleanup = Cleanup.DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredTopic:
    """A topic as one installation wants it: under its prefix, in its size, on its brokers."""

    name: str
    topic: Topic
    partitions: int
    replicas: int
    min_in_sync: int


def desired_topic(topic: Topic, prefix: str, size: InstallationSize, brokers: int) -> DesiredTopic:
    """A cluster of one broker can keep one copy; that is for a laptop, and the plan says so."""
    is_alone = brokers == 1
    return DesiredTopic(
        name=prefix + topic.name,
        topic=topic,
        partitions=topic.partitions.of(size),
        replicas=1 if is_alone else topic.replicas,
        min_in_sync=1 if is_alone else topic.min_in_sync,
    )
