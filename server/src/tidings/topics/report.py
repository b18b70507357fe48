"""A plan as lines for a person: what would be done to each topic, what is refused and why. Pure."""

from collections import Counter
from collections.abc import Iterator

from tidings.kernel.reconcile import TONES, Line, Tone, Verdict
from tidings.topics.diff import Change, Plan, TopicPlan, show_hours
from tidings.topics.model import Wanted


def lines(plan: Plan) -> Iterator[Line]:
    width = max((len(entry.name) for entry in plan.topics), default=0)
    for entry in plan.topics:
        text = f"{entry.name:<{width}}  {entry.verdict:<13}  {_shape(entry)}"
        yield Line(text.rstrip(), TONES[entry.verdict])
        if entry.verdict is Verdict.CREATE and entry.wanted:
            yield Line(f"    {_made_of(entry.wanted)}", Tone.QUIET)
        yield from (_change(change) for change in entry.changes)
    yield Line("")
    yield from summary(plan)


def summary(plan: Plan) -> Iterator[Line]:
    counts = Counter(entry.verdict for entry in plan.topics)
    yield Line(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if any(entry.wanted and entry.wanted.replicas < entry.wanted.topic.replicas for entry in plan.topics):
        yield Line(
            "One copy of everything, because the cluster has one broker: its disk is all there is.",
            Tone.CHANGE,
        )
    if plan.refused:
        yield Line("Refused, because it would destroy or reorder:", Tone.BAD)
        yield from (Line(f"  {lost}", Tone.BAD) for lost in plan.refused)


def _shape(entry: TopicPlan) -> str:
    want = entry.wanted
    if want is None:
        return "not declared, left alone" if entry.verdict is Verdict.UNKNOWN else "not declared any more"
    partitions = "1 partition" if want.partitions == 1 else f"{want.partitions} partitions"
    return f"{partitions}, {_copies(want)}"


def _copies(want: Wanted) -> str:
    if want.replicas < want.topic.replicas:
        return f"{want.replicas} copy (declared {want.topic.replicas})"
    return f"{want.replicas} copies, {want.min_in_sync} in sync"


def _made_of(want: Wanted) -> str:
    topic = want.topic
    return (
        f"keyed by {topic.key}; kept {show_hours(topic.retention_s)}, {topic.cleanup}; "
        f"messages up to {topic.max_message_bytes:,} bytes"
    )


def _change(change: Change) -> Line:
    note = f" ({change.note})" if change.note else ""
    text = f"    {change.aspect}: {change.before} → {change.after}{note}"
    return Line(f"{text}  REFUSED" if change.refused else text, Tone.BAD if change.refused else Tone.CHANGE)
