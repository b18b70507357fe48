"""The Kafka topics, declared as data."""

from dataclasses import dataclass
from enum import StrEnum

HOUR_S = 3600
DAY_S = 24 * HOUR_S


class InstallationSize(StrEnum):
    """The planned size of an installation; set by `kafka.partitions`."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class Cleanup(StrEnum):
    DELETE = "delete"
    COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Partitions:
    """The number of partitions by size of the installation."""

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
    """One topic. `order` says what the key keeps in order; empty if no consumer depends on order."""

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
    """A topic of one installation: with its prefix, size and number of brokers."""

    name: str
    topic: Topic
    partitions: int
    replicas: int
    min_in_sync: int


def desired_topic(topic: Topic, prefix: str, size: InstallationSize, brokers: int) -> DesiredTopic:
    """Return the topic of an installation. A cluster of one broker has one copy, and the plan warns of it."""
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
        why="The planned peak is 350,000 messages a second. A worker processes one batch of a partition at a time; with "
        "batches of 20 that take 20 ms in DynamoDB and Redis, that is 1,000 messages a second, also the limit of one "
        "chat. So 350 partitions are enough, and twice that allows catching up after an outage during normal traffic, "
        "and busy chats that share a partition. 720 divides evenly over 3, 4, 6, 9 or 12 brokers and over most numbers "
        "of workers; with three copies on 12 brokers that is 180 per broker, far below Kafka's limits. 12 partitions "
        "are enough for the first 10,000 users a thousand times over.",
    ),
    retention_s=48 * HOUR_S,
    retention_why="Twice the 24 hours of DynamoDB Streams, so that either can replace the other.",
    max_message_bytes=MEBIBYTE,
    purpose="Every entry of every chat's log, right after its commit; delivery consumes it.",
)


def _dead_letters(name: str, purpose: str) -> Topic:
    return Topic(
        name=name,
        key="that of the record",
        order="",
        partitions=Partitions(
            small=1, medium=3, large=12, why="Every record here needs an operator, so there are few."
        ),
        retention_s=14 * DAY_S,
        retention_why="Longer than a holiday.",
        max_message_bytes=MEBIBYTE + MEBIBYTE // 2,
        purpose=f"{purpose} The bytes, key and headers are those of the record; added headers have the reason and the "
        "original position, so records can be larger.",
    )


MESSAGES_DEAD = _dead_letters(
    "messages-dead",
    "The dead-letter queue of `messages`: records that could not be decoded.",
)
OFFLINE = Topic(
    name="offline",
    key="tenant#user",
    order="",
    partitions=Partitions(
        small=6,
        medium=48,
        large=360,
        why="Half of `messages`: about every second message has a recipient without a connected device.",
    ),
    retention_s=24 * HOUR_S,
    retention_why="A push notification is useless after a day.",
    max_message_bytes=MEBIBYTE,
    purpose="Messages for users without a connected device: for push services and webhooks.",
)
OFFLINE_CHECKS = Topic(
    name="offline-checks",
    key="tenant#chat, or tenant#user for a check of all chats",
    order="",
    partitions=Partitions(
        small=6, medium=48, large=360, why="As many as `offline`: most records there follow from one here."
    ),
    retention_s=2 * HOUR_S,
    retention_why="Twice the hour after which no offline event is published.",
    max_message_bytes=MEBIBYTE,
    purpose="Users who may be offline, with the chat and the sequences that they may have missed. `tidings run "
    "notifications` compares them with watermarks and routes, and publishes to `offline`.",
)
OFFLINE_CHECKS_LATE = Topic(
    name="offline-checks-late",
    key="tenant#chat, or tenant#user for a check of all chats",
    order="",
    partitions=Partitions(
        small=3,
        medium=12,
        large=96,
        why="Few records: users who are connected or have just lost their gateway.",
    ),
    retention_s=2 * HOUR_S,
    retention_why="As for `offline-checks`.",
    max_message_bytes=MEBIBYTE,
    purpose="Records of `offline-checks` that are checked again after 30 seconds. A topic of its own, so that they do "
    "not delay the others.",
)
OFFLINE_DEAD = _dead_letters(
    "offline-dead",
    "The dead-letter queue of offline checks and of `tidings run push`: records of their topics that could not be decoded or "
    "processed, and notifications that a push provider refused or could not accept in time.",
)
PUSH_RETRIES = Topic(
    name="push-retries",
    key="tenant#user",
    order="",
    partitions=Partitions(
        small=3, medium=12, large=96, why="Few records: answers that ask for another attempt."
    ),
    retention_s=2 * HOUR_S,
    retention_why="Twice the hour after which no notification is sent.",
    max_message_bytes=MEBIBYTE,
    purpose="Notifications that a push provider did not accept. `tidings run push` tries them again after 5 seconds.",
)
PUSH_RETRIES_LATE = Topic(
    name="push-retries-late",
    key="tenant#user",
    order="",
    partitions=Partitions(small=3, medium=12, large=96, why="As `push-retries`."),
    retention_s=2 * HOUR_S,
    retention_why="As for `push-retries`.",
    max_message_bytes=MEBIBYTE,
    purpose="The same for attempts that are due in more than 30 seconds. A topic of its own, so that they do not delay the "
    "others. A record that is not due after a minute is published again.",
)
PUSH_READS = Topic(
    name="push-reads",
    key="tenant#user",
    order="",
    partitions=Partitions(
        small=3, medium=24, large=180, why="Half of `offline`: a read covers several messages."
    ),
    retention_s=HOUR_S,
    retention_why="A notification that was read an hour ago was replaced or removed by its device.",
    max_message_bytes=MEBIBYTE,
    purpose="Chats that a user has read, for tenants with push providers: `tidings run push` removes their notifications "
    "from the user's other devices.",
)
EXPIRED = Topic(
    name="expired",
    key="tenant#chat",
    order="the expiries of a chat, roughly",
    partitions=Partitions(
        small=3, medium=12, large=48, why="Few messages expire, and the event is not urgent."
    ),
    retention_s=24 * HOUR_S,
    retention_why="A client that was offline for a day reads the current state.",
    max_message_bytes=MEBIBYTE,
    purpose="`message.expired`: the content of an ephemeral message was deleted. For push services and webhooks; devices "
    "receive the expiry with the message. Published at least once, up to two days after the expiry.",
)
NOTIFICATIONS = Topic(
    name="notifications",
    key="tenant#job#chunk",
    order="",
    partitions=Partitions(
        small=6,
        medium=24,
        large=96,
        why="A chunk is 100 transactions, about a fifth of a second: 96 partitions deliver to 48,000 users a second, "
        "or ten million in four minutes.",
    ),
    retention_s=72 * HOUR_S,
    retention_why="A job that is paused over a weekend continues; its chunks are also stored in DynamoDB.",
    max_message_bytes=MEBIBYTE,
    purpose="Chunks of jobs: notifications to named users, 100 users per chunk.",
)
NOTIFICATIONS_DEAD = _dead_letters(
    "notifications-dead",
    "The dead-letter queue of `notifications` and the other topics of jobs: chunks that could not be decoded or processed. "
    "The job sweeper publishes their chunks again.",
)


def _of_jobs(name: str, purpose: str, partitions: Partitions) -> Topic:
    """Return the topic of a kind of jobs."""
    return Topic(
        name=name,
        key="tenant#job#chunk",
        order="",
        partitions=partitions,
        retention_s=72 * HOUR_S,
        retention_why="As for `notifications`: the job sweeper publishes lost chunks again.",
        max_message_bytes=MEBIBYTE,
        purpose=purpose,
    )


MAILS = _of_jobs(
    "mails",
    "Chunks of jobs that send notifications by e-mail. A topic of its own, so that a slow mail server does not delay "
    "deliveries to inboxes.",
    Partitions(
        small=3,
        medium=12,
        large=48,
        why="A chunk of 100 mails takes some seconds at a mail server, which limits the rate, not Kafka.",
    ),
)
PUSHES = _of_jobs(
    "pushes",
    "Chunks of jobs that send notifications of inboxes to devices. `tidings run push` processes them.",
    Partitions(
        small=3,
        medium=12,
        large=48,
        why="A chunk of 100 users takes about a second, which the push providers determine, not Kafka.",
    ),
)
INDEXING = _of_jobs(
    "indexing",
    "Chunks of jobs that rebuild the search index of a tenant. `tidings run search` processes them.",
    Partitions(small=3, medium=6, large=24, why="A rebuild of the search index is rare and has 256 chunks."),
)
ERASURES = _of_jobs(
    "erasures",
    "Jobs that erase a user. A topic of its own, so that a long erasure delays nothing else.",
    Partitions(small=3, medium=6, large=24, why="Erasures are few, and none is urgent."),
)
EXPORTS = _of_jobs(
    "exports",
    "Jobs that export a user. A topic of its own, so that a large archive delays nothing else.",
    Partitions(small=3, medium=6, large=24, why="Exports are few, and none is urgent."),
)

MEDIA = Topic(
    name="media",
    key="tenant#upload",
    order="",
    partitions=Partitions(
        small=3,
        medium=12,
        large=96,
        why="A file takes about a second of CPU, which the workers limit, not Kafka.",
    ),
    retention_s=24 * HOUR_S,
    retention_why="The sweeper publishes an upload again that was not processed.",
    max_message_bytes=MEBIBYTE,
    purpose="Uploads to process, and uploads of redacted messages to delete. `tidings run media` reads it.",
)
MEDIA_DEAD = _dead_letters(
    "media-dead",
    "The dead-letter queue of `media`: records that could not be decoded or processed.",
)

TOPICS = (
    MESSAGES,
    MESSAGES_DEAD,
    OFFLINE,
    OFFLINE_CHECKS,
    OFFLINE_CHECKS_LATE,
    OFFLINE_DEAD,
    PUSH_RETRIES,
    PUSH_RETRIES_LATE,
    PUSH_READS,
    EXPIRED,
    NOTIFICATIONS,
    NOTIFICATIONS_DEAD,
    MAILS,
    PUSHES,
    INDEXING,
    ERASURES,
    EXPORTS,
    MEDIA,
    MEDIA_DEAD,
)

_OF_JOBS = (NOTIFICATIONS, MAILS, PUSHES, INDEXING, ERASURES, EXPORTS)
_OF_PUSH = (OFFLINE, PUSH_RETRIES, PUSH_RETRIES_LATE, PUSH_READS, OFFLINE_CHECKS, OFFLINE_CHECKS_LATE)
DEAD_LETTER_TOPICS = {
    MESSAGES_DEAD.name: (MESSAGES.name,),
    NOTIFICATIONS_DEAD.name: tuple(topic.name for topic in _OF_JOBS),
    OFFLINE_DEAD.name: tuple(topic.name for topic in _OF_PUSH),
    MEDIA_DEAD.name: (MEDIA.name,),
}
"""The dead-letter topics, and the topics that the records of each came from, the usual one first."""

RETIRED: tuple[str, ...] = ()
"""Topics that an earlier version declared. The plan shows those that still exist and never deletes them."""
