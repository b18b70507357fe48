"""Makes the topics as declared: looks, does the first thing that differs, waits, looks again.

So it is safe to repeat and to interrupt. It decides nothing about what differs (`diff`) and knows no broker
(`control`); it refuses the whole plan if any of it would destroy or, unasked, reorder something.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import Pace, Step, Verdict
from tidings.topics.diff import Change, Plan, TopicPlan, plan_topic
from tidings.topics.model import Wanted
from tidings.topics.seen import Seen

PACE = Pace(timeout_s=120, effect_s=120, longest_pause_s=2)


class Cluster(Protocol):
    """The topics of one installation."""

    def look(self, name: str) -> Seen | None:
        """The topic as it stands now, or None. May be seconds behind."""

    def create(self, want: Wanted) -> None:
        """Ask for the topic; returns before it stands. One that is there by now is no error."""

    def change(self, want: Wanted, change: Change) -> None:
        """Ask for one change; returns before every broker knows of it."""

    def is_known_everywhere(self, wants: Iterable[Wanted]) -> bool:
        """Whether each broker by itself tells of the topics and all their partitions."""


def refuse(plan: Plan) -> None:
    if not plan.refused:
        return
    raise TidingsError(
        Code.TOPICS_DESTRUCTIVE,
        "\n".join(
            ["This would destroy or reorder, and is not done:", *(f"  - {lost}" for lost in plan.refused)]
        ),
        hint="`tidings topics plan` shows the difference. Kafka is filled again from DynamoDB, so topics under "
        "another kafka.topic_prefix are a way out too.",
        details={"refused": list(plan.refused)},
    )


def apply(cluster: Cluster, plan: Plan, tell: Callable[[Step], None], pace: Pace = PACE) -> None:
    """All missing topics are asked for first, so that they are made at the same time."""
    refuse(plan)
    missing = list(_with(Verdict.CREATE, plan))
    for entry in missing:
        tell(Step(entry.name, "creating"))
        cluster.create(_declared(entry))
    todo = [*missing, *_with(Verdict.CHANGE, plan)]
    for entry in todo:
        _Topic(cluster, _declared(entry), tell, pace).reconcile()
    if todo:
        _await_everywhere(cluster, [_declared(entry) for entry in todo], pace)


def _await_everywhere(cluster: Cluster, wants: list[Wanted], pace: Pace) -> None:
    """A client asks any broker, and one that has not heard yet would say that there is no such topic."""
    for _ in pace.beats(pace.timeout_s):
        if cluster.is_known_everywhere(wants):
            return
    raise TidingsError(
        Code.TOPICS_FAILED,
        f"Not every broker knows of the topics after {pace.timeout_s:.0f} s",
        hint="Is a broker down or cut off? What was begun goes on by itself; apply again.",
    )


@dataclass(frozen=True, slots=True)
class _Topic:
    cluster: Cluster
    want: Wanted
    tell: Callable[[Step], None]
    pace: Pace

    def reconcile(self) -> None:
        while change := next(iter(self._differences(self._settled())), None):
            self._say(f"{change.aspect}: {change.before} → {change.after}")
            self.cluster.change(self.want, change)
            self._await_made(change)
        self._say("done")

    def _differences(self, seen: Seen) -> tuple[Change, ...]:
        # what may be reordered was decided with the plan; a refusal here would come half-way
        return plan_topic(self.want, seen, allow_reorder=True).changes

    def _await_made(self, change: Change) -> None:
        for _ in self.pace.beats(self.pace.timeout_s):
            if change not in self._differences(self._settled()):
                return
        raise TidingsError(
            Code.TOPICS_FAILED,
            f"{self.want.name}: {change.aspect} was set to {change.after} and is still {change.before}",
            hint="The brokers accepted the change and do not show it. Apply again.",
        )

    def _settled(self) -> Seen:
        for _ in self.pace.beats(self.pace.timeout_s):
            seen = self.cluster.look(self.want.name)
            if seen is not None and seen.is_settled:
                return seen
            self._say("waiting until every partition has its leader and its copies")
        raise TidingsError(
            Code.TOPICS_FAILED,
            f"{self.want.name}: not every partition has its leader and its copies after "
            f"{self.pace.timeout_s:.0f} s",
            hint="Is a broker down? What was begun goes on by itself; apply again.",
        )

    def _say(self, doing: str) -> None:
        self.tell(Step(self.want.name, doing))


def _with(verdict: Verdict, plan: Plan) -> Iterable[TopicPlan]:
    return (entry for entry in plan.topics if entry.verdict is verdict)


def _declared(entry: TopicPlan) -> Wanted:
    if entry.wanted is None:
        raise AssertionError(f"{entry.name} is not declared, so there is nothing to make of it")
    return entry.wanted
