"""DynamoDB's condition and update expressions, as far as this project uses them. Each is parsed once and cached."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tidings.platform.dynamo.codec import Item

type Names = Mapping[str, str]
type Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """The item, names and values that an expression is evaluated with."""

    item: Item
    names: Names
    values: Values


class _Missing:
    """A missing attribute."""


MISSING: Any = _Missing()

type Operand = Callable[[Given], Any]
type Condition = Callable[[Given], bool]
type Change = Callable[[Given, Item], None]

_TOKEN = re.compile(r"\s*(<=|>=|<>|[=<>(),+-]|[#:]?\w+)")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        assert "".join(self._tokens) == re.sub(r"\s", "", text), f"unsupported expression: {text}"
        self._at = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.next
        assert not expected or token in expected, f"{token!r} instead of {expected}"
        self._at += 1
        return token

    def takes(self, token: str) -> bool:
        is_there = self.next == token
        self._at += is_there
        return is_there

    def any_of(self) -> Condition:
        parts = [self.all_of()]
        while self.takes("OR"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else lambda given: any(part(given) for part in parts)

    def all_of(self) -> Condition:
        parts = [self.one()]
        while self.takes("AND"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else lambda given: all(part(given) for part in parts)

    def one(self) -> Condition:
        if self.takes("NOT"):
            denied = self.one()
            return lambda given: not denied(given)
        if self.takes("("):
            inner = self.any_of()
            self.take(")")
            return inner
        if self.next in {"attribute_exists", "attribute_not_exists", "begins_with", "contains"}:
            return self._function()
        return self._comparison()

    def _function(self) -> Condition:
        name, _, path = self.take(), self.take("("), self.operand()
        other = self.operand() if self.takes(",") else None
        self.take(")")
        if name == "attribute_exists":
            return lambda given: path(given) is not MISSING
        if name == "attribute_not_exists":
            return lambda given: path(given) is MISSING
        assert other is not None
        begins = name == "begins_with"
        return lambda given: _holds_part(path(given), other(given), begins=begins)

    def _comparison(self) -> Condition:
        left = self.operand()
        if self.takes("BETWEEN"):
            low = self.operand()
            self.take("AND")
            high = self.operand()
            return lambda given: low(given) <= left(given) <= high(given)
        compare, right = _COMPARE[self.take(*_COMPARE)], self.operand()

        def holds(given: Given) -> bool:
            one, other = left(given), right(given)
            if one is MISSING or other is MISSING:
                return compare is operator.ne
            return compare(one, other)

        return holds

    def operand(self) -> Operand:
        token = self.take()
        if token == "if_not_exists":
            self.take("(")
            path = self.operand()
            self.take(",")
            default = self.operand()
            self.take(")")
            return lambda given: default(given) if (found := path(given)) is MISSING else found
        if token.startswith(":"):
            return lambda given: given.values[token]
        return lambda given: given.item.get(given.names.get(token, token), MISSING)

    def changes(self) -> list[Change]:
        found: list[Change] = []
        while self.next:
            verb = self.take("SET", "REMOVE", "ADD", "DELETE")
            found.append(_VERBS[verb](self))
            while self.takes(","):
                found.append(_VERBS[verb](self))
        return found

    def set(self) -> Change:
        name = self.take()
        self.take("=")
        value = self.operand()
        sign = self.take() if self.next in {"+", "-"} else ""
        more = self.operand() if sign else None

        def change(given: Given, item: Item) -> None:
            new = value(given)
            if more is not None:
                new = new + more(given) if sign == "+" else new - more(given)
            item[given.names.get(name, name)] = new

        return change

    def remove(self) -> Change:
        name = self.take()
        return lambda given, item: void(item.pop(given.names.get(name, name), None))

    def add(self) -> Change:
        return self._adding(
            lambda had, more: (had or set()) | more if isinstance(more, set) else (had or 0) + more
        )

    def delete(self) -> Change:
        return self._adding(lambda had, less: (had or set()) - less)

    def _adding(self, merge: Callable[[Any, Any], Any]) -> Change:
        name, value = self.take(), self.take()

        def change(given: Given, item: Item) -> None:
            own = given.names.get(name, name)
            new = merge(item.get(own), given.values[value])
            if new == set():
                item.pop(own, None)
            else:
                item[own] = new

        return change


_VERBS: dict[str, Callable[[_Reader], Change]] = {
    "SET": _Reader.set,
    "REMOVE": _Reader.remove,
    "ADD": _Reader.add,
    "DELETE": _Reader.delete,
}


def void(_: object) -> None:
    """Ignore the argument."""


def _holds_part(whole: Any, part: Any, *, begins: bool) -> bool:
    if whole is MISSING:
        return False
    return whole.startswith(part) if begins else part in whole


@lru_cache(maxsize=1024)
def condition(text: str) -> Condition:
    return _Reader(text).any_of()


@lru_cache(maxsize=1024)
def update(text: str) -> list[Change]:
    return _Reader(text).changes()
