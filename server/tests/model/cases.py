"""All models of sending with their bounds: CI explores `HELD`; `HELD_WIDE` has the same models in wider bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from model import (
    batches,
    changes,
    checks,
    entry_shapes,
    epochs,
    gap_filling,
    restored_members,
    restrictions,
    watermark_raise,
)
from model.append import Append
from model.explore import Explored, Model, explore
from model.log import CREATE, EDIT, JOIN, LEAVE, M_OTHER, Cast, M, X, Y

type Make = Callable[[Any], Model[Any]]
"""Builds a model in its bounds, with a mutant or None."""


@dataclass(frozen=True)
class Bounds:
    """A model in a scenario, which `what` describes."""

    model: str
    scenario: str
    what: str
    make: Make


_REMOVAL = Cast((CREATE, M, LEAVE, X))
_CONTENT = Cast((CREATE, M, M_OTHER, EDIT))
_RETURN = Cast((CREATE, M, LEAVE, JOIN))
_RETURN_AND_X = Cast((CREATE, M, LEAVE, JOIN, X))


def _append(
    scenario: str, what: str, cast: Cast, tries: tuple[int, ...], waits_for: tuple[int, ...]
) -> Bounds:
    parts = checks.Scenario(cast, tries, waits_for)
    return Bounds("append", scenario, what, lambda mutant: Append(parts, mutant))


def _batches(scenario: str, what: str, cast: Cast, tries: tuple[int, ...]) -> Bounds:
    parts = checks.Scenario(cast, tries, waits_for=(0,) * len(tries))
    return Bounds("batches", scenario, what, lambda mutant: batches.Batches(parts, mutant))


def _filling(scenario: str, what: str, changes_of_membership: int) -> Bounds:
    return Bounds(
        "gap_filling", scenario, what, lambda mutant: gap_filling.Filling(changes_of_membership, mutant)
    )


def _shapes(scenario: str, what: str, tries: tuple[int, int], others: tuple[int, ...]) -> Bounds:
    parts = entry_shapes.Scenario(tries, others)
    return Bounds("entry_shapes", scenario, what, lambda mutant: entry_shapes.Shapes(parts, mutant))


def _raising(scenario: str, what: str, parts: watermark_raise.Scenario) -> Bounds:
    return Bounds("watermark_raise", scenario, what, lambda mutant: watermark_raise.Raising(parts, mutant))


def _epochs(scenario: str, what: str, parts: epochs.Scenario) -> Bounds:
    return Bounds("epochs", scenario, what, lambda mutant: epochs.Epochs(parts, mutant))


def _restored(scenario: str, what: str, parts: restored_members.Scenario) -> Bounds:
    return Bounds(
        "restored_members", scenario, what, lambda mutant: restored_members.RestoredMembers(parts, mutant)
    )


GONE, BACK, OTHER = entry_shapes.THE_LEAVE, entry_shapes.THE_JOIN, entry_shapes.THE_X

REMOVAL = _append("removal", "m 3 tries, leave 1, x 1", _REMOVAL, (0, 3, 1, 1), (0, 0, 0, 0))
CONTENT = _append("content", "m 2 tries, other content 2, edit 1", _CONTENT, (0, 2, 2, 1), (0, 0, 0, 1))
RETURN = _append("return", "m 3 tries, leave 1, join 1", _RETURN, (0, 3, 1, 1), (0, 0, 0, 2))
FENCE = _batches("fence", "m 2 tries, x 1, leave 1", Cast((CREATE, M, X, LEAVE)), (0, 2, 1, 1))
THREE = _batches("three", "m 2 tries, x 1, y 1", Cast((CREATE, M, X, Y)), (0, 2, 1, 1))
KEYS = _batches("keys", "m 2 tries, other content 1, x 1", Cast((CREATE, M, M_OTHER, X)), (0, 2, 1, 1))
FILL = _filling("filling", "leave, rejoin, leave again", 3)
CHANGE = Bounds(
    "changes", "redaction", "a redaction here, the same elsewhere, another user's", changes.Changes
)
LEFT = _shapes("leave", "m 3 tries, leave, x", (3, 0), (GONE, OTHER))
LEFT_AND_BACK = _shapes("return", "m 3 tries, leave, join", (3, 0), (GONE, BACK))
SHAPE_CONTENT = _shapes("content", "m 2 tries, other content 1, x", (2, 1), (OTHER,))
CATCH_UP = _raising(
    "catch-up", "m 3 tries, 4 others, look-back 2", watermark_raise.Scenario(3, 2, 4, with_leave=False)
)
INTERVALS = _raising(
    "intervals", "m 3 tries, 2 others, leave, join", watermark_raise.Scenario(3, 2, 2, with_leave=True)
)
RESTORE = _epochs("restore", "m 3 tries, 3 others", epochs.Scenario(3, 0, 3))
ROWS = _epochs("rows", "m 2 tries, y 2, 2 others", epochs.Scenario(2, 2, 2))
MEMBERS = _restored(
    "members", "3 old entries, 2 reads, 2 changes, 1 other", restored_members.Scenario(3, 1, 2, 2)
)
RESTRICTED = Bounds(
    "restrictions", "mute, ban, close", "m 2 tries, each change once", restrictions.Restrictions
)

HELD = (
    REMOVAL,
    CONTENT,
    RETURN,
    FENCE,
    THREE,
    KEYS,
    FILL,
    CHANGE,
    LEFT,
    LEFT_AND_BACK,
    SHAPE_CONTENT,
    CATCH_UP,
    INTERVALS,
    RESTORE,
    ROWS,
    MEMBERS,
    RESTRICTED,
)

HELD_WIDE = (
    _append("removal", "m 3 tries, leave 1, x 2", _REMOVAL, (0, 3, 1, 2), (0, 0, 0, 0)),
    _append("removal", "m 3 tries, leave 2, x 1", _REMOVAL, (0, 3, 2, 1), (0, 0, 0, 0)),
    _append("content", "m 3 tries, other content 3, edit 2", _CONTENT, (0, 3, 3, 2), (0, 0, 0, 1)),
    _append("return", "m 2 tries, leave 1, join 1, x 1", _RETURN_AND_X, (0, 2, 1, 1, 1), (0, 0, 0, 2, 0)),
    _batches("fence", "m 3 tries, x 2, leave 1", Cast((CREATE, M, X, LEAVE)), (0, 3, 2, 1)),
    _batches("three", "m 3 tries, x 2, y 1", Cast((CREATE, M, X, Y)), (0, 3, 2, 1)),
    _batches("four", "m 2 tries, x 1, y 1, leave 1", Cast((CREATE, M, X, Y, LEAVE)), (0, 2, 1, 1, 1)),
    _filling("filling", "leave and rejoin, twice", 4),
    _shapes("return", "m 3 tries, leave, join, x", (3, 0), (GONE, BACK, OTHER)),
    _shapes("content", "m 2 tries, other content 2, leave, join", (2, 2), (GONE, BACK)),
    _raising(
        "catch-up", "m 4 tries, 5 others, look-back 2", watermark_raise.Scenario(4, 2, 5, with_leave=False)
    ),
    _raising(
        "intervals", "m 4 tries, 3 others, leave, join", watermark_raise.Scenario(4, 2, 3, with_leave=True)
    ),
    _epochs("rows", "m 3 tries, y 2, 3 others", epochs.Scenario(3, 2, 3)),
    _restored(
        "members", "5 old entries, 3 reads, 3 changes, 2 others", restored_members.Scenario(5, 2, 3, 3)
    ),
)


@cache
def explored(bounds: Bounds, mutant: StrEnum | None = None) -> Explored:
    """Explore a model. Results are cached, so that a test and the page that it compares do not search twice."""
    return explore(bounds.make(mutant))
