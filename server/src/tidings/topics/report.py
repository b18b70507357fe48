"""A plan as lines for a person: what would be done to each topic, what is refused and why. Pure."""

from collections import Counter
from collections.abc import Iterator

from tidings.kernel.reconcile import SEVERITY_STYLES, ChangeKind, PlanLine, Severity
from tidings.topics.diff import TopicChange, TopicPlan, TopicsPlan, show_hours
from tidings.topics.model import DesiredTopic


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
