"""The workload that a plan is for, and what the plan says. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

DAY_S = 86_400
DAYS_PER_MONTH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What users do. Amounts are per user and day, shares are between 0 and 1.

    `connected_share`: of messages, those whose recipient is connected. `read_share`: of these, those that a direct chat
    on the recipient's screen reads at once; `group_read_share` likewise. `per_minute`: messages of a chat in a minute in
    which it is active; acks and unread counts of such messages are gathered. `in_a_row`: messages that a user
    sends in a chat while a gateway has its log cached. `broadcasts` are those of the installation.
    """

    daily_users: int
    messages: float = 100
    message_bytes: int = 240
    direct_share: float = 0.7
    group_members: int = 10
    large_group_members: int = 1_000
    large_group_share: float = 0.02
    without_position_share: float = 0.0
    per_minute: float = 4
    in_a_row: float = 5
    devices: float = 1.5
    connects: float = 8
    connected_share: float = 0.3
    read_share: float = 0.3
    group_read_share: float = 0.05
    chat_opens: float = 20
    list_opens: float = 5
    direct_chats: float = 20
    groups: float = 5
    new_chats: float = 0.1
    notifications: float = 2
    broadcasts: float = 1
    attachment_share: float = 0.05
    attachment_bytes: int = 300_000
    retention_days: int | None = None
    months: int = 12
    peak_factor: float = 3
    busiest_chat_per_s: float = 1
    has_standby: bool = False

    @property
    def chats(self) -> float:
        return self.direct_chats + self.groups

    @property
    def messages_per_day(self) -> float:
        return self.daily_users * self.messages

    @property
    def peak_messages_per_s(self) -> float:
        return self.per_s(self.messages_per_day)

    @property
    def connections(self) -> float:
        """Open connections at the peak: no more than there are devices."""
        share = min(1.0, self.connected_share * self.peak_factor)
        return self.daily_users * self.devices * share

    @property
    def kept_days(self) -> int:
        """How many days of messages are stored."""
        return min(self.retention_days or self.months * DAYS_PER_MONTH, self.months * DAYS_PER_MONTH)

    def per_s(self, per_day: float) -> float:
        """Return the rate at the peak."""
        return per_day / DAY_S * self.peak_factor


SCENARIOS: Mapping[str, Workload] = {
    "10k": Workload(daily_users=10_000),
    "1m": Workload(daily_users=1_000_000),
    "100m": Workload(daily_users=100_000_000),
}
"""100 messages a day as in the first data-model document. At 100 million users that is 350,000 messages a second."""


@dataclass(frozen=True, slots=True)
class OperationLoad:
    """An operation, how often it happens in a month, and its units in total."""

    name: str
    per_month: float
    write_units: float
    read_units: float


@dataclass(frozen=True, slots=True)
class TableLoad:
    """Units of a table per second at the peak and in a month, and what it stores. Indexes are rows of their own."""

    table: str
    write_per_s: float
    read_per_s: float
    month_writes: float
    month_reads: float
    storage_gb: float
    partitions: int
    on_demand: Decimal
    provisioned: Decimal
    storage: Decimal


@dataclass(frozen=True, slots=True)
class HotKey:
    """The busiest partition key of a table, in units per second."""

    key: str
    write_per_s: float
    read_per_s: float


@dataclass(frozen=True, slots=True)
class ProcessLoad:
    """Processes of one kind. `bound_by` is what determines their number."""

    kind: str
    count: int
    cores: float
    memory_gb: float
    bound_by: str


@dataclass(frozen=True, slots=True)
class KafkaLoad:
    partitions: str
    partition_replicas: int
    brokers: int
    in_mb_s: float
    disk_gb: float
    bound_by: str


@dataclass(frozen=True, slots=True)
class RedisLoad:
    shards: int
    memory_gb: float
    cores: float
    bound_by: str


@dataclass(frozen=True, slots=True)
class FleetLoad:
    processes: tuple[ProcessLoad, ...]
    kafka: KafkaLoad
    redis: RedisLoad


@dataclass(frozen=True, slots=True)
class CostLine:
    what: str
    dollars: Decimal


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """A limit that the workload comes close to or exceeds, and what lifts it."""

    limit: str
    planned: str
    lever: str


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    workload: Workload
    messages_per_s: float
    connections: float
    operations: tuple[OperationLoad, ...]
    tables: tuple[TableLoad, ...]
    hot_keys: tuple[HotKey, ...]
    fleet: FleetLoad
    costs: tuple[CostLine, ...]
    dollars_per_month: Decimal
    dollars_per_million_messages: Decimal
    warnings: tuple[PlanWarning, ...]
