"""Retries: which calls, after which wait, and within which budget."""

import random

import pytest

from tidings.platform.dynamo import errors
from tidings.platform.dynamo.transport import Retries, RetryLimits

LIMITS = RetryLimits(max_tries=4, first_wait_s=0.1, max_wait_s=0.25, budget=30, cost=5, cost_unanswered=10)

LONG_S = 60.0


def retries(draw: float = 1.0) -> Retries:
    return Retries(LIMITS, draw=lambda: draw)


@pytest.mark.parametrize("error", [errors.ThrottledError(), errors.ConflictError(), errors.NotSentError()])
@pytest.mark.parametrize("is_repeatable", [True, False])
def test_a_call_that_was_not_applied_is_always_retried(
    error: errors.DynamoError, *, is_repeatable: bool
) -> None:
    assert retries().wait_s(error, 1, LONG_S, is_repeatable=is_repeatable) is not None


def test_an_unanswered_call_is_retried_only_if_it_is_idempotent() -> None:
    assert retries().wait_s(errors.OutcomeUnknownError(), 1, LONG_S, is_repeatable=True) is not None
    assert retries().wait_s(errors.OutcomeUnknownError(), 1, LONG_S, is_repeatable=False) is None


@pytest.mark.parametrize(
    "error",
    [
        errors.ConditionFailedError(),
        errors.TooLargeError(),
        errors.ValidationError(),
        errors.NotFoundError(),
        errors.AccessDeniedError(),
        errors.TokenReusedError(),
        errors.NotSentError(transient=False),
    ],
)
def test_a_permanent_error_is_not_retried(error: errors.DynamoError) -> None:
    assert retries().wait_s(error, 1, LONG_S, is_repeatable=True) is None


def test_waits_double_up_to_a_bound_with_full_jitter() -> None:
    assert [retries().backoff_s(tries) for tries in (1, 2, 3, 9)] == [0.1, 0.2, 0.25, 0.25]
    assert retries(0.0).backoff_s(5) == 0
    assert retries(0.5).backoff_s(1) == 0.05


def test_tries_are_bounded() -> None:
    fresh = retries()
    waits = [
        fresh.wait_s(errors.ThrottledError(), tries, LONG_S, is_repeatable=True) for tries in (1, 2, 3, 4)
    ]
    assert [wait is None for wait in waits] == [False, False, False, True]


def test_when_the_budget_is_spent_calls_are_not_tried_again_until_some_succeed() -> None:
    spent = retries()
    granted = [spent.wait_s(errors.ThrottledError(), 1, LONG_S, is_repeatable=True) for _ in range(7)]
    assert [wait is not None for wait in granted] == [True] * 6 + [False]
    for _ in range(5):
        spent.succeed()
    assert spent.wait_s(errors.ThrottledError(), 1, LONG_S, is_repeatable=True) is not None
    assert spent.wait_s(errors.ThrottledError(), 1, LONG_S, is_repeatable=True) is None


def test_an_unanswered_try_costs_more_of_the_budget() -> None:
    spent = retries()
    granted = [spent.wait_s(errors.OutcomeUnknownError(), 1, LONG_S, is_repeatable=True) for _ in range(4)]
    assert [wait is not None for wait in granted] == [True] * 3 + [False]


CONFLICTED = errors.TransactionCancelledError(
    reasons=(errors.CancellationReason(), errors.CancellationReason("TransactionConflict"))
)
THROTTLED = errors.TransactionCancelledError(
    reasons=(errors.CancellationReason("ThrottlingError"), errors.CancellationReason("TransactionConflict"))
)


@pytest.mark.parametrize(
    "error",
    [errors.ThrottledError(), errors.OutcomeUnknownError(), THROTTLED],
    ids=["throttled", "silent", "both"],
)
def test_a_retry_that_succeeds_gives_its_cost_back(error: errors.DynamoError) -> None:
    shared = retries()
    for _ in range(100):
        assert shared.wait_s(error, 1, LONG_S, is_repeatable=True) is not None
        shared.succeed(after=error)
    assert shared.tokens == LIMITS.budget


@pytest.mark.parametrize("percent", [25, 40, 100])
def test_the_budget_suffices_while_every_first_retry_succeeds(percent: int) -> None:
    chance, shared, refused = random.Random(percent), Retries(RetryLimits(), draw=lambda: 0.0), 0
    for _ in range(5000):
        error = errors.ThrottledError() if chance.random() * 100 < percent else None
        if error and shared.wait_s(error, 1, LONG_S, is_repeatable=True) is None:
            refused += 1
            continue
        shared.succeed(after=error)
    assert refused == 0


@pytest.mark.parametrize("error", [errors.ConflictError(), CONFLICTED], ids=["single", "transaction"])
def test_a_conflict_is_no_sign_of_overload_and_costs_nothing(error: errors.DynamoError) -> None:
    shared = retries()
    for _ in range(100):
        assert shared.wait_s(error, 1, LONG_S, is_repeatable=True) is not None
    assert shared.tokens == LIMITS.budget
    assert shared.wait_s(error, LIMITS.max_tries, LONG_S, is_repeatable=True) is None


def test_the_budget_does_not_grow_above_its_size() -> None:
    rich = retries()
    for _ in range(100):
        rich.succeed()
    assert rich.tokens == LIMITS.budget


def test_a_call_that_is_not_retried_costs_no_budget() -> None:
    untouched = retries()
    untouched.wait_s(errors.ConditionFailedError(), 1, LONG_S, is_repeatable=True)
    untouched.wait_s(errors.OutcomeUnknownError(), 1, LONG_S, is_repeatable=False)
    assert untouched.tokens == LIMITS.budget


def test_a_wait_that_would_end_after_the_deadline_is_not_begun_and_costs_nothing() -> None:
    bounded = retries()
    assert bounded.wait_s(errors.ThrottledError(), 1, 0.1, is_repeatable=True) is None
    assert bounded.tokens == LIMITS.budget
    assert bounded.wait_s(errors.ThrottledError(), 1, 0.11, is_repeatable=True) == 0.1
