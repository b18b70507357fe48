"""Compare tables with their declaration. Pure.

Three properties are never reduced: capacity (auto scaling and operators raise it), deletion protection, and a stream
that is not declared (a standby region needs one).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

from tidings.kernel.errors import Code
from tidings.schema.plan import Change, ResourceKind, ResourcePlan, SchemaPlan, plan_all, plan_resource
from tidings.schema.tables.descriptions import ObservedIndex, ObservedTable
from tidings.schema.tables.model import CapacityUnits, Index, KeyAttribute, Table

TAG_TABLE = "tidings:table"
TAG_PREFIX = "tidings:prefix"


class TableAspect(StrEnum):
    """Properties of a table that are compared, in the order in which `apply` changes them."""

    TABLE = "table"
    KEYS = "keys"
    DELETION_PROTECTION = "deletion protection"
    TAGS = "tags"
    PITR = "point-in-time recovery"
    TTL = "TTL"
    STREAM = "stream"
    TABLE_CLASS = "table class"
    CAPACITY = "capacity"
    INDEX = "index"
    INDEX_CAPACITY = "index capacity"


TableChange = Change[TableAspect]
type TablePlan = ResourcePlan[Table, ObservedTable, TableAspect]
type TablesPlan = SchemaPlan[Table, ObservedTable, TableAspect]

KIND = ResourceKind(
    plural="tables",
    failed=Code.TABLES_FAILED,
    drift=Code.TABLES_DRIFT,
    destructive=Code.TABLES_DESTRUCTIVE,
    refused_detail="destroyed",
    refused_hint="Change the tables back to the declaration, or move the data to new tables under another "
    "dynamo.table_prefix.",
    failed_hint="Requested changes continue in the background. Run apply again; it continues from here.",
)


def apply_capacity_mode(tables: Iterable[Table], *, on_demand: bool) -> tuple[Table, ...]:
    """Return the tables in the capacity mode of this installation. On demand, they have no provisioned units."""
    return tuple(replace(table, units=None) if on_demand else table for table in tables)


def table_tags(table: Table, prefix: str) -> dict[str, str]:
    return {TAG_TABLE: table.name, TAG_PREFIX: prefix}


def plan_tables(
    tables: Iterable[Table],
    seen: Mapping[str, ObservedTable],
    *,
    prefix: str,
    not_known: frozenset[TableAspect] = frozenset(),
) -> TablesPlan:
    """Compare the declared tables with `seen`, which also has all other tables under the prefix, by name."""
    declared = [plan_table(table, seen.get(prefix + table.name), prefix, not_known) for table in tables]
    return plan_all(KIND, declared, seen, lambda other: _removed(other, prefix), not_known)


def plan_table(
    table: Table, seen: ObservedTable | None, prefix: str, not_known: frozenset[TableAspect]
) -> TablePlan:
    found = () if seen is None else _changes(table, seen, prefix)
    changes = [change for change in found if change.aspect not in not_known]
    return plan_resource(prefix + table.name, table, seen, changes)


def _removed(seen: ObservedTable, prefix: str) -> TableChange | None:
    """Return the refused change of a table with the tags of Tidings that is no longer declared."""
    if seen.tags.get(TAG_PREFIX) != prefix or TAG_TABLE not in seen.tags:
        return None
    lost = f"the table and {_items(seen)}. Delete it yourself if it is not needed."
    return TableChange(TableAspect.TABLE, "a table of Tidings", "no longer declared", refused=lost)


def _changes(table: Table, seen: ObservedTable, prefix: str) -> Iterator[TableChange]:
    yield from _keys(table, seen)
    if table.is_deletion_protected and not seen.is_deletion_protected:
        yield TableChange(TableAspect.DELETION_PROTECTION, "off", "on")
    if table_tags(table, prefix).items() - seen.tags.items():
        yield TableChange(TableAspect.TAGS, show_tags(seen.tags), show_tags(table_tags(table, prefix)))
    if table.has_pitr and seen.pitr_days != table.backup.pitr_days:
        # Also a longer time is a fault: destroyed keys of users could be restored after the declared one.
        before = f"{seen.pitr_days} days" if seen.pitr_days else "off"
        yield TableChange(TableAspect.PITR, before, f"{table.backup.pitr_days} days")
    yield from _ttl(table, seen)
    yield from _stream(table, seen)
    if table.table_class != seen.table_class:
        note = "AWS allows two such changes in 30 days"
        yield TableChange(TableAspect.TABLE_CLASS, seen.table_class, table.table_class, note=note)
    yield from _capacity(table, seen)
    yield from _indexes(table, seen)


def _keys(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    if table.keys != seen.keys:
        lost = f"{_items(seen)}. The keys of a table cannot change; other keys need a new table."
        yield TableChange(TableAspect.KEYS, show_keys(seen.keys), show_keys(table.keys), refused=lost)


def _ttl(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    attribute = table.ttl.attribute if table.ttl else None
    if attribute == seen.ttl:
        return
    note = "items with a time in the past will be deleted" if attribute else ""
    if attribute and seen.ttl:
        note = "turned off, then on again; AWS allows that after an hour"
    yield TableChange(TableAspect.TTL, seen.ttl or "off", attribute or "off", note=note)


def _stream(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    if table.stream is None or table.stream is seen.stream:
        return
    note = (
        "turned off, then on again; readers start at the beginning of the new stream" if seen.stream else ""
    )
    yield TableChange(TableAspect.STREAM, seen.stream or "off", table.stream, note=note)


def _capacity(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    target = capacity_target(table, seen)
    if target == seen.units:
        return
    note = "" if seen.units or target is None else "requests above this will be throttled"
    yield TableChange(TableAspect.CAPACITY, show_units(seen.units), show_units(target), note=note)


def capacity_target(table: Table, seen: ObservedTable) -> CapacityUnits | None:
    return table.units and (seen.units.raised_to(table.units) if seen.units else table.units)


def _indexes(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    for index in table.indexes:
        found = seen.indexes.get(index.name)
        if found is None:
            note = "filled in the background; for hours on a large table"
            yield TableChange(
                TableAspect.INDEX, "none", show_index(index.keys, index.projection), index.name, note
            )
        else:
            yield from _index(index, found)
            yield from _index_capacity(table, seen, index, found)
    for name in sorted(seen.indexes.keys() - {index.name for index in table.indexes}):
        lost = f"the index {name}. Queries of it would fail."
        yield TableChange(
            TableAspect.INDEX, show_observed_index(seen.indexes[name]), "not declared", name, refused=lost
        )


def _index(index: Index, found: ObservedIndex) -> Iterator[TableChange]:
    if (index.keys, index.projection) == (found.keys, found.projection):
        return
    lost = f"the index {index.name}. It would be deleted and built again, and queries of it would fail meanwhile."
    after = show_index(index.keys, index.projection)
    yield TableChange(TableAspect.INDEX, show_observed_index(found), after, index.name, refused=lost)


def _index_capacity(
    table: Table, seen: ObservedTable, index: Index, found: ObservedIndex
) -> Iterator[TableChange]:
    """Compare the capacity of an index. While the table changes its mode, the indexes change with it."""
    if table.units and seen.units and not found.units.at_least(index.units):
        target = found.units.raised_to(index.units)
        yield TableChange(TableAspect.INDEX_CAPACITY, show_units(found.units), show_units(target), index.name)


def show_keys(keys: tuple[KeyAttribute, ...]) -> str:
    return ", ".join(f"{key.name} ({key.type})" for key in keys)


def show_index(keys: tuple[KeyAttribute, ...], projection: str) -> str:
    return f"{show_keys(keys)}, {projection}"


def show_observed_index(index: ObservedIndex) -> str:
    return show_index(index.keys, index.projection)


def show_units(units: CapacityUnits | None) -> str:
    return f"{units.read} read, {units.write} write" if units else "on demand"


def show_tags(tags: Mapping[str, str]) -> str:
    own = {name: value for name, value in tags.items() if name in (TAG_TABLE, TAG_PREFIX)}
    return ", ".join(f"{name}={value}" for name, value in sorted(own.items())) or "none"


def _items(seen: ObservedTable) -> str:
    return f"its {seen.item_count:,} items"
