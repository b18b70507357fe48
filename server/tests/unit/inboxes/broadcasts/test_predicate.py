"""Predicates of segments: true, false and invalid ones."""

from typing import Any

import pytest

from tidings.inboxes.broadcasts.segments import MAX_DEPTH, compile_predicate
from tidings.kernel.errors import Code, TidingsError

ANNA = {"plan": "pro", "age": 30, "tags": ["a", 1], "is_staff": True}


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        ({"attribute": "plan", "is": "pro"}, True),
        ({"attribute": "plan", "is": "free"}, False),
        ({"attribute": "plan", "in": ["free", "pro"]}, True),
        ({"attribute": "age", "at_least": 30}, True),
        ({"attribute": "age", "below": 30}, False),
        ({"attribute": "age", "is": 30.0}, True),
        ({"attribute": "plan", "at_least": 1}, False),
        ({"attribute": "is_staff", "is": 1}, False),
        ({"attribute": "is_staff", "is": True}, True),
        ({"attribute": "tags", "has": "a"}, True),
        ({"attribute": "tags", "has": "b"}, False),
        ({"attribute": "plan", "has": "p"}, False),
        ({"attribute": "installation", "is": "Rome"}, False),
        ({"not": {"attribute": "installation", "is": "Rome"}}, True),
        ({"attribute": "installation", "exists": False}, True),
        ({"attribute": "plan", "exists": True}, True),
        ({"all": []}, True),
        ({"any": []}, False),
        ({"all": [{"attribute": "plan", "is": "pro"}, {"attribute": "age", "below": 31}]}, True),
        ({"any": [{"attribute": "plan", "is": "free"}, {"attribute": "age", "below": 31}]}, True),
    ],
    ids=str,
)
def test_a_predicate_is_evaluated(predicate: dict[str, Any], *, holds: bool) -> None:
    assert compile_predicate(predicate)(ANNA) is holds


def deep(depth: int) -> dict[str, Any]:
    predicate: dict[str, Any] = {"attribute": "plan", "is": "pro"}
    for _ in range(depth):
        predicate = {"not": predicate}
    return predicate


@pytest.mark.parametrize(
    "predicate",
    [
        {},
        [],
        "plan",
        {"attribute": "plan"},
        {"attribute": "plan", "is": "a", "in": ["b"]},
        {"attribute": "plan", "like": "p%"},
        {"attribute": "plan", "is": None},
        {"attribute": "plan", "in": []},
        {"attribute": "age", "below": "30"},
        {"attribute": "age", "below": True},
        {"all": {"attribute": "plan", "is": "pro"}},
        {"all": [], "any": []},
        {"any": [{"attribute": "a", "is": 1}] * 65},
        {"attribute": "plan", "is": "x" * 5_000},
        deep(MAX_DEPTH),
    ],
    ids=lambda predicate: str(predicate)[:40],
)
def test_an_invalid_or_too_large_predicate_is_refused(predicate: object) -> None:
    with pytest.raises(TidingsError) as refused:
        compile_predicate(predicate)
    assert refused.value.code is Code.REQUEST_INVALID
