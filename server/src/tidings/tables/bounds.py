"""How much an attribute may hold. Sizes are by the rules of `platform.dynamo.sizes`, which a test compares."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidings.tables.limits import MS_DIGITS, SECONDS_DIGITS, SEQUENCE_DIGITS, TIME_BYTES

# as in `platform.dynamo.sizes`, which a model may not import
COLLECTION_BYTES = 3
ELEMENT_BYTES = 1


@dataclass(frozen=True, slots=True)
class TextLimit:
    bytes_: int

    @property
    def max_bytes(self) -> int:
        return self.bytes_


@dataclass(frozen=True, slots=True)
class BlobLimit:
    bytes_: int

    @property
    def max_bytes(self) -> int:
        return self.bytes_


@dataclass(frozen=True, slots=True)
class NumberLimit:
    """A whole number, never negative: sequences, counts, times."""

    digits: int

    @property
    def max_bytes(self) -> int:
        return -(-self.digits // 2) + 1


@dataclass(frozen=True, slots=True)
class FlagLimit:
    @property
    def max_bytes(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class SetLimit:
    """A set of texts or of numbers."""

    count: int
    of: TextLimit | NumberLimit

    @property
    def max_bytes(self) -> int:
        return self.count * self.of.max_bytes


@dataclass(frozen=True, slots=True)
class ListLimit:
    count: int
    of: "AttributeLimit"

    @property
    def max_bytes(self) -> int:
        return COLLECTION_BYTES + self.count * (ELEMENT_BYTES + self.of.max_bytes)


@dataclass(frozen=True, slots=True)
class MapLimit:
    """A map with names that data brings: at most `count`, each of at most `name_bytes`."""

    count: int
    name_bytes: int
    of: "AttributeLimit"

    @property
    def max_bytes(self) -> int:
        return COLLECTION_BYTES + self.count * (ELEMENT_BYTES + self.name_bytes + self.of.max_bytes)


type AttributeLimit = TextLimit | BlobLimit | NumberLimit | FlagLimit | SetLimit | ListLimit | MapLimit
type AttributeLimits = Mapping[str, AttributeLimit]

SEQUENCE = NumberLimit(SEQUENCE_DIGITS)
TIME = TextLimit(TIME_BYTES)
SECONDS = NumberLimit(SECONDS_DIGITS)
MS = NumberLimit(MS_DIGITS)


def max_item_bytes(attributes: AttributeLimits) -> int:
    return sum(len(name.encode()) + bound.max_bytes for name, bound in attributes.items())
