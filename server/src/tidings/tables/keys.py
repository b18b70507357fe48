"""How key values are spelled: templates of parts between `#`, the tenant first.

`#` and `*` are refused inside a part, so that two different lists of parts never spell the same key.
"""

import string
from dataclasses import dataclass, field

from tidings.kernel.errors import Code, TidingsError
from tidings.tables.limits import PART_BYTES, PART_DIGITS

REFUSED_IN_PARTS = frozenset("#*")
RESERVED = "_"
"""Names of tenants that start with it are the installation's own."""


class KeyPartError(TidingsError):
    """A part that would change the shape of the key it is put into."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.REQUEST_INVALID, message)


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """`{tenant}#{chat}`: what stands in braces is a part, the rest stands for itself."""

    text: str
    parts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(name for _, name, _, _ in string.Formatter().parse(self.text) if name)
        object.__setattr__(self, "parts", names)

    def render(self, **parts: str | int) -> str:
        """Spell the key; raises `KeyPartError` for a part that is empty, too long or holds `#` or `*`."""
        if len(parts) != len(self.parts) or any(name not in parts for name in self.parts):
            raise KeyPartError(f"{self.text} takes {self.parts}, not {tuple(parts)}")
        for name, value in parts.items():
            _check_part(name, value)
        return self.text.format(**parts)

    def largest_parts(self) -> dict[str, str | int]:
        return {
            name: 10 ** PART_DIGITS[name] - 1 if name in PART_DIGITS else "x" * PART_BYTES[name]
            for name in self.parts
        }

    @property
    def max_bytes(self) -> int:
        return len(self.text.format(**self.largest_parts()))


def _check_part(name: str, value: str | int) -> None:
    if name in PART_DIGITS:
        _check_number(name, value)
    elif not isinstance(value, str) or not 0 < len(value.encode()) <= PART_BYTES[name]:
        raise KeyPartError(f"{name}: expected text of 1 to {PART_BYTES[name]} bytes")
    elif name == "tenant" and value.startswith(RESERVED):
        raise KeyPartError(f"tenant: names that start with {RESERVED} are reserved, not {value!r}")
    elif not REFUSED_IN_PARTS.isdisjoint(value):
        raise KeyPartError(f"{name}: `#` and `*` are not allowed in {value!r}")


def _check_number(name: str, value: str | int) -> None:
    if not isinstance(value, int) or not 0 <= value < 10 ** PART_DIGITS[name]:
        raise KeyPartError(f"{name}: expected a number of at most {PART_DIGITS[name]} digits")
