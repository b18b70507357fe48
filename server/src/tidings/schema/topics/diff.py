"""Compare topics with their declaration, and show the plan. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidings.kernel.errors import Code
from tidings.schema.plan import (
    Change,
    PlanLine,
    ResourceKind,
    ResourcePlan,
    SchemaPlan,
    Severity,
    plan_all,
    plan_resource,
)
from tidings.schema.topics.model import DesiredTopic

RETENTION, CLEANUP, MIN_IN_SYNC = "retention.ms", "cleanup.policy", "min.insync.replicas"
MAX_MESSAGE, UNCLEAN = "max.message.bytes", "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class ObservedPartition:
    has_leader: bool
    replicas: int
    in_sync: int


@dataclass(frozen=True, slots=True)
class ObservedTopic:
    """A topic as the brokers describe it."""

    name: str
    partitions: tuple[ObservedPartition, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def replicas(self) -> int:
        """Number of copies of the partition that has fewest."""
        return min((part.replicas for part in self.partitions), default=0)

    @property
    def is_stable(self) -> bool:
        """Whether every partition has a leader and all its copies are in sync."""
        return bool(self.partitions) and all(
            part.has_leader and part.in_sync == part.replicas for part in self.partitions
        )


UNLIMITED_MS = -1


class TopicAspect(StrEnum):
    """Properties of a topic that are compared, in the order in which `apply` changes them."""

    TOPIC = "topic"
    REPLICAS = "copies"
    CLEANUP = "cleanup"
    RETENTION = "retention"
    MIN_IN_SYNC = "in sync at least"
    MAX_MESSAGE = "largest message"
    UNCLEAN = "unclean leader election"
    PARTITIONS = "partitions"


TopicChange = Change[TopicAspect]
type TopicPlan = ResourcePlan[DesiredTopic, ObservedTopic, TopicAspect]
type TopicsPlan = SchemaPlan[DesiredTopic, ObservedTopic, TopicAspect]

KIND = ResourceKind(
    plural="topics",
    failed=Code.TOPICS_FAILED,
    drift=Code.TOPICS_DRIFT,
    destructive=Code.TOPICS_DESTRUCTIVE,
    refused_detail="refused",
    refused_hint="Or use new topics under another kafka.topic_prefix: Kafka is filled again from DynamoDB.",
    failed_hint="Check that all brokers run. Requested changes continue in the background. Run apply again; it "
    "continues from here.",
)


def plan_topics(
    topics: Iterable[DesiredTopic],
    seen: Mapping[str, ObservedTopic],
    *,
    retired: Iterable[str] = (),
    allow_reorder: bool = False,
) -> TopicsPlan:
    """Compare the declared topics with `seen`, which also has all other topics under the prefix, by name."""
    declared = [plan_topic(want, seen.get(want.name), allow_reorder=allow_reorder) for want in topics]
    names = set(retired)
    return plan_all(KIND, declared, seen, lambda other: _removed(other, names))


def plan_topic(want: DesiredTopic, seen: ObservedTopic | None, *, allow_reorder: bool) -> TopicPlan:
    if seen is None:
        return plan_resource(want.name, want, seen, ())
    changes = (*_replicas(want, seen), *_settings(want, seen), *_partitions(want, seen, allow_reorder))
    return plan_resource(want.name, want, seen, changes)


def topic_settings(want: DesiredTopic) -> dict[str, str]:
    """Return the settings of a topic by Kafka's names."""
    topic = want.topic
    return {
        RETENTION: str(topic.retention_s * 1000),
        CLEANUP: topic.cleanup,
        MIN_IN_SYNC: str(want.min_in_sync),
        MAX_MESSAGE: str(topic.max_message_bytes),
        # With "true", a copy that lags could become leader, and acknowledged records would be lost.
        UNCLEAN: "false",
    }


def _removed(seen: ObservedTopic, retired: set[str]) -> TopicChange | None:
    """Return the refused change of a topic that is no longer declared."""
    if seen.name not in retired:
        return None
    lost = "the topic and its records. Delete it yourself if it is not needed."
    return TopicChange(TopicAspect.TOPIC, "a topic of Tidings", "no longer declared", refused=lost)


def _replicas(want: DesiredTopic, seen: ObservedTopic) -> Iterator[TopicChange]:
    """Compare the number of copies. More than declared are accepted; adding copies needs Kafka's own tool."""
    if seen.replicas < want.replicas:
        lost = (
            f"acknowledged records, if brokers fail: {seen.replicas} of {want.replicas} copies exist. "
            "Add copies with kafka-reassign-partitions."
        )
        yield TopicChange(TopicAspect.REPLICAS, str(seen.replicas), str(want.replicas), refused=lost)


def _partitions(want: DesiredTopic, seen: ObservedTopic, allow_reorder: bool) -> Iterator[TopicChange]:  # noqa: FBT001 - private
    before, after = len(seen.partitions), want.partitions
    if after < before:
        lost = f"its records. Kafka can't remove partitions; {after} partitions need a new topic."
        yield TopicChange(TopicAspect.PARTITIONS, str(before), str(after), refused=lost)
    elif after > before:
        reordered = ""
        if want.topic.order and not allow_reorder:
            reordered = (
                f"the order of {want.topic.order}. Most keys move to another partition, where new records can be "
                "processed before older ones in the old partition. Stop the producers, wait until the consumers "
                "have no lag, then apply with --allow-reorder."
            )
        yield TopicChange(
            TopicAspect.PARTITIONS, str(before), str(after), note="keys move", refused=reordered
        )


def _settings(want: DesiredTopic, seen: ObservedTopic) -> Iterator[TopicChange]:
    target = topic_settings(want)
    aspects = (
        (TopicAspect.CLEANUP, CLEANUP, _same),
        (TopicAspect.RETENTION, RETENTION, _at_least_for),
        (TopicAspect.MIN_IN_SYNC, MIN_IN_SYNC, _same),
        (TopicAspect.MAX_MESSAGE, MAX_MESSAGE, _at_least),
        (TopicAspect.UNCLEAN, UNCLEAN, _same),
    )
    for aspect, name, is_fine in aspects:
        before = seen.settings.get(name, "")
        if not is_fine(before, target[name]):
            shown = show_setting(name, before), show_setting(name, target[name])
            yield TopicChange(aspect, *shown, setting=(name, target[name]))


def _same(before: str, after: str) -> bool:
    return before == after


def _at_least(before: str, after: str) -> bool:
    return before.isdecimal() and int(before) >= int(after)


def _at_least_for(before: str, after: str) -> bool:
    return before == str(UNLIMITED_MS) or _at_least(before, after)


def show_setting(name: str, value: str) -> str:
    if not value:
        return "not set"
    if name == RETENTION:
        return "unlimited" if value == str(UNLIMITED_MS) else show_hours(int(value) // 1000)
    if name == MAX_MESSAGE:
        return f"{int(value):,} bytes"
    return value


def show_hours(seconds: int) -> str:
    return f"{seconds / 3600:g} h"


def topic_plan_lines(plan: TopicsPlan) -> Iterator[PlanLine]:
    """Show a plan with the partitions and copies of each topic."""
    wants = [entry.declared for entry in plan.entries if entry.declared]
    totals = []
    if any(want.replicas < want.topic.replicas for want in wants):
        warning = "The cluster has one broker, so every record has one copy, on its disk."
        totals.append(PlanLine(warning, Severity.CHANGE))
    return plan.lines(_shape, _contents, totals)


def _shape(entry: TopicPlan) -> str:
    want = entry.declared
    if want is None:
        return ""
    partitions = "1 partition" if want.partitions == 1 else f"{want.partitions} partitions"
    return f"{partitions}, {_copies(want)}"


def _copies(want: DesiredTopic) -> str:
    if want.replicas < want.topic.replicas:
        return f"{want.replicas} copy (declared {want.topic.replicas})"
    return f"{want.replicas} copies, {want.min_in_sync} in sync"


def _contents(want: DesiredTopic) -> str:
    topic = want.topic
    return (
        f"keyed by {topic.key}; kept {show_hours(topic.retention_s)}, {topic.cleanup}; "
        f"messages up to {topic.max_message_bytes:,} bytes"
    )
