"""What tables cost: AWS's list prices as data, and sums over them. Pure.

Savings plans, reserved capacity, free tiers, data transfer and the standby region are left out.
"""

from dataclasses import dataclass
from decimal import Decimal

from tidings.tables.model import DAILY_BACKUP_RETENTION_DAYS, CapacityUnits, Table, TableClass

REGION = "us-east-1"
SINCE = "2024-11-01"
"""The day these prices came into force. They are AWS's list prices, not anybody's bill."""

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


def provisioned_cost_month(table: Table, units: CapacityUnits | None = None) -> Decimal:
    """A month of provisioned capacity, indexes included; nothing on demand. `units`: if more than declared."""
    if table.units is None:
        return Decimal(0)
    held = [units or table.units, *(index.units for index in table.indexes)]
    return sum((_units_month(each, PRICES[table.table_class]) for each in held), Decimal(0))


def gb_month(table: Table) -> Decimal:
    """A month of one GB in the table, with point-in-time recovery."""
    return PRICES[table.table_class].storage_gb_month + (PITR_GB_MONTH if table.has_pitr else 0)


def backups_gb_month(table: Table) -> Decimal:
    """A month of the daily backups of one GB. Each is a full copy, and every day of the retention has one."""
    return BACKUP_GB_MONTH * DAILY_BACKUP_RETENTION_DAYS if table.backup.has_daily_backups else Decimal(0)


def storage_cost_month(table: Table, size_bytes: int) -> Decimal:
    """A month of what the table holds now, daily backups not included."""
    return gb_month(table) * size_bytes / GB


def _units_month(units: CapacityUnits, prices: Prices) -> Decimal:
    hourly = units.read * prices.read_unit_hour + units.write * prices.write_unit_hour
    return hourly * HOURS_PER_MONTH
