"""Topics as brokers would tell of them, for tests."""

from tidings.topics.declaration import MESSAGES, NOTICES
from tidings.topics.diff import settings
from tidings.topics.model import Size, Topic, Wanted, wanted
from tidings.topics.seen import Seen, SeenPartition


def want(topic: Topic = MESSAGES, size: Size = Size.SMALL, brokers: int = 3) -> Wanted:
    return wanted(topic, "p-", size, brokers)


def as_declared(topic: Topic = MESSAGES, **other: str) -> Seen:
    """Just as it was created, but for `other` settings (with _ for the dots of their names)."""
    one = want(topic)
    changed = {name.replace("_", "."): value for name, value in other.items()}
    return Seen(one.name, partitions(one.partitions, one.replicas), settings(one) | changed)


def partitions(count: int, replicas: int = 3, in_sync: int | None = None) -> tuple[SeenPartition, ...]:
    return (SeenPartition(has_leader=True, replicas=replicas, in_sync=in_sync or replicas),) * count


__all__ = ["MESSAGES", "NOTICES", "as_declared", "partitions", "want"]
