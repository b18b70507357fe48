"""Costs and alarms of tables, from AWS's list prices and quotas. Pure.

Savings plans, reserved capacity, free tiers, data transfer and the standby region are not included.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from tidings.schema.tables.model import (
    DAILY_BACKUP_COLD_DAYS,
    DAILY_BACKUP_WARM_DAYS,
    CapacityUnits,
    Table,
    TableClass,
)

REGION = "us-east-1"
SINCE = "2024-11-01"
"""Since when AWS's list prices below are valid."""

HOURS_PER_MONTH = 730
GB = 10**9


@dataclass(frozen=True, slots=True)
class Prices:
    """In US dollars."""

    million_writes: Decimal
    million_reads: Decimal
    write_unit_hour: Decimal
    read_unit_hour: Decimal
    storage_gb_month: Decimal


PRICES = {
    TableClass.STANDARD: Prices(
        million_writes=Decimal("0.625"),
        million_reads=Decimal("0.125"),
        write_unit_hour=Decimal("0.00065"),
        read_unit_hour=Decimal("0.00013"),
        storage_gb_month=Decimal("0.25"),
    ),
    TableClass.INFREQUENT_ACCESS: Prices(
        million_writes=Decimal("0.78"),
        million_reads=Decimal("0.155"),
        write_unit_hour=Decimal("0.00081"),
        read_unit_hour=Decimal("0.00016"),
        storage_gb_month=Decimal("0.10"),
    ),
}
PITR_GB_MONTH = Decimal("0.20")
BACKUP_GB_MONTH = Decimal("0.10")
COLD_BACKUP_GB_MONTH = Decimal("0.03")
"""Not found in a price list; sources say a third of the warm price (docs/adr/0050-cold-backups.md)."""
RESTORE_GB = Decimal("0.15")
COLD_RESTORE_GB = Decimal("0.20")


def provisioned_cost_month(table: Table, units: CapacityUnits | None = None) -> Decimal:
    """Return the monthly price of provisioned capacity, with indexes; 0 on demand. `units`: if more than declared."""
    if table.units is None:
        return Decimal(0)
    capacities = [units or table.units, *(index.units for index in table.indexes)]
    return sum((_units_month(each, PRICES[table.table_class]) for each in capacities), Decimal(0))


def gb_month(table: Table) -> Decimal:
    """Return the monthly price of one GB in the table, with point-in-time recovery."""
    return PRICES[table.table_class].storage_gb_month + (PITR_GB_MONTH if table.has_pitr else 0)


def backups_gb_month(table: Table, every_days: int = 1) -> Decimal:
    """Return the monthly price of the backups of one GB. Each is a full copy, first in warm, then in cold storage."""
    if not table.backup.has_daily_backups:
        return Decimal(0)
    daily = BACKUP_GB_MONTH * DAILY_BACKUP_WARM_DAYS + COLD_BACKUP_GB_MONTH * DAILY_BACKUP_COLD_DAYS
    return daily / every_days


def storage_cost_month(table: Table, size_bytes: int) -> Decimal:
    """Return the monthly price of the stored data, without daily backups."""
    return gb_month(table) * size_bytes / GB


def _units_month(units: CapacityUnits, prices: Prices) -> Decimal:
    hourly = units.read * prices.read_unit_hour + units.write * prices.write_unit_hour
    return hourly * HOURS_PER_MONTH


CONSUMED_SHARE = 0.8
PERIOD_S = 60
LATENCY_P99_MS = 100
COLLECTION_BYTES = 8 * 1024**3
ON_DEMAND_QUOTA = CapacityUnits(40_000, 40_000)
"""AWS's default quota of a table on demand. The alarm is early enough to have it raised."""


class AlarmSource(StrEnum):
    CLOUDWATCH = "AWS/DynamoDB"
    TIDINGS = "Tidings"


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm when `statistic` of `metric` over `period_s` is above `threshold`."""

    metric: str
    statistic: str
    threshold: float
    per: str
    why: str
    source: AlarmSource = AlarmSource.CLOUDWATCH
    period_s: int = PERIOD_S


def table_alarms(table: Table) -> tuple[Alarm, ...]:
    return (*_consumed(table), *_THROTTLED, _LATENCY, *_collections(table))


def _consumed(table: Table) -> tuple[Alarm, ...]:
    # Not of the lower bound: auto scaling exceeds it whenever it works.
    units = table.highest_units or ON_DEMAND_QUOTA
    of = (
        "the highest capacity that auto scaling sets"
        if table.units
        else "the default quota of a table on demand"
    )
    return tuple(
        Alarm(
            f"Consumed{kind}CapacityUnits",
            "Sum",
            CONSUMED_SHARE * amount * PERIOD_S,
            "table",
            f"above {CONSUMED_SHARE:.0%} of {of} ({amount:,} a second)",
        )
        for kind, amount in (("Read", units.read), ("Write", units.write))
    )


_THROTTLED = tuple(
    Alarm(f"{kind}ThrottleEvents", "Sum", 0, "table", "any throttled request") for kind in ("Read", "Write")
)
_LATENCY = Alarm("SuccessfulRequestLatency", "p99", LATENCY_P99_MS, "operation", "slower than 100 ms")


def _collections(table: Table) -> tuple[Alarm, ...]:
    """Return an alarm for each metric of a collection without a bound."""
    metrics = dict.fromkeys(item.growth.measured_by for item in table.items if item.growth.most is None)
    return tuple(
        Alarm(
            metric,
            "Maximum",
            COLLECTION_BYTES,
            "installation",
            "a chat's log is larger than 8 GB. Without a local index DynamoDB has no limit here; the relay logs "
            "which chat it is",
            AlarmSource.TIDINGS,
        )
        for metric in metrics
    )
