"""Makes the topics as declared: looks, does the first thing that differs, waits, looks again.

So it is safe to repeat and to interrupt. It decides nothing about what differs (`diff`) and knows no broker
(`control`); it refuses the whole plan if any of it would destroy or, unasked, reorder something.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import ChangeKind, PollPolicy, ProgressEvent
from tidings.topics.diff import TopicChange, TopicPlan, TopicsPlan, plan_topic
from tidings.topics.model import DesiredTopic
from tidings.topics.seen import ObservedTopic

PACE = PollPolicy(timeout_s=120, effect_s=120, longest_pause_s=2)


class TopicsApi(Protocol):
    """The topics of one installation."""

    def describe(self, name: str) -> ObservedTopic | None:
        """The topic as it stands now, or None. May be seconds behind."""

    def create(self, want: DesiredTopic) -> None:
        """Ask for the topic; returns before it stands. One that is there by now is no error."""

    def change(self, want: DesiredTopic, change: TopicChange) -> None:
        """Ask for one change; returns before every broker knows of it."""

    def is_known_everywhere(self, wants: Iterable[DesiredTopic]) -> bool:
        """Whether each broker by itself tells of the topics and all their partitions."""


def refuse_topic_destruction(plan: TopicsPlan) -> None:
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


def apply_topics(
    cluster: TopicsApi, plan: TopicsPlan, tell: Callable[[ProgressEvent], None], pace: PollPolicy = PACE
) -> None:
    """All missing topics are asked for first, so that they are made at the same time."""
    refuse_topic_destruction(plan)
    missing = list(_with(ChangeKind.CREATE, plan))
    for entry in missing:
        tell(ProgressEvent(entry.name, "creating"))
        cluster.create(_declared(entry))
    todo = [*missing, *_with(ChangeKind.CHANGE, plan)]
    for entry in todo:
        _TopicRun(cluster, _declared(entry), tell, pace).reconcile()
    if todo:
        _await_everywhere(cluster, [_declared(entry) for entry in todo], pace)


def _await_everywhere(cluster: TopicsApi, wants: list[DesiredTopic], pace: PollPolicy) -> None:
    """A client asks any broker, and one that has not heard yet would say that there is no such topic."""
    for _ in pace.attempts(pace.timeout_s):
        if cluster.is_known_everywhere(wants):
            return
    raise TidingsError(
        Code.TOPICS_FAILED,
        f"Not every broker knows of the topics after {pace.timeout_s:.0f} s",
        hint="Is a broker down or cut off? What was begun goes on by itself; apply again.",
    )


@dataclass(frozen=True, slots=True)
class _TopicRun:
    cluster: TopicsApi
    want: DesiredTopic
    report: Callable[[ProgressEvent], None]
    poll_policy: PollPolicy

    def reconcile(self) -> None:
        while change := next(iter(self._differences(self._wait_until_applied())), None):
            self._report_step(f"{change.aspect}: {change.before} → {change.after}")
            self.cluster.change(self.want, change)
            self._await_made(change)
        self._report_step("done")

    def _differences(self, seen: ObservedTopic) -> tuple[TopicChange, ...]:
        # what may be reordered was decided with the plan; a refusal here would come half-way
        return plan_topic(self.want, seen, allow_reorder=True).changes

    def _await_made(self, change: TopicChange) -> None:
        for _ in self.poll_policy.attempts(self.poll_policy.timeout_s):
            if change not in self._differences(self._wait_until_applied()):
                return
        raise TidingsError(
            Code.TOPICS_FAILED,
            f"{self.want.name}: {change.aspect} was set to {change.after} and is still {change.before}",
            hint="The brokers accepted the change and do not show it. Apply again.",
        )

    def _wait_until_applied(self) -> ObservedTopic:
        for _ in self.poll_policy.attempts(self.poll_policy.timeout_s):
            seen = self.cluster.describe(self.want.name)
            if seen is not None and seen.is_stable:
                return seen
            self._report_step("waiting until every partition has its leader and its copies")
        raise TidingsError(
            Code.TOPICS_FAILED,
            f"{self.want.name}: not every partition has its leader and its copies after "
            f"{self.poll_policy.timeout_s:.0f} s",
            hint="Is a broker down? What was begun goes on by itself; apply again.",
        )

    def _report_step(self, doing: str) -> None:
        self.report(ProgressEvent(self.want.name, doing))


def _with(verdict: ChangeKind, plan: TopicsPlan) -> Iterable[TopicPlan]:
    return (entry for entry in plan.topics if entry.verdict is verdict)


def _declared(entry: TopicPlan) -> DesiredTopic:
    if entry.desired is None:
        raise AssertionError(f"{entry.name} is not declared, so there is nothing to make of it")
    return entry.desired
