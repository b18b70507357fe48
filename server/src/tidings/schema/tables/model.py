"""Tables as data: keys, items, indexes, capacity.

A key value is a template of parts between `#`, the tenant first. `#` and `*` are not allowed inside a part, so that two
different lists of parts never give the same key.
"""

import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.tables.limits import PART_BYTES, PART_DIGITS, AttributeLimits, NumberLimit, max_item_bytes

REFUSED_IN_PARTS = frozenset("#*")
RESERVED = "_"
"""Prefix of tenant names that the installation itself uses."""


class KeyPartError(TidingsError):
    """A part that is not allowed in a key."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.REQUEST_INVALID, message)


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """A key with parts in braces, such as `{tenant}#{chat}`."""

    text: str
    parts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(name for _, name, _, _ in string.Formatter().parse(self.text) if name)
        object.__setattr__(self, "parts", names)

    def render(self, **parts: str | int) -> str:
        """Return the key. Raises `KeyPartError` for a part that is empty, too long or contains `#` or `*`."""
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


class KeyType(StrEnum):
    TEXT = "S"
    NUMBER = "N"


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    name: str
    type: KeyType = KeyType.TEXT


class Projection(StrEnum):
    ALL = "ALL"
    KEYS_ONLY = "KEYS_ONLY"


class StreamView(StrEnum):
    NEW_IMAGE = "NEW_IMAGE"
    OLD_IMAGE = "OLD_IMAGE"
    NEW_AND_OLD_IMAGES = "NEW_AND_OLD_IMAGES"
    KEYS_ONLY = "KEYS_ONLY"


class TableClass(StrEnum):
    STANDARD = "STANDARD"
    INFREQUENT_ACCESS = "STANDARD_INFREQUENT_ACCESS"


class Backup(StrEnum):
    """Every table has point-in-time recovery. A critical one also has daily backups and a standby region.

    `short`: a standby region, but no copy that is older than a week, so that a destroyed key exists nowhere after that.
    """

    CRITICAL = "critical"
    EPHEMERAL = "ephemeral"
    SHORT = "short"

    @property
    def has_daily_backups(self) -> bool:
        return self is Backup.CRITICAL

    @property
    def has_standby(self) -> bool:
        return self is not Backup.EPHEMERAL

    @property
    def pitr_days(self) -> int:
        return SHORT_PITR_DAYS if self is Backup.SHORT else PITR_DAYS


PITR_DAYS = 35
SHORT_PITR_DAYS = 7
DAILY_BACKUP_WARM_DAYS = 1
DAILY_BACKUP_COLD_DAYS = 90
"""AWS Backup keeps a backup in cold storage for at least this time."""
DAILY_BACKUP_RETENTION_DAYS = DAILY_BACKUP_WARM_DAYS + DAILY_BACKUP_COLD_DAYS


@dataclass(frozen=True, slots=True)
class CapacityUnits:
    """Provisioned capacity, per second."""

    read: int
    write: int

    def at_least(self, other: "CapacityUnits") -> bool:
        return self.read >= other.read and self.write >= other.write

    def raised_to(self, other: "CapacityUnits") -> "CapacityUnits":
        return CapacityUnits(max(self.read, other.read), max(self.write, other.write))

    def times(self, factor: int) -> "CapacityUnits":
        return CapacityUnits(self.read * factor, self.write * factor)


SCALING_FACTOR = 10
"""Auto scaling may raise capacity to ten times the declared units: the load that `just bench api` runs with."""


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """The load of 10,000 daily users with 100 messages each, from the first data-model document."""

    reads_per_s: float
    writes_per_s: float
    storage_gb: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How many items can share a partition key: `most`, or None without a bound.

    `measured_by` is the metric of a collection without a bound; it gets an alarm (`pricing.table_alarms`).
    """

    why: str
    most: int | None = None
    measured_by: str = ""


ALONE = Growth("one item for each key", 1)


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index. `units` apply only while its table is provisioned."""

    name: str
    partition: KeyAttribute
    template: KeyTemplate
    projection: Projection
    units: CapacityUnits
    why: str
    growth: Growth
    sort: KeyAttribute | None = None

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return (self.partition,) if self.sort is None else (self.partition, self.sort)


@dataclass(frozen=True, slots=True)
class TableItem:
    """A kind of item: its keys, its attributes, its maximum size.

    `growth` says how many of them share a partition key; more than one only if the table has a sort key.
    """

    name: str
    partition: KeyTemplate
    sort: KeyTemplate | NumberLimit | None
    attributes: AttributeLimits
    max_bytes: int
    holds: str
    growth: Growth = ALONE


@dataclass(frozen=True, slots=True)
class Ttl:
    attribute: str
    keeps: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `units` None: on demand, each request is paid. `scales_to`: if ten times `units` is not enough."""

    name: str
    partition: KeyAttribute
    items: tuple[TableItem, ...]
    backup: Backup
    why: str
    capacity_why: str
    sort: KeyAttribute | None = None
    units: CapacityUnits | None = None
    scales_to: CapacityUnits | None = None
    load: ExpectedLoad | None = None
    indexes: tuple[Index, ...] = ()
    ttl: Ttl | None = None
    stream: StreamView | None = None
    table_class: TableClass = TableClass.STANDARD
    is_deletion_protected: bool = True
    has_pitr: bool = True

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @property
    def key_attributes(self) -> dict[str, KeyType]:
        """Every attribute of a key of the table or an index; DynamoDB requires their definitions."""
        keys = [*self.keys, *(key for index in self.indexes for key in index.keys)]
        return {key.name: key.type for key in keys}

    @property
    def highest_units(self) -> CapacityUnits | None:
        """Return the upper bound of auto scaling. `units` is the lower one. None: on demand."""
        return self.scales_to or (self.units and self.units.times(SCALING_FACTOR))

    @property
    def max_item_bytes(self) -> int:
        return max(item.max_bytes for item in self.items)


def largest_item_bytes(table: Table, item: TableItem) -> int:
    """Return the size of an item when every attribute has its maximum size."""
    sort_bytes = 0 if item.sort is None or table.sort is None else len(table.sort.name) + item.sort.max_bytes
    partition_bytes = len(table.partition.name) + item.partition.max_bytes
    return partition_bytes + sort_bytes + max_item_bytes(item.attributes)


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """The items under one value of a partition key, of a table or an index.

    `max_bytes` is the size with the declared maximum number and size of every kind. None: no bound, and `measured_by`
    names the metrics that measure it.
    """

    name: str
    max_bytes: int | None
    measured_by: frozenset[str]


def item_collections(table: Table) -> Iterator[ItemCollection]:
    """Return the item collections of the table and of each index."""
    by_key: dict[str, list[tuple[TableItem, Growth]]] = {}
    for item in table.items:
        by_key.setdefault(item.partition.text, []).append((item, item.growth))
    for text, kinds in by_key.items():
        yield _item_collection(table, f"{table.name} {text}", kinds)
    for index in table.indexes:
        shown = [item for item in table.items if index.partition.name in _attribute_names(table, item)]
        yield _item_collection(
            table, f"{index.name} {index.template.text}", [(item, index.growth) for item in shown]
        )


def _item_collection(table: Table, name: str, kinds: list[tuple[TableItem, Growth]]) -> ItemCollection:
    unbounded = frozenset(growth.measured_by for _, growth in kinds if growth.most is None)
    size = sum(largest_item_bytes(table, item) * (growth.most or 0) for item, growth in kinds)
    return ItemCollection(name, None if unbounded else size, unbounded)


def _attribute_names(table: Table, item: TableItem) -> set[str]:
    return {key.name for key in table.keys} | set(item.attributes)
