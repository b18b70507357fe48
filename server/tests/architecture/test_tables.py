"""The invariants of the data model, checked on the declaration."""

import pytest
from architecture import first_data_model as asked

from tidings.schema.tables.declaration import BY_NAME, TABLES
from tidings.schema.tables.diff import show_keys
from tidings.schema.tables.items import chats, inboxes
from tidings.schema.tables.model import Backup, CapacityUnits, Index, KeyTemplate, StreamView, Table
from tidings.schema.tables.pricing import CONSUMED_SHARE, PERIOD_S, Alarm, AlarmSource, table_alarms

FIRST_TABLES = set(asked.KEYS)
ADDED_TABLES = {
    "pending_queue",
    "tenants",
    "user_keys",
    "erasures",
    "leases",
    "inbox",
    "audit",
    "webhooks",
    "devices",
    "push_results",
    "uploads",
    "reports",
}

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
every_index = pytest.mark.parametrize(
    ("table", "index"),
    [(table, index) for table in TABLES for index in table.indexes],
    ids=lambda value: value.name,
)


def test_the_tables_are_those_of_the_design() -> None:
    assert [table.name for table in TABLES] == list(BY_NAME)
    assert set(BY_NAME) == FIRST_TABLES | ADDED_TABLES


def test_keys_are_as_decided() -> None:
    added = {
        "pending_queue": "user_id (S), message_key (S)",
        "tenants": "tenant (S), item (S)",
        "user_keys": "user_id (S)",
        "erasures": "tenant (S), erasure (S)",
        "leases": "lease (S)",
        "inbox": "PK (S), SK (S)",
        "audit": "tenant_month (S), record (S)",
        "webhooks": "endpoint (S), item (S)",
        "devices": "user_id (S), item (S)",
        "push_results": "message (S), recipient (S)",
        "uploads": "tenant_shard (S), upload (S)",
        "reports": "target (S), item (S)",
    }
    assert {table.name: show_keys(table.keys) for table in TABLES} == asked.KEYS | added


def test_indexes_are_the_three_that_were_decided_and_the_review_queue() -> None:
    queue = ("reports", "review_queue-index", "queue_shard (S), queued_at (S)", "KEYS_ONLY")
    assert {
        (table.name, index.name, show_keys(index.keys), index.projection.value)
        for table in TABLES
        for index in table.indexes
    } == asked.INDEXES | {queue}


@every_index
def test_the_key_of_an_index_has_the_format_of_the_items(table: Table, index: Index) -> None:
    """So the partition key of an index starts with the tenant too."""
    if table.sort and index.partition.name == table.sort.name:
        assert all(item.sort == index.template for item in table.items)
        return
    shown = [item for item in table.items if index.partition.name in item.attributes]
    assert shown
    for item in shown:
        assert item.attributes[index.partition.name].max_bytes == index.template.max_bytes
    assert {item.name for item in table.items} - {item.name for item in shown} <= {"phone claim", "report"}


@every_table
def test_key_attributes_are_no_plain_attributes(table: Table) -> None:
    keys = {key.name for key in table.keys}
    assert all(not keys & set(item.attributes) for item in table.items)
    assert all((item.sort is None) == (table.sort is None) for item in table.items)
    number = table.sort is not None and table.sort.type == "N"
    assert all(isinstance(item.sort, KeyTemplate) != number for item in table.items if item.sort)


def test_capacity_modes_are_as_decided() -> None:
    on_demand = {table.name for table in TABLES if table.units is None}
    assert on_demand == asked.ON_DEMAND | ADDED_TABLES
    assert set(BY_NAME) - on_demand == asked.PROVISIONED


def test_the_expected_load_is_as_written() -> None:
    loads = {table.name: table.load for table in TABLES if table.load}
    assert {
        name: (load.reads_per_s, load.writes_per_s, load.storage_gb) for name, load in loads.items()
    } == asked.LOAD


@pytest.mark.parametrize("name", sorted(asked.PROVISIONED))
def test_the_expected_load_alone_raises_no_alarm(name: str) -> None:
    table = BY_NAME[name]
    assert table.units
    assert table.load
    assert table.load.reads_per_s <= CONSUMED_SHARE * table.units.read
    assert table.load.writes_per_s <= CONSUMED_SHARE * table.units.write


@every_index
def test_an_index_can_take_every_write_of_its_table(table: Table, index: Index) -> None:
    """An index that throttles delays the writes of its table."""
    assert table.units is None or index.units.write >= table.units.write


def carriers(table: Table) -> set[str]:
    assert table.ttl
    return {item.name for item in table.items if table.ttl.attribute in item.attributes}


def test_tables_that_would_grow_without_limit_expire() -> None:
    """ttl_bounded_tables."""
    expiring = {table.name for table in TABLES if table.ttl}
    assert expiring == asked.MUST_EXPIRE | {
        "messages",
        "pending_queue",
        "tenants",
        "erasures",
        "leases",
        "inbox",
        "webhooks",
        "devices",
        "push_results",
        "reports",
    }
    assert all(carriers(BY_NAME[name]) for name in expiring)


@pytest.mark.parametrize("name", sorted({*asked.MUST_EXPIRE, "pending_queue", "push_results"}))
def test_every_item_of_a_short_lived_table_expires(name: str) -> None:
    assert carriers(BY_NAME[name]) == {item.name for item in BY_NAME[name].items}


def test_an_entry_of_the_log_never_expires() -> None:
    assert carriers(BY_NAME["messages"]) == {chats.EPHEMERAL_CONTENT.name}
    assert chats.EPHEMERAL_CONTENT not in chats.LOG
    assert BY_NAME["messages"].items == (*chats.LOG, chats.EPHEMERAL_CONTENT, chats.REACTION)


def test_in_tenants_only_codes_revocations_sessions_and_marks_expire() -> None:
    assert carriers(BY_NAME["tenants"]) == {
        "one-time code",
        "revocation",
        "operator session",
        "dead-letter mark",
    }


def test_counted_items_never_expire() -> None:
    """A row that expired outside the transaction of its count would leave an unread count that never reaches zero."""
    counted = {item.name for item in (inboxes.DIRECT, inboxes.COUNTS, inboxes.STATE, inboxes.EXPIRING)}
    assert not carriers(BY_NAME["inbox"]) & counted


def test_backup_classes_are_as_decided() -> None:
    """backup_enabled."""
    by_class = {kind: {table.name for table in TABLES if table.backup is kind} for kind in Backup}
    assert by_class[Backup.CRITICAL] == asked.CRITICAL | {
        "tenants",
        "erasures",
        "inbox",
        "audit",
        "devices",
        "uploads",
        "reports",
    }
    assert by_class[Backup.SHORT] == {"user_keys"}
    assert by_class[Backup.EPHEMERAL] == asked.EPHEMERAL | {
        "pending_queue",
        "leases",
        "webhooks",
        "push_results",
    }
    assert all(table.has_pitr for table in TABLES)


@every_table
def test_critical_tables_have_deletion_protection(table: Table) -> None:
    assert table.is_deletion_protected or table.backup is Backup.EPHEMERAL


@every_table
def test_a_stream_for_a_standby_region_has_both_images(table: Table) -> None:
    """A standby region needs both images, and the view type of an existing stream cannot be changed."""
    if table.stream and table.backup.has_standby:
        assert table.stream is StreamView.NEW_AND_OLD_IMAGES


def test_only_the_log_has_a_stream_of_its_own() -> None:
    assert [table.name for table in TABLES if table.stream] == ["messages"]


def by_metric(table: Table) -> dict[str, Alarm]:
    return {alarm.metric: alarm for alarm in table_alarms(table)}


@every_table
def test_every_table_has_alarms(table: Table) -> None:
    found = by_metric(table)
    units = table.highest_units or CapacityUnits(40_000, 40_000)
    assert found["ConsumedReadCapacityUnits"].threshold == pytest.approx(0.8 * units.read * PERIOD_S)
    assert found["ConsumedWriteCapacityUnits"].threshold == pytest.approx(0.8 * units.write * PERIOD_S)
    assert found["ReadThrottleEvents"].threshold == found["WriteThrottleEvents"].threshold == 0
    latency = found["SuccessfulRequestLatency"]
    assert (latency.statistic, latency.threshold) == ("p99", 100)


@every_table
def test_an_unbounded_collection_has_an_alarm_on_its_metric(table: Table) -> None:
    """item_collection_bounded: `unit/schema/tables/test_collections.py` checks the sizes."""
    measured = {item.growth.measured_by for item in table.items if item.growth.most is None}
    watched = {
        alarm.metric: alarm.threshold for alarm in table_alarms(table) if alarm.source is AlarmSource.TIDINGS
    }
    assert watched == dict.fromkeys(measured, 8 * 1024**3)


@every_table
def test_every_table_and_index_has_a_reason(table: Table) -> None:
    assert table.why
    assert table.capacity_why
    assert all(index.why for index in table.indexes)
    assert all(item.holds for item in table.items)
