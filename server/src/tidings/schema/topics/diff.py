"""A topic as the brokers tell of it, read from their metadata and configuration. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidings.schema.reconcile import SEVERITY_STYLES, ChangeKind, PlanLine, Severity
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
    """What stands there now."""

    name: str
    partitions: tuple[ObservedPartition, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def replicas(self) -> int:
        """Of the partition that has fewest."""
        return min((part.replicas for part in self.partitions), default=0)

    @property
    def is_stable(self) -> bool:
        """Every partition takes writes, from every copy that there is."""
        return bool(self.partitions) and all(
            part.has_leader and part.in_sync == part.replicas for part in self.partitions
        )


FOR_EVER_MS = -1


class TopicAspect(StrEnum):
    """What of a topic can differ; in the order in which `apply` changes it."""

    TOPIC = "topic"
    REPLICAS = "copies"
    CLEANUP = "cleanup"
    RETENTION = "retention"
    MIN_IN_SYNC = "in sync at least"
    MAX_MESSAGE = "largest message"
    UNCLEAN = "unclean leader election"
    PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """`destroys` says what would be lost and `reorders` what would lose its order; neither is done unasked.

    `setting` is Kafka's own name and value for it, where it is one.
    """

    aspect: TopicAspect
    before: str
    after: str
    note: str = ""
    destroys: str = ""
    reorders: str = ""
    setting: tuple[str, str] | None = None

    @property
    def refused(self) -> str:
        return self.destroys or self.reorders


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """One topic. `desired` is None for one that is there and is not declared."""

    name: str
    verdict: ChangeKind
    changes: tuple[TopicChange, ...] = ()
    desired: DesiredTopic | None = None
    seen: ObservedTopic | None = None


@dataclass(frozen=True, slots=True)
class TopicsPlan:
    topics: tuple[TopicPlan, ...]

    @property
    def drift(self) -> tuple[str, ...]:
        return tuple(_drift(self.topics))

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(
            f"{entry.name}: {change.refused}"
            for entry in self.topics
            for change in entry.changes
            if change.refused
        )


def plan_topics(
    topics: Iterable[DesiredTopic],
    seen: Mapping[str, ObservedTopic],
    *,
    retired: Iterable[str] = (),
    allow_reorder: bool = False,
) -> TopicsPlan:
    """`seen` holds, by name, the declared topics that are there and any others under the prefix."""
    declared = tuple(plan_topic(want, seen.get(want.name), allow_reorder=allow_reorder) for want in topics)
    names = {entry.name for entry in declared}
    gone = set(retired)
    extras = (_plan_extra(other, gone) for name, other in sorted(seen.items()) if name not in names)
    return TopicsPlan((*declared, *extras))


def plan_topic(want: DesiredTopic, seen: ObservedTopic | None, *, allow_reorder: bool) -> TopicPlan:
    if seen is None:
        return TopicPlan(want.name, ChangeKind.CREATE, desired=want)
    changes = (*_replicas(want, seen), *_settings(want, seen), *_partitions(want, seen, allow_reorder))
    return TopicPlan(want.name, _verdict(changes), changes, want, seen)


def topic_settings(want: DesiredTopic) -> dict[str, str]:
    """What the topic is created with, in Kafka's own names."""
    topic = want.topic
    return {
        RETENTION: str(topic.retention_s * 1000),
        CLEANUP: topic.cleanup,
        MIN_IN_SYNC: str(want.min_in_sync),
        MAX_MESSAGE: str(topic.max_message_bytes),
        # a copy that lags would become leader and forget what was acknowledged
        UNCLEAN: "false",
    }


def _verdict(changes: tuple[TopicChange, ...]) -> ChangeKind:
    if any(change.refused for change in changes):
        return ChangeKind.REFUSED
    return ChangeKind.CHANGE if changes else ChangeKind.UNCHANGED


def _plan_extra(seen: ObservedTopic, retired: set[str]) -> TopicPlan:
    """A topic that we declared once. Any other under the prefix is somebody else's, and left alone."""
    if seen.name not in retired:
        return TopicPlan(seen.name, ChangeKind.UNKNOWN, seen=seen)
    lost = "the topic and all that is in it: delete it yourself if nobody needs it"
    removed = TopicChange(TopicAspect.TOPIC, "a topic of Tidings", "not declared any more", destroys=lost)
    return TopicPlan(seen.name, ChangeKind.REFUSED, (removed,), seen=seen)


def _replicas(want: DesiredTopic, seen: ObservedTopic) -> Iterator[TopicChange]:
    """More copies are made by Kafka's own tool, partition by partition; too many are nobody's harm."""
    if seen.replicas < want.replicas:
        lost = (
            f"the promise that {want.replicas} brokers hold what was acknowledged: {seen.replicas} do. This "
            "tool can't add copies; kafka-reassign-partitions can"
        )
        yield TopicChange(TopicAspect.REPLICAS, str(seen.replicas), str(want.replicas), destroys=lost)


def _partitions(want: DesiredTopic, seen: ObservedTopic, allow_reorder: bool) -> Iterator[TopicChange]:  # noqa: FBT001 - private
    before, after = len(seen.partitions), want.partitions
    if after < before:
        lost = f"everything in it: Kafka can't take partitions away, only a new topic has {after}"
        yield TopicChange(TopicAspect.PARTITIONS, str(before), str(after), destroys=lost)
    elif after > before:
        mixed = ""
        if want.topic.order and not allow_reorder:
            mixed = (
                f"the order of {want.topic.order}, while records under way are handled: most keys move to "
                "another partition, and what is new there may overtake what is old here. Stop the producers, "
                "let the consumers catch up, then apply with --allow-reorder"
            )
        yield TopicChange(TopicAspect.PARTITIONS, str(before), str(after), note="keys move", reorders=mixed)


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
    return before == str(FOR_EVER_MS) or _at_least(before, after)


def _drift(plans: Iterable[TopicPlan]) -> Iterator[str]:
    for entry in plans:
        if entry.verdict is ChangeKind.CREATE:
            yield f"{entry.name}: is not there"
        for change in entry.changes:
            yield f"{entry.name}: {change.aspect}: {change.before}, declared {change.after}"


def show_setting(name: str, value: str) -> str:
    if not value:
        return "not set"
    if name == RETENTION:
        return "for ever" if value == str(FOR_EVER_MS) else show_hours(int(value) // 1000)
    if name == MAX_MESSAGE:
        return f"{int(value):,} bytes"
    return value


def show_hours(seconds: int) -> str:
    return f"{seconds / 3600:g} h"


def topic_plan_lines(plan: TopicsPlan) -> Iterator[PlanLine]:
    width = max((len(entry.name) for entry in plan.topics), default=0)
    for entry in plan.topics:
        text = f"{entry.name:<{width}}  {entry.verdict:<13}  {_shape(entry)}"
        yield PlanLine(text.rstrip(), SEVERITY_STYLES[entry.verdict])
        if entry.verdict is ChangeKind.CREATE and entry.desired:
            yield PlanLine(f"    {_made_of(entry.desired)}", Severity.QUIET)
        yield from (_change(change) for change in entry.changes)
    yield PlanLine("")
    yield from topic_plan_summary(plan)


def topic_plan_summary(plan: TopicsPlan) -> Iterator[PlanLine]:
    counts = Counter(entry.verdict for entry in plan.topics)
    yield PlanLine(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if any(entry.desired and entry.desired.replicas < entry.desired.topic.replicas for entry in plan.topics):
        yield PlanLine(
            "One copy of everything, because the cluster has one broker: its disk is all there is.",
            Severity.CHANGE,
        )
    if plan.refused:
        yield PlanLine("Refused, because it would destroy or reorder:", Severity.BAD)
        yield from (PlanLine(f"  {lost}", Severity.BAD) for lost in plan.refused)


def _shape(entry: TopicPlan) -> str:
    want = entry.desired
    if want is None:
        return "not declared, left alone" if entry.verdict is ChangeKind.UNKNOWN else "not declared any more"
    partitions = "1 partition" if want.partitions == 1 else f"{want.partitions} partitions"
    return f"{partitions}, {_copies(want)}"


def _copies(want: DesiredTopic) -> str:
    if want.replicas < want.topic.replicas:
        return f"{want.replicas} copy (declared {want.topic.replicas})"
    return f"{want.replicas} copies, {want.min_in_sync} in sync"


def _made_of(want: DesiredTopic) -> str:
    topic = want.topic
    return (
        f"keyed by {topic.key}; kept {show_hours(topic.retention_s)}, {topic.cleanup}; "
        f"messages up to {topic.max_message_bytes:,} bytes"
    )


def _change(change: TopicChange) -> PlanLine:
    note = f" ({change.note})" if change.note else ""
    text = f"    {change.aspect}: {change.before} → {change.after}{note}"
    return PlanLine(
        f"{text}  REFUSED" if change.refused else text, Severity.BAD if change.refused else Severity.CHANGE
    )
