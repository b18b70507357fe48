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


MEBIBYTE = 1_048_576

MESSAGES = Topic(
    name="messages",
    key="tenant#chat",
    order="the entries of a chat",
    partitions=Partitions(
        small=12,
        medium=96,
        large=720,
        why="Planned are 350,000 messages a second at peak. A partition is handled one batch at a time; with "
        "batches of 20 that take 20 ms in DynamoDB and Redis it makes 1,000 a second, which is also the "
        "ceiling of one chat. So 350 would do, and twice that leaves room to catch up after an outage while "
        "traffic goes on, and for hot chats that share a partition. 720 divides evenly over 3, 4, 6, 9 "
        "or 12 brokers and over most numbers of workers; with three copies on 12 brokers that is 180 a broker, far below "
        "where Kafka feels it. 12 carry the first 10,000 users a thousand times over.",
    ),
    retention_s=48 * HOUR_S,
    retention_why="Twice the 24 hours that DynamoDB Streams keeps, so that either can stand in for the other.",
    max_message_bytes=MEBIBYTE,
    purpose="Every entry of every chat's log, right after its commit; what delivery works on.",
)
MESSAGES_DEAD = Topic(
    name="messages-dead",
    key="as the record had it",
    order="",
    partitions=Partitions(small=1, medium=3, large=12, why="One is too many already; somebody must look."),
    retention_s=14 * DAY_S,
    retention_why="Over a holiday.",
    max_message_bytes=MEBIBYTE + MEBIBYTE // 2,
    purpose="Records of `messages` that could not be decoded: the original bytes, key and headers, and in "
    "headers the reason and where it stood. Larger than `messages` allows, for those headers.",
)
OFFLINE = Topic(
    name="offline",
    key="tenant#user",
    order="",
    partitions=Partitions(
        small=6,
        medium=48,
        large=360,
        why="Half of what `messages` has: about every second message has a recipient who is nowhere connected.",
    ),
    retention_s=24 * HOUR_S,
    retention_why="Nobody wants yesterday's push.",
    max_message_bytes=MEBIBYTE,
    purpose="Users for whom no device could be reached: for push services and webhooks.",
)
EXPIRED = Topic(
    name="expired",
    key="tenant#chat",
    order="the expiries of a chat, roughly",
    partitions=Partitions(
        small=3, medium=12, large=48, why="Few messages expire, and nobody waits for the word that one has."
    ),
    retention_s=24 * HOUR_S,
    retention_why="Who was away for a day asks what is there, not what has gone.",
    max_message_bytes=MEBIBYTE,
    purpose="`message.expired`: the content of an ephemeral message was deleted. For push services and webhooks; "
    "devices have been told with the message when it ends. Comes at least once, and up to two days after that time.",
)
NOTIFICATIONS = Topic(
    name="notifications",
    key="tenant#job#chunk",
    order="",
    partitions=Partitions(
        small=6,
        medium=24,
        large=96,
        why="A chunk is 100 transactions, about a fifth of a second: 96 partitions deliver 48,000 users a "
        "second, ten million in four minutes.",
    ),
    retention_s=72 * HOUR_S,
    retention_why="A job that is paused over a weekend goes on; its chunks stand in DynamoDB anyway.",
    max_message_bytes=MEBIBYTE,
    purpose="Notifications to named users, in chunks of 100.",
)
NOTIFICATIONS_DEAD = Topic(
    name="notifications-dead",
    key="as the record had it",
    order="",
    partitions=Partitions(small=1, medium=3, large=12, why="One is too many already; somebody must look."),
    retention_s=14 * DAY_S,
    retention_why="Over a holiday.",
    max_message_bytes=MEBIBYTE + MEBIBYTE // 2,
    purpose="Records of `notifications` that could not be decoded. Their jobs are found and published again all the same.",
)

TOPICS = (MESSAGES, MESSAGES_DEAD, OFFLINE, EXPIRED, NOTIFICATIONS, NOTIFICATIONS_DEAD)

RETIRED: tuple[str, ...] = ()
"""Topics that an earlier version declared. One that still stands is pointed out and never deleted."""
