"""What differs between the tables as declared and as seen, and what making them the same would do. Pure.

Three things are never made less than they are: capacity (auto scaling and people raise it), deletion
protection, and a stream that is not declared (a standby region needs one).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tidings.kernel.reconcile import Verdict
from tidings.tables.model import Index, Key, Table, Units
from tidings.tables.seen import Seen, SeenIndex

TAG_TABLE = "tidings:table"
TAG_PREFIX = "tidings:prefix"


class Aspect(StrEnum):
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
class Change:
    """`destroys` says what would be lost; such a change is never made."""

    aspect: Aspect
    before: str
    after: str
    index: str = ""
    note: str = ""
    destroys: str = ""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One table. `table` is None for one that is there and is not declared."""

    name: str
    verdict: Verdict
    changes: tuple[Change, ...] = ()
    table: Table | None = None
    seen: Seen | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All tables; `not_known` is what the engine has no notion of, so nothing is said about it."""

    tables: tuple[TablePlan, ...]
    not_known: frozenset[Aspect] = frozenset()

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


def wanted(tables: Iterable[Table], *, on_demand: bool) -> tuple[Table, ...]:
    """The declaration as this installation wants it: `dynamo.capacity = "on_demand"` takes all units away."""
    return tuple(replace(table, units=None) if on_demand else table for table in tables)


def tags(table: Table, prefix: str) -> dict[str, str]:
    return {TAG_TABLE: table.name, TAG_PREFIX: prefix}


def plan(
    tables: Iterable[Table],
    seen: Mapping[str, Seen],
    *,
    prefix: str,
    not_known: frozenset[Aspect] = frozenset(),
) -> Plan:
    """`seen` holds, by name, the declared tables that are there and any others under the prefix."""
    declared = tuple(plan_table(table, seen.get(prefix + table.name), prefix, not_known) for table in tables)
    names = {entry.name for entry in declared}
    extras = tuple(_plan_extra(other, prefix) for name, other in sorted(seen.items()) if name not in names)
    return Plan(declared + extras, not_known)


def plan_table(table: Table, seen: Seen | None, prefix: str, not_known: frozenset[Aspect]) -> TablePlan:
    name = prefix + table.name
    if seen is None:
        return TablePlan(name, Verdict.CREATE, table=table)
    changes = tuple(change for change in _changes(table, seen, prefix) if change.aspect not in not_known)
    return TablePlan(name, _verdict(changes), changes, table, seen)


def _verdict(changes: tuple[Change, ...]) -> Verdict:
    if any(change.destroys for change in changes):
        return Verdict.REFUSED
    return Verdict.CHANGE if changes else Verdict.UNCHANGED


def _plan_extra(seen: Seen, prefix: str) -> TablePlan:
    """A table with our tag was ours once. Any other under the prefix is somebody else's, and left alone."""
    if seen.tags.get(TAG_PREFIX) != prefix or TAG_TABLE not in seen.tags:
        return TablePlan(seen.name, Verdict.UNKNOWN, seen=seen)
    lost = f"the table and {_items(seen)}: delete it yourself if nobody needs it"
    removed = Change(Aspect.TABLE, "a table of Tidings", "not declared any more", destroys=lost)
    return TablePlan(seen.name, Verdict.REFUSED, (removed,), seen=seen)


def _changes(table: Table, seen: Seen, prefix: str) -> Iterator[Change]:
    yield from _keys(table, seen)
    if table.is_deletion_protected and not seen.is_deletion_protected:
        yield Change(Aspect.DELETION_PROTECTION, "off", "on")
    if tags(table, prefix).items() - seen.tags.items():
        yield Change(Aspect.TAGS, show_tags(seen.tags), show_tags(tags(table, prefix)))
    if table.has_pitr and not seen.has_pitr:
        yield Change(Aspect.PITR, "off", "on")
    yield from _ttl(table, seen)
    yield from _stream(table, seen)
    if table.table_class != seen.table_class:
        note = "AWS allows two such changes in 30 days"
        yield Change(Aspect.TABLE_CLASS, seen.table_class, table.table_class, note=note)
    yield from _capacity(table, seen)
    yield from _indexes(table, seen)


def _keys(table: Table, seen: Seen) -> Iterator[Change]:
    if table.keys != seen.keys:
        lost = f"{_items(seen)}: keys can't be changed, only a new table has others"
        yield Change(Aspect.KEYS, show_keys(seen.keys), show_keys(table.keys), destroys=lost)


def _ttl(table: Table, seen: Seen) -> Iterator[Change]:
    attribute = table.ttl.attribute if table.ttl else None
    if attribute == seen.ttl:
        return
    note = "items with a time in the past are deleted" if attribute else ""
    if attribute and seen.ttl:
        note = "off first, then on again, which AWS allows after an hour"
    yield Change(Aspect.TTL, seen.ttl or "off", attribute or "off", note=note)


def _stream(table: Table, seen: Seen) -> Iterator[Change]:
    if table.stream is None or table.stream is seen.stream:
        return
    note = "off first, then on again: a new stream, which its readers start anew" if seen.stream else ""
    yield Change(Aspect.STREAM, seen.stream or "off", table.stream, note=note)


def _capacity(table: Table, seen: Seen) -> Iterator[Change]:
    target = capacity_target(table, seen)
    if target == seen.units:
        return
    note = "" if seen.units or target is None else "requests above this will be throttled"
    yield Change(Aspect.CAPACITY, show_units(seen.units), show_units(target), note=note)


def capacity_target(table: Table, seen: Seen) -> Units | None:
    return table.units and (seen.units.raised_to(table.units) if seen.units else table.units)


def _indexes(table: Table, seen: Seen) -> Iterator[Change]:
    for index in table.indexes:
        there = seen.indexes.get(index.name)
        if there is None:
            note = "filled in the background; on a large table for hours"
            yield Change(Aspect.INDEX, "none", show_index(index.keys, index.projection), index.name, note)
        else:
            yield from _index(index, there)
            yield from _index_capacity(table, seen, index, there)
    for name in sorted(seen.indexes.keys() - {index.name for index in table.indexes}):
        lost = f"the index {name}: whatever reads it stops"
        yield Change(Aspect.INDEX, show_seen_index(seen.indexes[name]), "not declared", name, destroys=lost)


def _index(index: Index, there: SeenIndex) -> Iterator[Change]:
    if (index.keys, index.projection) == (there.keys, there.projection):
        return
    lost = f"the index {index.name}: it would be deleted and built anew, and whatever reads it waits"
    after = show_index(index.keys, index.projection)
    yield Change(Aspect.INDEX, show_seen_index(there), after, index.name, destroys=lost)


def _index_capacity(table: Table, seen: Seen, index: Index, there: SeenIndex) -> Iterator[Change]:
    """While the table itself changes its mode, the indexes change with it."""
    if table.units and seen.units and not there.units.at_least(index.units):
        target = there.units.raised_to(index.units)
        yield Change(Aspect.INDEX_CAPACITY, show_units(there.units), show_units(target), index.name)


def _drift(plans: Iterable[TablePlan]) -> Iterator[str]:
    for entry in plans:
        if entry.verdict is Verdict.CREATE:
            yield f"{entry.name}: is not there"
        for change in entry.changes:
            index = f" {change.index}" if change.index else ""
            yield f"{entry.name}: {change.aspect}{index}: {change.before}, declared {change.after}"


def show_keys(keys: tuple[Key, ...]) -> str:
    return ", ".join(f"{key.name} ({key.type})" for key in keys)


def show_index(keys: tuple[Key, ...], projection: str) -> str:
    return f"{show_keys(keys)}, {projection}"


def show_seen_index(index: SeenIndex) -> str:
    return show_index(index.keys, index.projection)


def show_units(units: Units | None) -> str:
    return f"{units.read} read, {units.write} write" if units else "on demand"


def show_tags(given: Mapping[str, str]) -> str:
    ours = {name: value for name, value in given.items() if name in (TAG_TABLE, TAG_PREFIX)}
    return ", ".join(f"{name}={value}" for name, value in sorted(ours.items())) or "none"


def _items(seen: Seen) -> str:
    return f"its {seen.item_count:,} items"
