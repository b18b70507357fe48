"""item_collection_bounded: items with one partition key stay below 8 GB, or a metric measures them."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidings.app.processes.relay import export_relay
from tidings.platform.telemetry.metrics import Metrics
from tidings.schema.tables.declaration import BY_NAME, TABLES
from tidings.schema.tables.model import ALONE, Growth, ItemCollection, Table, item_collections
from tidings.schema.tables.pricing import COLLECTION_BYTES, table_alarms


def unsafe(table: Table) -> list[str]:
    """Collections that can outgrow the threshold without raising an alarm."""
    watched = {alarm.metric for alarm in table_alarms(table) if alarm.threshold <= COLLECTION_BYTES}
    return [one.name for one in item_collections(table) if not _is_safe(one, watched & exported())]


def _is_safe(one: ItemCollection, watched: set[str]) -> bool:
    if one.max_bytes is None:
        return one.measured_by <= watched
    return one.max_bytes < COLLECTION_BYTES


def exported() -> set[str]:
    """The metrics of the relay, which reads every commit."""
    metrics, relay = Metrics(), SimpleNamespace(counts=None, audit=SimpleNamespace(counts=None))
    whatever: Any = relay
    export_relay(metrics, whatever)
    return set(metrics.registry._names_to_collectors)


def grown(table: Table, name: str, growth: Growth) -> Table:
    """The table with another declaration of how many of these items share a key."""
    items = [replace(item, growth=growth) if item.name == name else item for item in table.items]
    assert tuple(items) != table.items
    return replace(table, items=tuple(items))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_collection_is_below_eight_gigabytes_or_measured(table: Table) -> None:
    assert unsafe(table) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_only_a_sort_key_lets_items_share_a_partition_key(table: Table) -> None:
    assert table.sort is not None or {item.growth for item in table.items} == {ALONE}
    assert all(item.growth.why for item in table.items)


def test_only_collections_of_a_chat_log_are_unbounded() -> None:
    unbounded = {one.name for table in TABLES for one in item_collections(table) if one.max_bytes is None}
    assert unbounded == {
        "messages {tenant}#{chat}",
        "messages {tenant}#{chat}#ephemeral",
        "idempotency_keys {tenant}#{chat}",
    }


def test_kinds_that_share_a_key_are_added_up() -> None:
    (rows,) = [one for one in item_collections(BY_NAME["delivery_state"]) if "{user}" in one.name]
    alone = grown(BY_NAME["delivery_state"], "block", Growth("none", 0))
    (without,) = item_collections(alone)
    assert rows.max_bytes is not None
    assert without.max_bytes is not None
    assert 0 < without.max_bytes < rows.max_bytes


def test_a_collection_that_grows_without_bound_is_found() -> None:
    name = "delivery_state {tenant}#{user}"
    assert unsafe(grown(BY_NAME["delivery_state"], "block", Growth("nobody looks"))) == [name]
    measured = Growth("a metric that nothing exports", measured_by="tidings_largest_block_list_bytes")
    assert unsafe(grown(BY_NAME["delivery_state"], "block", measured)) == [name]
    assert unsafe(grown(BY_NAME["delivery_state"], "block", Growth("too many", 10**8))) == [name]


def test_a_directory_that_is_not_divided_is_found() -> None:
    everybody = Growth("100 million users of a tenant in one part", 100_000_000)
    assert unsafe(grown(BY_NAME["inbox"], "profile", everybody)) == ["inbox t#{tenant}D#{bucket}"]
