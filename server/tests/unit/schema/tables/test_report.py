from dataclasses import replace
from decimal import Decimal

from unit.schema.tables.observed_tables import PREFIX, as_declared

from tidings.schema.plan import Severity
from tidings.schema.tables.apply import format_price, plan_lines
from tidings.schema.tables.declaration import MESSAGES, TABLES, USERS
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.diff import TableAspect, TablesPlan, plan_tables
from tidings.schema.tables.model import CapacityUnits, KeyAttribute


def text(shown: TablesPlan) -> str:
    return "\n".join(line.text for line in plan_lines(shown))


def planned(*seen: ObservedTable, not_known: frozenset[TableAspect] = frozenset()) -> TablesPlan:
    return plan_tables(TABLES, {each.name: each for each in seen}, prefix=PREFIX, not_known=not_known)


def test_a_fresh_installation_shows_new_tables_and_their_cost() -> None:
    shown = text(planned())
    assert "20 create" in shown
    assert "keys chat_id (S), sequence (N); TTL expires_at; stream NEW_AND_OLD_IMAGES" in shown
    assert "provisioned: $38.91 a month" in shown
    assert "$0.625 per million writes, $0.125 per million reads" in shown
    assert "list prices of us-east-1, valid since 2024-11-01" in shown


def test_a_change_shows_before_and_after_and_what_to_expect() -> None:
    shown = text(planned(replace(as_declared(USERS), units=None)))
    assert "capacity: on demand → 40 read, 5 write (requests above this will be throttled)" in shown


def test_an_unchanged_table_is_shown_with_its_monthly_cost() -> None:
    assert "2.00 GB stored: $0.90 a month" in text(planned(as_declared(MESSAGES)))


def test_capacity_that_was_raised_is_counted_as_raised() -> None:
    shown = text(planned(replace(as_declared(USERS), units=CapacityUnits(1040, 5))))
    assert "1040 read, 5 write: $103.92 a month" in shown


def test_destructive_changes_are_highlighted() -> None:
    shown = list(plan_lines(planned(replace(as_declared(MESSAGES), keys=(KeyAttribute("id"),)))))
    bad = [line.text for line in shown if line.tone is Severity.BAD]
    assert any("REFUSED" in line for line in bad)
    assert any("tidings-messages: its 1,234 items" in line for line in bad)


def test_unsupported_aspects_are_listed() -> None:
    shown = text(planned(not_known=frozenset({TableAspect.TAGS, TableAspect.PITR})))
    assert "Not supported by this engine and not compared: tags, point-in-time recovery." in shown
    assert "Not supported" not in text(planned())


def test_prices_are_shown_to_their_last_digit() -> None:
    shown = [format_price(Decimal(each)) for each in ("0.625", "0.10", "0.00013", "9.00", "10")]
    assert shown == ["$0.625", "$0.10", "$0.00013", "$9.00", "$10.00"]
