"""`apply_topics`: the whole plan or nothing, one change at a time, waiting for each to show."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, override

import pytest
from confluent_kafka import KafkaError, KafkaException
from unit.schema.topics.observed_topics import MESSAGES, NOTIFICATIONS, as_declared, partitions, want

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.reconcile import PollPolicy, ProgressEvent
from tidings.schema.topics.control_plane import (
    POLL_POLICY,
    TopicControlPlane,
    apply_topics,
    create_when_unfenced,
)
from tidings.schema.topics.diff import ObservedTopic, TopicChange, TopicsPlan, plan_topics
from tidings.schema.topics.model import DesiredTopic, InstallationSize

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class FakeCluster(TopicControlPlane):
    """Shows a change only at the third request, as brokers do."""

    topics: dict[str, ObservedTopic] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    is_deaf: bool = False
    asks_until_everywhere: int = 3
    _soon: list[tuple[int, ObservedTopic]] = field(default_factory=list)

    @override
    def describe(self, name: str) -> ObservedTopic | None:
        self._soon = [(looks - 1, seen) for looks, seen in self._soon]
        for looks, seen in self._soon:
            if looks <= 0 and not self.is_deaf:
                self.topics[seen.name] = seen
        return self.topics.get(name)

    @override
    def is_known_everywhere(self, wants: Iterable[DesiredTopic]) -> bool:
        assert {one.name for one in wants} <= self.topics.keys()
        self.asks_until_everywhere -= 1
        return self.asks_until_everywhere <= 0

    @override
    def create(self, one: DesiredTopic) -> None:
        self.asked.append(f"create {one.name}")
        self._soon.append((2, replace(as_declared(one.topic), partitions=partitions(one.partitions))))

    @override
    def change(self, one: DesiredTopic, _: ObservedTopic, change: TopicChange) -> bool:
        self.asked.append(f"{change.aspect} of {one.name}")
        seen = self.topics[one.name]
        if change.setting:
            settings = {**seen.settings, change.setting[0]: change.setting[1]}
            self._soon.append((2, replace(seen, settings=settings)))
        else:
            self._soon.append((2, replace(seen, partitions=partitions(one.partitions))))
        return True


def pace(beats: int = 20) -> PollPolicy:
    ticks: Iterator[int] = iter(range(1000))
    return replace(POLL_POLICY, timeout_s=beats, now=lambda: next(ticks), pause=lambda _: None)


def tell(_: ProgressEvent) -> None: ...


def plan_for(cluster: FakeCluster, *wants: DesiredTopic, allow_reorder: bool = False) -> TopicsPlan:
    return plan_topics(wants, cluster.topics, allow_reorder=allow_reorder)


def test_missing_topics_are_created_together_and_waited_for() -> None:
    cluster = FakeCluster()
    wants = want(MESSAGES), want(NOTIFICATIONS)
    apply_topics(cluster, plan_for(cluster, *wants), tell, pace())
    assert cluster.asked == ["create p-messages", "create p-notifications"]
    assert cluster.asks_until_everywhere == 0
    assert plan_for(cluster, *wants).drift == ()


def test_applying_again_does_nothing() -> None:
    cluster = FakeCluster({"p-messages": as_declared()})
    apply_topics(cluster, plan_for(cluster, want()), tell, pace())
    assert cluster.asked == []


def test_differences_are_repaired_one_after_the_other() -> None:
    seen = as_declared(cleanup_policy="compact", retention_ms="1000")
    cluster = FakeCluster({seen.name: seen})
    more = want(size=InstallationSize.MEDIUM)
    apply_topics(cluster, plan_for(cluster, more, allow_reorder=True), tell, pace())
    assert cluster.asked == [
        "cleanup of p-messages",
        "retention of p-messages",
        "partitions of p-messages",
    ]
    assert plan_for(cluster, more).drift == ()


def test_one_refusal_refuses_the_whole_plan() -> None:
    cluster = FakeCluster({"p-messages": as_declared()})
    found = plan_for(cluster, want(size=InstallationSize.MEDIUM), want(NOTIFICATIONS))
    with pytest.raises(TidingsError, match="the order of the entries of a chat") as caught:
        apply_topics(cluster, found, tell, pace())
    assert caught.value.code is Code.TOPICS_DESTRUCTIVE
    assert cluster.asked == []


def test_a_topic_that_does_not_become_ready_fails_with_what_to_do() -> None:
    cluster = FakeCluster(is_deaf=True)
    with pytest.raises(TidingsError, match="not every partition has its leader") as caught:
        apply_topics(cluster, plan_for(cluster, want()), tell, pace())
    assert caught.value.code is Code.TOPICS_FAILED


def test_brokers_without_the_topic_are_reported() -> None:
    cluster = FakeCluster(asks_until_everywhere=1000)
    with pytest.raises(TidingsError, match="Not every broker knows"):
        apply_topics(cluster, plan_for(cluster, want()), tell, pace())


def test_a_change_without_effect_fails() -> None:
    seen = as_declared(cleanup_policy="compact")
    cluster = FakeCluster({seen.name: seen}, is_deaf=True)
    with pytest.raises(TidingsError, match="was set to delete and is still compact"):
        apply_topics(cluster, plan_for(cluster, want()), tell, pace())


FENCED = "Unable to replicate the partition 1 time(s): All brokers are currently fenced."
NO_BROKERS = (
    "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached."
)


@pytest.mark.parametrize(("text", "is_created"), [(FENCED, True), (NO_BROKERS, False)])
def test_a_topic_is_requested_again_only_while_all_brokers_are_fenced(text: str, *, is_created: bool) -> None:
    answers = [KafkaException(KafkaError(KafkaError.INVALID_REPLICATION_FACTOR, text))] * 2

    def create() -> None:
        if answers:
            raise answers.pop()

    policy = replace(POLL_POLICY, pause=lambda _: None)
    if is_created:
        create_when_unfenced(create, policy)
        assert not answers
    else:
        with pytest.raises(KafkaException):
            create_when_unfenced(create, policy)
        assert len(answers) == 1
