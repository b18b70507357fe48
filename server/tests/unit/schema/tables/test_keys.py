"""Keys: the tenant is first, and two different lists of parts never give the same key."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from unit.schema.tables.largest import any_parts

from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.model import KeyPartError, KeyTemplate, Table

OF_THE_INSTALLATION = {
    "_system",
    "_system#backlogs",
    "_system#dead_letters",
    "_system#deleted_tenants",
    "_system#disabled",
    "_system#operator_sessions",
    "_system#revoked",
    "_system#{month}",
    "_system#{lease}",
    "_system#relay#{stream_shard}",
    "t#_Q#{shard}",
}


def partitions(table: Table) -> list[KeyTemplate]:
    return [KeyTemplate(text) for text in sorted({item.partition.text for item in table.items})]


def of_indexes(table: Table) -> list[KeyTemplate]:
    return [index.template for index in table.indexes]


def tenant_of(key: str, table: Table) -> str:
    """Parse a key without its template."""
    parts = key.split("#")
    if table.name != "inbox":
        return parts[0]
    return parts[1] if len(parts) == 2 else parts[1][:-1]


KEYS = [(table, template) for table in TABLES for template in [*partitions(table), *of_indexes(table)]]
OF_TENANTS = [(table, template) for table, template in KEYS if template.text not in OF_THE_INSTALLATION]
IDS = [f"{table.name}: {template.text}" for table, template in OF_TENANTS]


@pytest.mark.parametrize(("table", "template"), OF_TENANTS, ids=IDS)
@settings(max_examples=30)
@given(data=st.data())
def test_the_tenant_can_be_read_from_every_partition_key(
    table: Table, template: KeyTemplate, data: st.DataObject
) -> None:
    parts = data.draw(any_parts(template))
    assert tenant_of(template.render(**parts), table) == parts["tenant"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@settings(max_examples=50)
@given(data=st.data())
def test_different_parts_never_make_the_same_key(table: Table, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(partitions(table))) for _ in range(2))
    parts, others = data.draw(any_parts(one)), data.draw(any_parts(other))
    assume((one, parts) != (other, others))
    assert one.render(**parts) != other.render(**others)


@pytest.mark.parametrize(("table", "template"), OF_TENANTS, ids=IDS)
def test_every_partition_key_starts_with_the_tenant(table: Table, template: KeyTemplate) -> None:
    start = "t#{tenant}" if table.name == "inbox" else "{tenant}"
    assert template.text.startswith(start)
    assert template.text.removeprefix(start)[:1] in {"", "#"} or table.name == "inbox"


def test_only_the_installations_own_keys_have_no_tenant() -> None:
    every = {template.text for _, template in KEYS}
    assert {text for text in every if "{tenant}" not in text} == OF_THE_INSTALLATION
    assert all(text.removeprefix("t#").startswith("_") for text in OF_THE_INSTALLATION)


@pytest.mark.parametrize(
    "chat", ["", "a#b", "a*", "x" * 65, "é" * 33, 7], ids=["empty", "hash", "star", "long", "bytes", "number"]
)
def test_a_part_that_would_change_the_key_is_refused(chat: str | int) -> None:
    with pytest.raises(KeyPartError):
        KeyTemplate("{tenant}#{chat}").render(tenant="acme", chat=chat)


def test_reserved_tenants_are_refused() -> None:
    with pytest.raises(KeyPartError, match="reserved"):
        KeyTemplate("{tenant}").render(tenant="_system")


def test_missing_and_unknown_parts_are_refused() -> None:
    with pytest.raises(KeyPartError):
        KeyTemplate("{tenant}#{chat}").render(tenant="acme")
    with pytest.raises(KeyPartError):
        KeyTemplate("{tenant}").render(tenant="acme", chat="c")


def test_numbers_are_padded_to_sort_and_refused_if_they_would_not() -> None:
    template = KeyTemplate("b#{sequence:012d}")
    assert template.render(sequence=7) == "b#000000000007"
    for number in (-1, 10**12):
        with pytest.raises(KeyPartError):
            template.render(sequence=number)
