from decimal import Decimal

from tidings.schema.tables import pricing
from tidings.schema.tables.declaration import IDEMPOTENCY_KEYS, MESSAGES, USER_KEYS, USERS
from tidings.schema.tables.model import CapacityUnits, TableClass


def test_provisioned_capacity_is_paid_by_the_hour_with_its_indexes() -> None:
    # 40 + 5 read units at $0.00013, 5 + 5 write units at $0.00065, 730 hours
    assert pricing.provisioned_cost_month(USERS) == (45 * Decimal("0.00013") + 10 * Decimal("0.00065")) * 730


def test_capacity_that_was_raised_costs_what_it_is_raised_to() -> None:
    more = pricing.provisioned_cost_month(USERS, CapacityUnits(1040, 5)) - pricing.provisioned_cost_month(
        USERS
    )
    assert more == 1000 * Decimal("0.00013") * 730


def test_on_demand_capacity_has_no_hourly_cost() -> None:
    assert pricing.provisioned_cost_month(MESSAGES) == 0


def test_a_stored_gigabyte_costs_storage_and_recovery() -> None:
    assert pricing.gb_month(MESSAGES) == Decimal("0.45")
    assert pricing.storage_cost_month(MESSAGES, 2 * 10**9) == Decimal("0.90")


def test_a_day_in_warm_storage_and_ninety_in_cold_storage_are_paid_for_each_daily_backup() -> None:
    assert pricing.backups_gb_month(MESSAGES) == Decimal("0.10") + 90 * Decimal("0.03")
    assert pricing.backups_gb_month(MESSAGES, every_days=7) == Decimal("0.40")


def test_tables_without_daily_backups_cost_none() -> None:
    assert pricing.backups_gb_month(IDEMPOTENCY_KEYS) == pricing.backups_gb_month(USER_KEYS) == 0


def test_every_table_class_has_prices() -> None:
    assert set(pricing.PRICES) == set(TableClass)


def test_infrequent_access_pays_from_about_a_gigabyte_per_million_writes() -> None:
    """The claim of the tables page."""
    often, seldom = pricing.PRICES[TableClass.STANDARD], pricing.PRICES[TableClass.INFREQUENT_ACCESS]
    dearer = seldom.million_writes - often.million_writes
    saved = often.storage_gb_month - seldom.storage_gb_month
    assert Decimal("0.9") < dearer / saved < Decimal("1.1")
