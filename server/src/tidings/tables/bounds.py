"""How much an attribute may hold. Sizes are by the rules of `platform.dynamo.sizes`, which a test compares."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidings.tables.limits import MS_DIGITS, SECONDS_DIGITS, SEQUENCE_DIGITS, TIME_BYTES

# as in `platform.dynamo.sizes`, which a model may not import
COLLECTION_BYTES = 3
ELEMENT_BYTES = 1


@dataclass(frozen=True, slots=True)
class Text:
    bytes_: int

    @property
    def max_bytes(self) -> int:
        return self.bytes_


@dataclass(frozen=True, slots=True)
class Blob:
    bytes_: int

    @property
    def max_bytes(self) -> int:
        return self.bytes_


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number, never negative: sequences, counts, times."""

    digits: int

    @property
    def max_bytes(self) -> int:
        return -(-self.digits // 2) + 1


@dataclass(frozen=True, slots=True)
class Flag:
    @property
    def max_bytes(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set of texts or of numbers."""

    count: int
    of: Text | Number

    @property
    def max_bytes(self) -> int:
        return self.count * self.of.max_bytes


@dataclass(frozen=True, slots=True)
class ListOf:
    count: int
    of: "Bound"

    @property
    def max_bytes(self) -> int:
        return COLLECTION_BYTES + self.count * (ELEMENT_BYTES + self.of.max_bytes)


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map with names that data brings: at most `count`, each of at most `name_bytes`."""

    count: int
    name_bytes: int
    of: "Bound"

    @property
    def max_bytes(self) -> int:
        return COLLECTION_BYTES + self.count * (ELEMENT_BYTES + self.name_bytes + self.of.max_bytes)


type Bound = Text | Blob | Number | Flag | SetOf | ListOf | MapOf
type Attributes = Mapping[str, Bound]

SEQUENCE = Number(SEQUENCE_DIGITS)
TIME = Text(TIME_BYTES)
SECONDS = Number(SECONDS_DIGITS)
MS = Number(MS_DIGITS)


def attributes_bytes(attributes: Attributes) -> int:
    return sum(len(name.encode()) + bound.max_bytes for name, bound in attributes.items())
