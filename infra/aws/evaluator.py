"""Evaluate IAM policies: the part of the language that our policies use. Pure.

Anything else raises `UnsupportedPolicyError`, so that a policy is never evaluated in part.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, Final

type Statement = Mapping[str, Any]

_KNOWN: Final = frozenset({"Sid", "Effect", "Action", "Resource", "Condition"})


class Decision(StrEnum):
    ALLOWED = "allowed"
    DENIED = "denied explicitly"
    NOT_ALLOWED = "not allowed by any statement"


class UnsupportedPolicyError(ValueError):
    """The policy has an element, an effect or a condition that this evaluator does not know."""


@dataclass(frozen=True, slots=True)
class Request:
    """An action on one resource. A call that touches several tables is one request for each of them."""

    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict, hash=False)


def evaluate(statements: Iterable[Statement], request: Request) -> Decision:
    """Return whether the statements allow a request. An explicit denial overrides every permission."""
    effects = {_effect(each) for each in statements if _matches(each, request)}
    if "Deny" in effects:
        return Decision.DENIED
    return Decision.ALLOWED if effects else Decision.NOT_ALLOWED


def _effect(statement: Statement) -> str:
    effect = statement.get("Effect")
    if effect not in {"Allow", "Deny"}:
        raise UnsupportedPolicyError(f"Effect {effect!r}; use Allow or Deny.")
    return str(effect)


def _matches(statement: Statement, request: Request) -> bool:
    if unknown := statement.keys() - _KNOWN:
        raise UnsupportedPolicyError(f"Unknown elements: {', '.join(sorted(unknown))}.")
    return (
        names_action(statement, request.action)
        and any(_pattern(each).fullmatch(request.resource) for each in _listed(statement, "Resource"))
        and _conditions_hold(statement.get("Condition", {}), request.context)
    )


def names_action(statement: Statement, action: str) -> bool:
    """Return whether a statement is about an action, on any resource. The case of letters does not matter."""
    return any(_pattern(each.lower()).fullmatch(action.lower()) for each in _listed(statement, "Action"))


def _listed(statement: Statement, name: str) -> Sequence[str]:
    found = statement.get(name)
    if not found:
        raise UnsupportedPolicyError(f"A statement without {name}.")
    return [found] if isinstance(found, str) else list(found)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a name with wildcards: `*` is any text, also with slashes and colons; `?` is one character."""
    return re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in text), re.DOTALL)


def _conditions_hold(conditions: Mapping[str, Mapping[str, Any]], context: Mapping[str, str]) -> bool:
    """Return whether all conditions hold. A key that the request does not have satisfies none of these operators."""
    for operator, keys in conditions.items():
        if operator not in {"StringEquals", "StringLike"}:
            raise UnsupportedPolicyError(f"Condition operator {operator!r}.")
        for key, wanted in keys.items():
            given = context.get(key)
            allowed = [wanted] if isinstance(wanted, str) else wanted
            if given is None or not any(_equals(operator, each, given) for each in allowed):
                return False
    return True


def _equals(operator: str, wanted: str, given: str) -> bool:
    return bool(_pattern(wanted).fullmatch(given)) if operator == "StringLike" else wanted == given
