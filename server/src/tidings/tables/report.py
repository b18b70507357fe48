"""A plan as lines for a person: what would be done to each table, what it costs, what is left out. Pure."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from tidings.kernel.reconcile import SEVERITY_STYLES, ChangeKind, PlanLine, Severity
from tidings.tables import cost
from tidings.tables.diff import (
    TableAspect,
    TableChange,
    TablePlan,
    TablesPlan,
    capacity_target,
    show_keys,
    show_units,
)
from tidings.tables.model import CapacityUnits, Table


def plan_lines(plan: TablesPlan) -> Iterator[PlanLine]:
    width = max((len(entry.name) for entry in plan.tables), default=0)
    for entry in plan.tables:
        text = f"{entry.name:<{width}}  {entry.verdict:<13}  {_costs(entry)}"
        yield PlanLine(text.rstrip(), SEVERITY_STYLES[entry.verdict])
        if entry.verdict is ChangeKind.CREATE and entry.table:
            yield PlanLine(f"    {_made_of(entry.table)}", Severity.QUIET)
        yield from (_change(change) for change in entry.changes)
    yield PlanLine("")
    yield from plan_summary(plan)


def plan_summary(plan: TablesPlan) -> Iterator[PlanLine]:
    counts = Counter(entry.verdict for entry in plan.tables)
    yield PlanLine(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    yield from _sum(plan)
    yield from unsupported_text(plan.not_known)
    if plan.destroyed:
        yield PlanLine("Refused, because it would destroy:", Severity.BAD)
        yield from (PlanLine(f"  {lost}", Severity.BAD) for lost in plan.destroyed)


def unsupported_text(aspects: frozenset[TableAspect]) -> Iterator[PlanLine]:
    if aspects:
        names = ", ".join(aspect for aspect in TableAspect if aspect in aspects)
        yield PlanLine(f"Not known by this engine: {names}. Left out here.", Severity.CHANGE)


def format_dollars(amount: Decimal) -> str:
    return f"${amount:,.2f}"


def format_price(amount: Decimal) -> str:
    """A unit price to its last digit, as the price list writes it."""
    exact = f"{amount.normalize():f}"
    return f"${amount:.2f}" if len(exact) < len(f"{amount:.2f}") else f"${exact}"


def _change(change: TableChange) -> PlanLine:
    index = f" {change.index}" if change.index else ""
    note = f" ({change.note})" if change.note else ""
    text = f"    {change.aspect}{index}: {change.before} → {change.after}{note}"
    return PlanLine(
        f"{text}  REFUSED" if change.destroys else text, Severity.BAD if change.destroys else Severity.CHANGE
    )


def _costs(entry: TablePlan) -> str:
    if entry.table is None:
        return "not declared, left alone" if entry.verdict is ChangeKind.UNKNOWN else "not declared any more"
    stored = ""
    if entry.seen and entry.seen.size_bytes:
        size_gb = entry.seen.size_bytes / cost.GB
        month = format_dollars(cost.storage_cost_month(entry.table, entry.seen.size_bytes))
        stored = f"; {size_gb:,.2f} GB stored: {month} a month"
    return f"{_throughput(entry, entry.table)}{stored}"


def _throughput(entry: TablePlan, table: Table) -> str:
    units = _held(entry, table)
    return (
        f"{show_units(units)}: {format_dollars(cost.provisioned_cost_month(table, units))} a month"
        if units
        else "on demand"
    )


def _held(entry: TablePlan, table: Table) -> CapacityUnits | None:
    return capacity_target(table, entry.seen) if entry.seen else table.units


def _sum(plan: TablesPlan) -> Iterator[PlanLine]:
    declared = [(entry, entry.table) for entry in plan.tables if entry.table]
    standing = sum(
        (cost.provisioned_cost_month(table, _held(entry, table)) for entry, table in declared), Decimal(0)
    )
    yield PlanLine(f"On AWS, standing: {format_dollars(standing)} a month, used or not.")
    for table_class in sorted({table.table_class for _, table in declared if table.units is None}):
        prices = cost.PRICES[table_class]
        writes, reads = format_price(prices.million_writes), format_price(prices.million_reads)
        yield PlanLine(f"On demand, {table_class}: {writes} per million writes, {reads} per million reads.")
    yield PlanLine(_stored([table for _, table in declared]))
    yield PlanLine(
        f"AWS list prices of {cost.REGION}, in force since {cost.SINCE}; not a bill.", Severity.QUIET
    )


def _stored(tables: list[Table]) -> str:
    gb_prices = " or ".join(format_price(each) for each in sorted({cost.gb_month(table) for table in tables}))
    backups = max((cost.backups_gb_month(table) for table in tables), default=Decimal(0))
    return (
        f"Stored: {gb_prices} per GB and month with point-in-time recovery; {format_price(backups)} more where daily "
        "backups are scheduled and kept, each a full copy."
    )


def _made_of(table: Table) -> str:
    parts = [f"keys {show_keys(table.keys)}", *(f"index {index.name}" for index in table.indexes)]
    parts += [f"TTL {table.ttl.attribute}"] if table.ttl else []
    parts += [f"stream {table.stream}"] if table.stream else []
    parts += ["point-in-time recovery"] if table.has_pitr else []
    parts += ["protected from deletion"] if table.is_deletion_protected else []
    return "; ".join(parts)
