"""The reference page of the topics, in Markdown, from the declaration. Pure."""

from collections.abc import Iterable, Iterator

from tidings.schema.topics.diff import show_hours
from tidings.schema.topics.model import TOPICS, Topic

WRITTEN = "Written by `tidings topics doc`; a test holds this page against the code."
NAMES = (
    "Names carry `kafka.topic_prefix`. Every key starts with the tenant. How many partitions there are is chosen "
    "by `kafka.partitions`. Copies and copies in sync are for a cluster of three brokers or more; on a single "
    "broker there is one copy, and the plan says so."
)
FLOORS = (
    "Retention and the largest message are floors: `apply` raises a topic to them and never lowers it, so people "
    "can keep more. `unclean.leader.election.enable` is off everywhere: a copy that lags never becomes the "
    "leader, so what was acknowledged stays."
)
MORE = (
    "More partitions are refused for a topic whose order matters, unless `--allow-reorder` says that somebody "
    "thought of it: Kafka puts most keys into another partition, so for records under way a later one may "
    "overtake an earlier one. Fewer partitions are always refused; Kafka has no way back."
)


def topics_page() -> str:
    out = ["# Topics", "", WRITTEN, "", NAMES, "", FLOORS, "", MORE, ""]
    out += _grid(
        ("topic", "key", "small", "medium", "large", "copies", "in sync", "kept", "largest message"),
        map(_overview, TOPICS),
    )
    for topic in TOPICS:
        out += ["", *_section(topic)]
    return "\n".join(out) + "\n"


def _overview(topic: Topic) -> tuple[str, ...]:
    parts = topic.partitions
    return (
        f"[`{topic.name}`](#{topic.name})",
        topic.key,
        str(parts.small),
        str(parts.medium),
        str(parts.large),
        str(topic.replicas),
        str(topic.min_in_sync),
        show_hours(topic.retention_s),
        f"{topic.max_message_bytes:,} bytes",
    )


def _section(topic: Topic) -> Iterator[str]:
    yield from (f"## {topic.name}", "", topic.purpose, "")
    yield f"- Key: {topic.key}. Order: {topic.order or 'nothing depends on it'}"
    yield f"- Partitions: {topic.partitions.why}"
    yield f"- Kept {show_hours(topic.retention_s)}, then {topic.cleanup}d. {topic.retention_why}"


def _grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    columns = list(head)
    for row in (columns, ["---"] * len(columns), *rows):
        yield f"| {' | '.join(row)} |"
