"""Show and apply a plan of tables: what changes, what it costs, which properties the engine does not support."""

from collections.abc import Callable, Iterator
from decimal import Decimal

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.plan import ChangeKind, PlanLine, Severity
from tidings.schema.reconcile import ControlPlane, PollPolicy, ProgressEvent, Reconciler
from tidings.schema.tables import pricing
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.diff import (
    TableAspect,
    TablePlan,
    TablesPlan,
    capacity_target,
    plan_table,
    show_keys,
    show_units,
)
from tidings.schema.tables.model import DAILY_BACKUP_RETENTION_DAYS, CapacityUnits, Table


def plan_lines(plan: TablesPlan) -> Iterator[PlanLine]:
    """Show a plan with the monthly cost of each table and in total."""
    return plan.lines(_cost, _contents, [*_totals(plan), *unsupported_text(plan.not_known)])


def unsupported_text(aspects: frozenset[TableAspect]) -> Iterator[PlanLine]:
    if aspects:
        names = ", ".join(aspect for aspect in TableAspect if aspect in aspects)
        yield PlanLine(f"Not supported by this engine and not compared: {names}.", Severity.CHANGE)


def format_dollars(amount: Decimal) -> str:
    return f"${amount:,.2f}"


def format_price(amount: Decimal) -> str:
    """Format a unit price with all its digits, and at least cents."""
    exact = f"{amount.normalize():f}"
    return f"${amount:.2f}" if len(exact) < len(f"{amount:.2f}") else f"${exact}"


def _cost(entry: TablePlan) -> str:
    table, stored = entry.declared, ""
    if table is None:
        return stored
    if entry.seen and entry.seen.size_bytes:
        size_gb = entry.seen.size_bytes / pricing.GB
        month = format_dollars(pricing.storage_cost_month(table, entry.seen.size_bytes))
        stored = f"; {size_gb:,.2f} GB stored: {month} a month"
    return f"{_throughput(entry, table)}{stored}"


def _throughput(entry: TablePlan, table: Table) -> str:
    units = _capacity(entry, table)
    return (
        f"{show_units(units)}: {format_dollars(pricing.provisioned_cost_month(table, units))} a month"
        if units
        else "on demand"
    )


def _capacity(entry: TablePlan, table: Table) -> CapacityUnits | None:
    return capacity_target(table, entry.seen) if entry.seen else table.units


def _totals(plan: TablesPlan) -> Iterator[PlanLine]:
    declared = [(entry, entry.declared) for entry in plan.entries if entry.declared]
    provisioned = sum(
        (pricing.provisioned_cost_month(table, _capacity(entry, table)) for entry, table in declared),
        Decimal(0),
    )
    yield PlanLine(f"On AWS, provisioned: {format_dollars(provisioned)} a month, used or not.")
    for table_class in sorted({table.table_class for _, table in declared if table.units is None}):
        prices = pricing.PRICES[table_class]
        writes, reads = format_price(prices.million_writes), format_price(prices.million_reads)
        yield PlanLine(f"On demand, {table_class}: {writes} per million writes, {reads} per million reads.")
    yield PlanLine(_stored([table for _, table in declared]))
    yield PlanLine(
        f"AWS list prices of {pricing.REGION}, valid since {pricing.SINCE}. Your bill can differ.",
        Severity.QUIET,
    )


def _stored(tables: list[Table]) -> str:
    gb_prices = " or ".join(
        format_price(each) for each in sorted({pricing.gb_month(table) for table in tables})
    )
    backups = max((pricing.backups_gb_month(table) for table in tables), default=Decimal(0))
    return (
        f"Stored: {gb_prices} per GB and month with point-in-time recovery; {format_price(backups)} more for its "
        f"{DAILY_BACKUP_RETENTION_DAYS} daily backups, which are full copies."
    )


def _contents(table: Table) -> str:
    parts = [f"keys {show_keys(table.keys)}", *(f"index {index.name}" for index in table.indexes)]
    parts += [f"TTL {table.ttl.attribute}"] if table.ttl else []
    parts += [f"stream {table.stream}"] if table.stream else []
    parts += ["point-in-time recovery"] if table.has_pitr else []
    parts += ["protected from deletion"] if table.is_deletion_protected else []
    return "; ".join(parts)


def refuse_changes(plan: TablesPlan) -> None:
    """Raise `tables_drift` if an existing table would change. On AWS the module changes it, whose state must stay true."""
    changed = [name for name, _ in plan.having(ChangeKind.CHANGE)]
    if changed:
        raise TidingsError(
            Code.TABLES_DRIFT,
            f"{len(changed)} tables differ from the declaration: {', '.join(changed)}.",
            hint="On AWS, apply the OpenTofu module infra/tofu/dynamodb. If no module manages these tables, use `--in-place`.",
        )


POLL_POLICY = PollPolicy(timeout_s=1800, effect_s=60, longest_pause_s=5)


def apply_tables(
    plane: ControlPlane[Table, ObservedTable, TableAspect],
    plan: TablesPlan,
    on_progress: Callable[[ProgressEvent], None],
    policy: PollPolicy = POLL_POLICY,
) -> None:
    """Make the tables as declared. Safe to repeat; changes nothing if a change of the plan is refused."""

    def replan(table: Table, seen: ObservedTable) -> TablePlan:
        return plan_table(table, seen, plane.prefix, plan.not_known)

    Reconciler(plane, replan, _not_ready, on_progress, policy).apply(plan)


def _not_ready(seen: ObservedTable | None) -> str:
    if seen is None or not seen.is_active:
        return "the table is not active"
    if seen.is_stable:
        return ""
    building = ", ".join(sorted(name for name, index in seen.indexes.items() if not index.is_active))
    return f"the index {building} is not filled"
