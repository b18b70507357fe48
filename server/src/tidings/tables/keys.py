"""How key values are spelled: templates of parts between `#`, the tenant first.

`#` and `*` are refused inside a part, so that two different lists of parts never spell the same key.
"""

import string
from dataclasses import dataclass

from tidings.tables.limits import PART_BYTES, PART_DIGITS

REFUSED_IN_PARTS = frozenset("#*")
RESERVED = "_"
"""Names of tenants that start with it are the installation's own."""


class KeyPartError(ValueError):
    """A part that would change the shape of the key it is put into."""


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """`{tenant}#{chat}`: what stands in braces is a part, the rest stands for itself."""

    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(name for _, name, _, _ in string.Formatter().parse(self.text) if name)

    def render(self, **parts: str | int) -> str:
        """Spell the key; raises `KeyPartError` for a part that is empty, too long or holds `#` or `*`."""
        if parts.keys() != set(self.parts):
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
    elif REFUSED_IN_PARTS & set(value):
        raise KeyPartError(f"{name}: `#` and `*` are not allowed in {value!r}")


def _check_number(name: str, value: str | int) -> None:
    if not isinstance(value, int) or not 0 <= value < 10 ** PART_DIGITS[name]:
        raise KeyPartError(f"{name}: expected a number of at most {PART_DIGITS[name]} digits")
