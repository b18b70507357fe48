"""Differences of topics: those that are changed, and those that are refused."""

from dataclasses import replace

import pytest
from unit.schema.topics.observed_topics import MESSAGES, NOTIFICATIONS, as_declared, partitions, want

from tidings.schema.plan import ChangeKind
from tidings.schema.topics.diff import TopicAspect, plan_topic, plan_topics, topic_plan_lines
from tidings.schema.topics.model import InstallationSize


def verdict_of(seen: object, **given: object) -> ChangeKind:
    return plan_topic(want(), seen, allow_reorder=False, **given).verdict  # type: ignore[arg-type]


def test_a_topic_as_it_was_created_differs_in_nothing() -> None:
    assert verdict_of(as_declared()) is ChangeKind.UNCHANGED


def test_a_missing_topic_is_created() -> None:
    assert verdict_of(None) is ChangeKind.CREATE


@pytest.mark.parametrize(
    ("setting", "value", "aspect"),
    [
        ("retention_ms", "3600000", TopicAspect.RETENTION),
        ("cleanup_policy", "compact", TopicAspect.CLEANUP),
        ("min_insync_replicas", "1", TopicAspect.MIN_IN_SYNC),
        ("max_message_bytes", "1000", TopicAspect.MAX_MESSAGE),
        ("unclean_leader_election_enable", "true", TopicAspect.UNCLEAN),
    ],
)
def test_a_setting_that_differs_is_changed_to_what_is_declared(
    setting: str, value: str, aspect: TopicAspect
) -> None:
    seen = as_declared(MESSAGES, **{setting: value})
    entry = plan_topic(want(), seen, allow_reorder=False)
    assert entry.verdict is ChangeKind.CHANGE
    (change,) = entry.changes
    assert change.aspect is aspect
    name = setting.replace("_", ".")
    assert change.setting == (name, as_declared().settings[name])


@pytest.mark.parametrize("kept", ["864000000", "-1"])
def test_records_kept_longer_than_declared_stay(kept: str) -> None:
    assert verdict_of(as_declared(retention_ms=kept)) is ChangeKind.UNCHANGED


def test_a_limit_above_the_declared_one_stays() -> None:
    assert verdict_of(as_declared(max_message_bytes="9000000")) is ChangeKind.UNCHANGED


def test_more_partitions_are_refused_where_order_matters_unless_allowed() -> None:
    more = want(size=InstallationSize.MEDIUM)
    refused = plan_topics([more], {more.name: as_declared()})
    assert refused.entries[0].verdict is ChangeKind.REFUSED
    assert "the order of the entries of a chat" in refused.refused[0]
    allowed = plan_topics([more], {more.name: as_declared()}, allow_reorder=True)
    assert allowed.entries[0].verdict is ChangeKind.CHANGE
    assert allowed.refused == ()


def test_more_partitions_are_given_at_once_where_order_does_not_matter() -> None:
    more = want(NOTIFICATIONS, InstallationSize.MEDIUM)
    assert (
        plan_topics([more], {more.name: as_declared(NOTIFICATIONS)}).entries[0].verdict is ChangeKind.CHANGE
    )


def test_fewer_partitions_are_refused_whatever_is_allowed() -> None:
    seen = replace(as_declared(), partitions=partitions(720))
    entry = plan_topic(want(), seen, allow_reorder=True)
    assert entry.verdict is ChangeKind.REFUSED
    assert "Kafka can't remove partitions" in entry.changes[0].refused


def test_fewer_copies_than_declared_are_pointed_out_and_more_are_fine() -> None:
    assert verdict_of(replace(as_declared(), partitions=partitions(12, replicas=1))) is ChangeKind.REFUSED
    assert verdict_of(replace(as_declared(), partitions=partitions(12, replicas=5))) is ChangeKind.UNCHANGED


def test_a_copy_that_lags_behind_is_no_drift() -> None:
    assert verdict_of(replace(as_declared(), partitions=partitions(12, in_sync=2))) is ChangeKind.UNCHANGED


def test_an_undeclared_topic_of_tidings_is_refused_and_a_foreign_one_ignored() -> None:
    old, foreign = (replace(as_declared(), name=f"p-{name}") for name in ("old", "strange"))
    found = plan_topics([], {old.name: old, foreign.name: foreign}, retired=["p-old"])
    assert [entry.verdict for entry in found.entries] == [ChangeKind.REFUSED, ChangeKind.UNKNOWN]
    assert found.drift == ("p-old: topic: a topic of Tidings, declared no longer declared",)


def test_drift_names_every_difference() -> None:
    seen = as_declared(cleanup_policy="compact", retention_ms="1000")
    found = plan_topics([want(), want(NOTIFICATIONS)], {seen.name: seen})
    assert found.drift == (
        "p-messages: cleanup: compact, declared delete",
        "p-messages: retention: 0.000277778 h, declared 48 h",
        "p-notifications: missing",
    )


def test_a_plan_is_printed_readably() -> None:
    seen = replace(as_declared(cleanup_policy="compact"), partitions=partitions(6))
    found = plan_topics([want(), want(NOTIFICATIONS)], {seen.name: seen})
    text = "\n".join(line.text for line in topic_plan_lines(found))
    assert text == (
        "p-messages       refused        12 partitions, 3 copies, 2 in sync\n"
        "    cleanup: compact → delete\n"
        "    partitions: 6 → 12 (keys move)  REFUSED\n"
        "p-notifications  create         6 partitions, 3 copies, 2 in sync\n"
        "    keyed by tenant#job#chunk; kept 72 h, delete; messages up to 1,048,576 bytes\n"
        "\n"
        "1 refused, 1 create\n"
        "Refused, because data would be lost or reordered:\n"
        f"  {found.refused[0]}"
    )


def test_a_plan_for_one_broker_says_that_there_is_one_copy() -> None:
    text = [line.text for line in topic_plan_lines(plan_topics([want(MESSAGES, brokers=1)], {}))]
    assert "1 copy (declared 3)" in text[0]
    assert text[-1].startswith("The cluster has one broker")
