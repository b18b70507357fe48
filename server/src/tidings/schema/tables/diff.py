"""What differs between the tables as declared and as seen, and what making them the same would do. Pure.

Three things are never made less than they are: capacity (auto scaling and people raise it), deletion
protection, and a stream that is not declared (a standby region needs one).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tidings.schema.reconcile import ChangeKind
from tidings.schema.tables.descriptions import ObservedIndex, ObservedTable
from tidings.schema.tables.model import CapacityUnits, Index, KeyAttribute, Table

TAG_TABLE = "tidings:table"
TAG_PREFIX = "tidings:prefix"


class TableAspect(StrEnum):
    """What of a table can differ; in the order in which `apply` changes it."""

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


@dataclass(frozen=True, slots=True)
class TableChange:
    """`destroys` says what would be lost; such a change is never made."""

    aspect: TableAspect
    before: str
    after: str
    index: str = ""
    note: str = ""
    destroys: str = ""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One table. `table` is None for one that is there and is not declared."""

    name: str
    verdict: ChangeKind
    changes: tuple[TableChange, ...] = ()
    table: Table | None = None
    seen: ObservedTable | None = None


@dataclass(frozen=True, slots=True)
class TablesPlan:
    """All tables; `not_known` is what the engine has no notion of, so nothing is said about it."""

    tables: tuple[TablePlan, ...]
    not_known: frozenset[TableAspect] = frozenset()

    @property
    def drift(self) -> tuple[str, ...]:
        return tuple(_drift(self.tables))

    @property
    def destroyed(self) -> tuple[str, ...]:
        return tuple(
            f"{plan.name}: {change.destroys}"
            for plan in self.tables
            for change in plan.changes
            if change.destroys
        )


def apply_capacity_mode(tables: Iterable[Table], *, on_demand: bool) -> tuple[Table, ...]:
    """The declaration as this installation wants it: `dynamo.capacity = "on_demand"` takes all units away."""
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
    """`seen` holds, by name, the declared tables that are there and any others under the prefix."""
    declared = tuple(plan_table(table, seen.get(prefix + table.name), prefix, not_known) for table in tables)
    names = {entry.name for entry in declared}
    extras = tuple(_plan_extra(other, prefix) for name, other in sorted(seen.items()) if name not in names)
    return TablesPlan(declared + extras, not_known)


def plan_table(
    table: Table, seen: ObservedTable | None, prefix: str, not_known: frozenset[TableAspect]
) -> TablePlan:
    name = prefix + table.name
    if seen is None:
        return TablePlan(name, ChangeKind.CREATE, table=table)
    changes = tuple(change for change in _changes(table, seen, prefix) if change.aspect not in not_known)
    return TablePlan(name, _verdict(changes), changes, table, seen)


def _verdict(changes: tuple[TableChange, ...]) -> ChangeKind:
    if any(change.destroys for change in changes):
        return ChangeKind.REFUSED
    return ChangeKind.CHANGE if changes else ChangeKind.UNCHANGED


def _plan_extra(seen: ObservedTable, prefix: str) -> TablePlan:
    """A table with our tag was ours once. Any other under the prefix is somebody else's, and left alone."""
    if seen.tags.get(TAG_PREFIX) != prefix or TAG_TABLE not in seen.tags:
        return TablePlan(seen.name, ChangeKind.UNKNOWN, seen=seen)
    lost = f"the table and {_items(seen)}: delete it yourself if nobody needs it"
    removed = TableChange(TableAspect.TABLE, "a table of Tidings", "not declared any more", destroys=lost)
    return TablePlan(seen.name, ChangeKind.REFUSED, (removed,), seen=seen)


def _changes(table: Table, seen: ObservedTable, prefix: str) -> Iterator[TableChange]:
    yield from _keys(table, seen)
    if table.is_deletion_protected and not seen.is_deletion_protected:
        yield TableChange(TableAspect.DELETION_PROTECTION, "off", "on")
    if table_tags(table, prefix).items() - seen.tags.items():
        yield TableChange(TableAspect.TAGS, show_tags(seen.tags), show_tags(table_tags(table, prefix)))
    if table.has_pitr and not seen.has_pitr:
        yield TableChange(TableAspect.PITR, "off", "on")
    yield from _ttl(table, seen)
    yield from _stream(table, seen)
    if table.table_class != seen.table_class:
        note = "AWS allows two such changes in 30 days"
        yield TableChange(TableAspect.TABLE_CLASS, seen.table_class, table.table_class, note=note)
    yield from _capacity(table, seen)
    yield from _indexes(table, seen)


def _keys(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    if table.keys != seen.keys:
        lost = f"{_items(seen)}: keys can't be changed, only a new table has others"
        yield TableChange(TableAspect.KEYS, show_keys(seen.keys), show_keys(table.keys), destroys=lost)


def _ttl(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    attribute = table.ttl.attribute if table.ttl else None
    if attribute == seen.ttl:
        return
    note = "items with a time in the past are deleted" if attribute else ""
    if attribute and seen.ttl:
        note = "off first, then on again, which AWS allows after an hour"
    yield TableChange(TableAspect.TTL, seen.ttl or "off", attribute or "off", note=note)


def _stream(table: Table, seen: ObservedTable) -> Iterator[TableChange]:
    if table.stream is None or table.stream is seen.stream:
        return
    note = "off first, then on again: a new stream, which its readers start anew" if seen.stream else ""
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
        there = seen.indexes.get(index.name)
        if there is None:
            note = "filled in the background; on a large table for hours"
            yield TableChange(
                TableAspect.INDEX, "none", show_index(index.keys, index.projection), index.name, note
            )
        else:
            yield from _index(index, there)
            yield from _index_capacity(table, seen, index, there)
    for name in sorted(seen.indexes.keys() - {index.name for index in table.indexes}):
        lost = f"the index {name}: whatever reads it stops"
        yield TableChange(
            TableAspect.INDEX, show_observed_index(seen.indexes[name]), "not declared", name, destroys=lost
        )


def _index(index: Index, there: ObservedIndex) -> Iterator[TableChange]:
    if (index.keys, index.projection) == (there.keys, there.projection):
        return
    lost = f"the index {index.name}: it would be deleted and built anew, and whatever reads it waits"
    after = show_index(index.keys, index.projection)
    yield TableChange(TableAspect.INDEX, show_observed_index(there), after, index.name, destroys=lost)


def _index_capacity(
    table: Table, seen: ObservedTable, index: Index, there: ObservedIndex
) -> Iterator[TableChange]:
    """While the table itself changes its mode, the indexes change with it."""
    if table.units and seen.units and not there.units.at_least(index.units):
        target = there.units.raised_to(index.units)
        yield TableChange(TableAspect.INDEX_CAPACITY, show_units(there.units), show_units(target), index.name)


def _drift(plans: Iterable[TablePlan]) -> Iterator[str]:
    for entry in plans:
        if entry.verdict is ChangeKind.CREATE:
            yield f"{entry.name}: is not there"
        for change in entry.changes:
            index = f" {change.index}" if change.index else ""
            yield f"{entry.name}: {change.aspect}{index}: {change.before}, declared {change.after}"


def show_keys(keys: tuple[KeyAttribute, ...]) -> str:
    return ", ".join(f"{key.name} ({key.type})" for key in keys)


def show_index(keys: tuple[KeyAttribute, ...], projection: str) -> str:
    return f"{show_keys(keys)}, {projection}"


def show_observed_index(index: ObservedIndex) -> str:
    return show_index(index.keys, index.projection)


def show_units(units: CapacityUnits | None) -> str:
    return f"{units.read} read, {units.write} write" if units else "on demand"


def show_tags(given: Mapping[str, str]) -> str:
    ours = {name: value for name, value in given.items() if name in (TAG_TABLE, TAG_PREFIX)}
    return ", ".join(f"{name}={value}" for name, value in sorted(ours.items())) or "none"


def _items(seen: ObservedTable) -> str:
    return f"its {seen.item_count:,} items"
