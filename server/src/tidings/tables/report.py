"""A plan as lines for a person: what would be done to each table, what it costs, what is left out. Pure."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from tidings.kernel.reconcile import TONES, Line, Tone, Verdict
from tidings.tables import cost
from tidings.tables.diff import (
    Aspect,
    Change,
    Plan,
    TablePlan,
    capacity_target,
    show_keys,
    show_units,
)
from tidings.tables.model import Table, Units


def lines(plan: Plan) -> Iterator[Line]:
    width = max((len(entry.name) for entry in plan.tables), default=0)
    for entry in plan.tables:
        text = f"{entry.name:<{width}}  {entry.verdict:<13}  {_costs(entry)}"
        yield Line(text.rstrip(), TONES[entry.verdict])
        if entry.verdict is Verdict.CREATE and entry.table:
            yield Line(f"    {_made_of(entry.table)}", Tone.QUIET)
        yield from (_change(change) for change in entry.changes)
    yield Line("")
    yield from summary(plan)


def summary(plan: Plan) -> Iterator[Line]:
    counts = Counter(entry.verdict for entry in plan.tables)
    yield Line(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    yield from _sum(plan)
    yield from not_known(plan.not_known)
    if plan.destroyed:
        yield Line("Refused, because it would destroy:", Tone.BAD)
        yield from (Line(f"  {lost}", Tone.BAD) for lost in plan.destroyed)


def not_known(aspects: frozenset[Aspect]) -> Iterator[Line]:
    if aspects:
        names = ", ".join(aspect for aspect in Aspect if aspect in aspects)
        yield Line(f"Not known by this engine: {names}. Left out here.", Tone.CHANGE)


def dollars(amount: Decimal) -> str:
    return f"${amount:,.2f}"


def price(amount: Decimal) -> str:
    """A unit price to its last digit, as the price list writes it."""
    exact = f"{amount.normalize():f}"
    return f"${amount:.2f}" if len(exact) < len(f"{amount:.2f}") else f"${exact}"


def _change(change: Change) -> Line:
    index = f" {change.index}" if change.index else ""
    note = f" ({change.note})" if change.note else ""
    text = f"    {change.aspect}{index}: {change.before} → {change.after}{note}"
    return Line(f"{text}  REFUSED" if change.destroys else text, Tone.BAD if change.destroys else Tone.CHANGE)


def _costs(entry: TablePlan) -> str:
    if entry.table is None:
        return "not declared, left alone" if entry.verdict is Verdict.UNKNOWN else "not declared any more"
    stored = ""
    if entry.seen and entry.seen.size_bytes:
        size_gb = entry.seen.size_bytes / cost.GB
        month = dollars(cost.stored(entry.table, entry.seen.size_bytes))
        stored = f"; {size_gb:,.2f} GB stored: {month} a month"
    return f"{_throughput(entry, entry.table)}{stored}"


def _throughput(entry: TablePlan, table: Table) -> str:
    units = _held(entry, table)
    return f"{show_units(units)}: {dollars(cost.standing(table, units))} a month" if units else "on demand"


def _held(entry: TablePlan, table: Table) -> Units | None:
    return capacity_target(table, entry.seen) if entry.seen else table.units


def _sum(plan: Plan) -> Iterator[Line]:
    declared = [(entry, entry.table) for entry in plan.tables if entry.table]
    standing = sum((cost.standing(table, _held(entry, table)) for entry, table in declared), Decimal(0))
    yield Line(f"On AWS, standing: {dollars(standing)} a month, used or not.")
    for table_class in sorted({table.table_class for _, table in declared if table.units is None}):
        prices = cost.PRICES[table_class]
        writes, reads = price(prices.million_writes), price(prices.million_reads)
        yield Line(f"On demand, {table_class}: {writes} per million writes, {reads} per million reads.")
    yield Line(_stored([table for _, table in declared]))
    yield Line(f"AWS list prices of {cost.REGION}, in force since {cost.SINCE}; not a bill.", Tone.QUIET)


def _stored(tables: list[Table]) -> str:
    gb_prices = " or ".join(price(each) for each in sorted({cost.gb_month(table) for table in tables}))
    backups = max((cost.backups_gb_month(table) for table in tables), default=Decimal(0))
    return (
        f"Stored: {gb_prices} per GB and month with point-in-time recovery; {price(backups)} more where daily "
        "backups are scheduled and kept, each a full copy."
    )


def _made_of(table: Table) -> str:
    parts = [f"keys {show_keys(table.keys)}", *(f"index {index.name}" for index in table.indexes)]
    parts += [f"TTL {table.ttl.attribute}"] if table.ttl else []
    parts += [f"stream {table.stream}"] if table.stream else []
    parts += ["point-in-time recovery"] if table.has_pitr else []
    parts += ["protected from deletion"] if table.is_deletion_protected else []
    return "; ".join(parts)
