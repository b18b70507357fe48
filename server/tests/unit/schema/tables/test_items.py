"""item_size_bounded: whatever the bounds allow, an item stays far below DynamoDB's 400 KB."""

import pytest
from fixtures.encoded_sizes import MAX_ITEM_BYTES, item_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unit.schema.tables.largest import any_item, largest_item

from tidings.platform.dynamo.item_size import write_units
from tidings.schema.tables.declaration import BY_NAME, TABLES
from tidings.schema.tables.items import chat_lists, chats, inboxes
from tidings.schema.tables.model import Table, TableItem, largest_item_bytes

KINDS = [(table, item) for table in TABLES for item in table.items]
IDS = [f"{table.name}: {item.name}" for table, item in KINDS]


@pytest.mark.parametrize(("table", "item"), KINDS, ids=IDS)
def test_the_largest_item_is_within_its_bound(table: Table, item: TableItem) -> None:
    size = item_bytes(largest_item(table, item))
    assert size == largest_item_bytes(table, item)
    assert size <= item.max_bytes


@pytest.mark.parametrize(("table", "item"), KINDS, ids=IDS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_no_item_is_larger_than_the_largest(table: Table, item: TableItem, data: st.DataObject) -> None:
    wire = data.draw(any_item(table, item))
    assert item_bytes(wire) <= largest_item_bytes(table, item)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_item_has_half_of_the_limit_free(table: Table) -> None:
    assert table.max_item_bytes < MAX_ITEM_BYTES / 2


@pytest.mark.parametrize(
    ("item", "most"),
    [
        (chats.MESSAGE, 5 * 1024),
        (BY_NAME["users"].items[0], 2 * 1024),
        (chats.CHAT_ROW, 1024),
        (chats.MEMBERSHIP, 512),
        (chats.COUNTER, 1024),
        (chats.IDEMPOTENCY_KEY, 1024),
        (chat_lists.CHAT_LIST_ROW, 1024),
        (BY_NAME["sessions"].items[0], 1024),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_items_are_as_small_as_the_first_data_model_document_says(item: TableItem, most: int) -> None:
    assert item.max_bytes <= most


@pytest.mark.parametrize(
    ("table", "item"),
    [
        ("delivery_state", chat_lists.CHAT_LIST_ROW),
        ("delivery_state", chat_lists.QUIET_ROW),
        ("chat_counters", chats.COUNTER),
        ("idempotency_keys", chats.IDEMPOTENCY_KEY),
        ("chat_memberships", chats.MEMBERSHIP),
        ("inbox", inboxes.DIRECT),
        ("inbox", inboxes.BROADCAST_ENTRY),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_items_counted_as_one_write_unit_always_cost_one(table: str, item: TableItem) -> None:
    assert write_units(item_bytes(largest_item(BY_NAME[table], item))) == 1
