"""What a table is, as data: keys, items, indexes, capacity, backup."""

from dataclasses import dataclass
from enum import StrEnum

from tidings.tables.bounds import AttributeLimits, NumberLimit, max_item_bytes
from tidings.tables.keys import KeyTemplate


class KeyType(StrEnum):
    TEXT = "S"
    NUMBER = "N"


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """A key attribute."""

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
    """Every table has point-in-time recovery. A critical one has daily backups and a standby region too."""

    CRITICAL = "critical"
    EPHEMERAL = "ephemeral"

    @property
    def has_daily_backups(self) -> bool:
        return self is Backup.CRITICAL

    @property
    def has_standby(self) -> bool:
        return self is Backup.CRITICAL


PITR_DAYS = 35
DAILY_BACKUP_RETENTION_DAYS = 90


@dataclass(frozen=True, slots=True)
class CapacityUnits:
    """Provisioned capacity, per second."""

    read: int
    write: int

    def at_least(self, other: "CapacityUnits") -> bool:
        return self.read >= other.read and self.write >= other.write

    def raised_to(self, other: "CapacityUnits") -> "CapacityUnits":
        return CapacityUnits(max(self.read, other.read), max(self.write, other.write))


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """What the first data-model document expects: 10,000 daily users, 100 messages each."""

    reads_per_s: float
    writes_per_s: float
    storage_gb: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How many items can share a partition key: `most`, or no bound at all.

    A collection without a bound names the metric that measures it, and gets an alarm on it (`alarms.py`).
    """

    why: str
    most: int | None = None
    measured_by: str = ""


ALONE = Growth("one item for each key", 1)


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index. `units` only matter while its table is provisioned."""

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
    """A kind of item: how its key is spelled, what it may hold, how large it can become.

    `growth` says how many of them share a partition key; more than one only where the table has a sort key.
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
    """One table. `units` is None where requests are paid one by one (on demand)."""

    name: str
    partition: KeyAttribute
    items: tuple[TableItem, ...]
    backup: Backup
    why: str
    capacity_why: str
    sort: KeyAttribute | None = None
    units: CapacityUnits | None = None
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
        """Every attribute that a key of the table or of an index uses: what DynamoDB wants defined."""
        keys = [*self.keys, *(key for index in self.indexes for key in index.keys)]
        return {key.name: key.type for key in keys}

    @property
    def max_item_bytes(self) -> int:
        return max(item.max_bytes for item in self.items)


def largest_item_bytes(table: Table, item: TableItem) -> int:
    """The size of the item when every attribute is as full as it may be."""
    sort_bytes = 0 if item.sort is None or table.sort is None else len(table.sort.name) + item.sort.max_bytes
    partition_bytes = len(table.partition.name) + item.partition.max_bytes
    return partition_bytes + sort_bytes + max_item_bytes(item.attributes)
