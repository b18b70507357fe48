"""Which users a segment is of, said in JSON: checked and bounded once, then a plain function of a user's attributes. Pure.

    {"all": [{"attribute": "plan", "in": ["pro", "team"]}, {"not": {"attribute": "country", "is": "DE"}}]}

What an attribute lacks or has of another type is not met, never an error.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tidings.kernel.errors import Code, TidingsError

MAX_BYTES = 4 * 1024
MAX_DEPTH = 8
MAX_TESTS = 64
MAX_VALUES = 100

type Predicate = Callable[[Mapping[str, Any]], bool]
type ValueTest = Callable[[Any], bool]


def compile_predicate(said: object) -> Predicate:
    """Raises `request_invalid`."""
    if len(msgspec.json.encode(said)) > MAX_BYTES:
        raise _fault(f"It has more than {MAX_BYTES} bytes.")
    return _PredicateReader().read(said, 1)


class _PredicateReader:
    """Counts what it has read, so that a small text can't become much work."""

    def __init__(self) -> None:
        self._tests = 0

    def read(self, said: object, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise _fault(f"It is more than {MAX_DEPTH} deep.")
        match said:
            case {"all": list(parts), **rest} if not rest:
                every = [self.read(each, depth + 1) for each in parts]
                return lambda attributes: all(holds(attributes) for holds in every)
            case {"any": list(parts), **rest} if not rest:
                some = [self.read(each, depth + 1) for each in parts]
                return lambda attributes: any(holds(attributes) for holds in some)
            case {"not": part, **rest} if not rest:
                inner = self.read(part, depth + 1)
                return lambda attributes: not inner(attributes)
            case {"attribute": str(name), **rest} if len(rest) == 1:
                test, value = rest.popitem()
                return self._one(name, str(test), value)
        raise _fault("Each part is `all`, `any`, `not`, or an `attribute` with one test.")

    def _one(self, name: str, test: str, value: object) -> Predicate:
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise _fault(f"It has more than {MAX_TESTS} tests.")
        if test == "exists" and isinstance(value, bool):
            return lambda attributes: (name in attributes) is value
        meets = _TESTS.get(test, _unknown_operator)(value)
        return lambda attributes: name in attributes and meets(attributes[name])


def _is(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    kind, wanted = _kind(value), value
    if kind is None:
        raise _fault("`is` takes a text, a number, true or false.")
    return lambda found: _kind(found) is kind and found == wanted


def _in(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    if not isinstance(value, list) or not 0 < len(value) <= MAX_VALUES:
        raise _fault(f"`in` takes 1 to {MAX_VALUES} values.")
    tests = [_is(each) for each in value]
    return lambda found: any(test(found) for test in tests)


def _has(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    test = _is(value)
    return lambda found: isinstance(found, list) and any(test(each) for each in found)


def _at_least(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    wanted = _number(value)
    return lambda found: _kind(found) is float and found >= wanted


def _below(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    wanted = _number(value)
    return lambda found: _kind(found) is float and found < wanted


def _unknown_operator(_: object) -> ValueTest:
    raise _fault("The tests are `is`, `in`, `has`, `at_least`, `below` and `exists`.")


_TESTS: dict[str, Callable[[Any], ValueTest]] = {
    "is": _is,
    "in": _in,
    "has": _has,
    "at_least": _at_least,
    "below": _below,
}


def _kind(value: object) -> type | None:
    """True is not 1, and 1 is 1.0."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float):
        return float
    return str if isinstance(value, str) else None


def _number(value: Any) -> float:  # noqa: ANN401 - any JSON
    if _kind(value) is not float:
        raise _fault("`at_least` and `below` take a number.")
    number: float = value
    return number


def _fault(why: str) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, f"The predicate can't be used. {why}")
