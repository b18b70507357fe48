"""Every declared table, and every kind of row, has a rule by which the deletion of a tenant finds it."""

from tidings.erasure.tenant_rules import RULES, RowRule
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.patterns import tenant_deletion


def test_every_item_of_every_table_has_a_rule() -> None:
    declared = {table.name: {item.name for item in table.items} for table in TABLES}
    assert {table: set(rules) for table, rules in RULES.items()} == declared


def test_rows_that_no_row_leads_to_expire() -> None:
    for table in TABLES:
        for item in table.items:
            if RULES[table.name][item.name] is RowRule.EXPIRES:
                assert table.ttl is not None, f"{table.name}: {item.name}"
                assert table.ttl.attribute in item.attributes, f"{table.name}: {item.name}"


def test_only_tables_without_deleted_rows_have_no_patterns() -> None:
    kept = {table for table, rules in RULES.items() if {RowRule.KEPT, RowRule.SYSTEM} >= set(rules.values())}
    assert kept == tenant_deletion.KEPT
    assert set(tenant_deletion.LISTS) == set(tenant_deletion.DELETES) == set(RULES) - kept
