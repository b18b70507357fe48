"""Calls are checked against their access pattern."""

import re

import pytest

from tidings.platform.dynamo.capacity import CapacityLedger
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.requests import PatternChecker, PatternError

READS = (Operation.GET_ITEM, Operation.QUERY, Operation.BATCH_GET_ITEM)


def pattern(
    operation: Operation = Operation.GET_ITEM,
    consistency: Consistency = Consistency.STRONG,
    tables: tuple[str, ...] = ("messages",),
    index: str | None = None,
    name: str = "read one",
) -> AccessPattern:
    return AccessPattern(name, tables, operation, consistency, "for tests", index)


@pytest.fixture
def plans() -> PatternChecker:
    return PatternChecker("acme-", CapacityLedger())


def test_the_physical_name_has_the_prefix(plans: PatternChecker) -> None:
    assert plans.of(pattern(), Operation.GET_ITEM).table == "acme-messages"


@pytest.mark.parametrize(
    ("consistency", "is_strong"), [(Consistency.STRONG, True), (Consistency.EVENTUAL, False)]
)
def test_consistency_comes_from_the_pattern(
    plans: PatternChecker, consistency: Consistency, *, is_strong: bool
) -> None:
    assert plans.of(pattern(consistency=consistency), Operation.GET_ITEM).is_strong == is_strong


def test_another_operation_than_the_patterns_is_refused(plans: PatternChecker) -> None:
    with pytest.raises(PatternError, match="is for GetItem, not for PutItem"):
        plans.of(pattern(), Operation.PUT_ITEM)
    plans.of(pattern(), Operation.GET_ITEM)
    with pytest.raises(PatternError, match="is for GetItem, not for Query"):
        plans.of(pattern(), Operation.QUERY)


def test_another_table_than_the_patterns_is_refused(plans: PatternChecker) -> None:
    both = pattern(Operation.TRANSACT_WRITE_ITEMS, Consistency.WRITE, ("messages", "chats"))
    plan = plans.of(both, Operation.TRANSACT_WRITE_ITEMS)
    assert plan.table_of("chats") == "acme-chats"
    with pytest.raises(PatternError, match="is for messages, chats, not for users"):
        plan.table_of("users")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (pattern(Operation.PUT_ITEM, Consistency.STRONG), "PutItem is not strong"),
        (pattern(Operation.QUERY, Consistency.WRITE), "Query is not write"),
        (pattern(tables=("a", "b")), "is for one table"),
        (pattern(Operation.BATCH_WRITE_ITEM, Consistency.WRITE, ("a", "b")), "is for one table"),
        (pattern(tables=()), "is for one table"),
        (pattern(Operation.GET_ITEM, Consistency.EVENTUAL, index="i"), "only a Query"),
        (pattern(Operation.QUERY, Consistency.STRONG, index="i"), "no strong reads"),
    ],
)
def test_an_invalid_pattern_is_refused(plans: PatternChecker, wrong: AccessPattern, why: str) -> None:
    with pytest.raises(PatternError, match=re.escape(why)):
        plans.of(wrong, wrong.operation)


def test_two_patterns_with_one_name_are_refused(plans: PatternChecker) -> None:
    plans.of(pattern(), Operation.GET_ITEM)
    plans.of(pattern(), Operation.GET_ITEM)
    with pytest.raises(PatternError, match="Two access patterns have the name read one"):
        plans.of(pattern(consistency=Consistency.EVENTUAL), Operation.GET_ITEM)


def test_every_operation_can_be_planned(plans: PatternChecker) -> None:
    for operation in Operation:
        consistency = Consistency.STRONG if operation in READS else Consistency.WRITE
        assert plans.of(pattern(operation, consistency, name=operation), operation).row.operation == operation
