"""Each promise, on a log that keeps it and on one that violates it."""

import pytest
from model.log import (
    CONFLICT,
    CONTRADICTED,
    CREATE,
    HOLE,
    JOIN,
    LEAVE,
    M_OTHER,
    NOT_WRITTEN,
    NOTHING,
    REFUSED,
    WRONGLY_REFUSED,
    Cast,
    Log,
    M,
    X,
    merge_answers,
)
from model.promises import Promise, fault_of_answer, fault_of_change, fault_of_log

CAST = Cast((CREATE, M, M_OTHER, LEAVE, JOIN, X))
THE_M, THE_OTHER, GONE, BACK, THE_X = 1, 2, 3, 4, 5


@pytest.mark.parametrize(
    ("log", "fault"),
    [
        ((0,), None),
        ((0, THE_M, GONE, THE_X), None),
        ((0, GONE, BACK, THE_M), None),
        ((0, HOLE, THE_M), Promise.DENSE),
        ((0, THE_M, THE_X, THE_M), Promise.ONE_PER_KEY),
        ((0, THE_M, THE_OTHER), Promise.ONE_PER_KEY),
        ((0, GONE, THE_M), Promise.FENCED),
        ((0, GONE, THE_X, THE_M, BACK), Promise.FENCED),
    ],
)
def test_promises_of_a_log(log: Log, fault: Promise | None) -> None:
    assert fault_of_log(CAST, log) == fault


@pytest.mark.parametrize(
    ("log", "reported", "fault"),
    [
        ((0,), NOTHING, None),
        ((0, THE_M), 2, None),
        ((0,), 2, Promise.COMMITTED),
        ((0, HOLE, THE_X), 2, Promise.COMMITTED),
        ((0, THE_X), 2, Promise.KEPT),
        ((0, GONE), REFUSED, None),
        ((0, THE_M, GONE), REFUSED, Promise.FINAL),
        ((0, THE_M), NOT_WRITTEN, Promise.FINAL),
        ((0, THE_OTHER), CONFLICT, None),
        ((0, THE_M), CONFLICT, Promise.FINAL),
        ((0, THE_X), CONFLICT, Promise.CONFLICTING),
        ((0,), WRONGLY_REFUSED, Promise.NO_MEMBER),
        ((0, THE_M), CONTRADICTED, Promise.AGREED),
    ],
)
def test_promises_of_answers_to_a_client(log: Log, reported: int, fault: Promise | None) -> None:
    assert fault_of_answer(CAST, log, THE_M, reported) == fault


def test_two_different_answers_contradict_each_other() -> None:
    assert merge_answers(NOTHING, 3) == 3
    assert merge_answers(3, 3) == 3
    assert merge_answers(3, 4) == CONTRADICTED
    assert merge_answers(REFUSED, 3) == CONTRADICTED


def test_a_log_only_grows() -> None:
    assert fault_of_change((0, 1), (0, 1, 2)) is None
    assert fault_of_change((0, 1), (0, 2)) is Promise.UNCHANGED
    assert fault_of_change((0, 1), (0,)) is Promise.UNCHANGED
