"""A plan as lines for a person: what would be done to each table, what it costs, what is left out. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.reconcile import (
    SEVERITY_STYLES,
    ChangeKind,
    PlanLine,
    PollPolicy,
    ProgressEvent,
    Severity,
)
from tidings.schema.tables import pricing
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.diff import (
    TableAspect,
    TableChange,
    TablePlan,
    TablesPlan,
    capacity_target,
    plan_table,
    show_keys,
    show_units,
)
from tidings.schema.tables.model import CapacityUnits, Table


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
        size_gb = entry.seen.size_bytes / pricing.GB
        month = format_dollars(pricing.storage_cost_month(entry.table, entry.seen.size_bytes))
        stored = f"; {size_gb:,.2f} GB stored: {month} a month"
    return f"{_throughput(entry, entry.table)}{stored}"


def _throughput(entry: TablePlan, table: Table) -> str:
    units = _held(entry, table)
    return (
        f"{show_units(units)}: {format_dollars(pricing.provisioned_cost_month(table, units))} a month"
        if units
        else "on demand"
    )


def _held(entry: TablePlan, table: Table) -> CapacityUnits | None:
    return capacity_target(table, entry.seen) if entry.seen else table.units


def _sum(plan: TablesPlan) -> Iterator[PlanLine]:
    declared = [(entry, entry.table) for entry in plan.tables if entry.table]
    standing = sum(
        (pricing.provisioned_cost_month(table, _held(entry, table)) for entry, table in declared), Decimal(0)
    )
    yield PlanLine(f"On AWS, standing: {format_dollars(standing)} a month, used or not.")
    for table_class in sorted({table.table_class for _, table in declared if table.units is None}):
        prices = pricing.PRICES[table_class]
        writes, reads = format_price(prices.million_writes), format_price(prices.million_reads)
        yield PlanLine(f"On demand, {table_class}: {writes} per million writes, {reads} per million reads.")
    yield PlanLine(_stored([table for _, table in declared]))
    yield PlanLine(
        f"AWS list prices of {pricing.REGION}, in force since {pricing.SINCE}; not a bill.", Severity.QUIET
    )


def _stored(tables: list[Table]) -> str:
    gb_prices = " or ".join(
        format_price(each) for each in sorted({pricing.gb_month(table) for table in tables})
    )
    backups = max((pricing.backups_gb_month(table) for table in tables), default=Decimal(0))
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


PACE = PollPolicy(timeout_s=1800, effect_s=60, longest_pause_s=5)


class TablesApi(Protocol):
    """The control plane of one installation's tables."""

    prefix: str
    not_known: frozenset[TableAspect]

    def describe(self, name: str) -> ObservedTable | None:
        """The table as it stands now, or None. May be seconds behind."""

    def create(self, table: Table) -> None:
        """Ask for the table; returns before it stands. One that is there by now is no error."""

    def change(self, table: Table, seen: ObservedTable, change: TableChange) -> bool:
        """Ask for one step of one change; returns before it is made. False: busy, ask again."""


def refuse_destruction(plan: TablesPlan) -> None:
    if not plan.destroyed:
        return
    raise TidingsError(
        Code.TABLES_DESTRUCTIVE,
        "\n".join(["This would destroy, and is not done:", *(f"  - {lost}" for lost in plan.destroyed)]),
        hint="`tidings tables plan` shows the difference. Put the tables back as they are declared, or move "
        "the data to new ones under another dynamo.table_prefix.",
        details={"destroyed": list(plan.destroyed)},
    )


def apply_tables(
    engine: TablesApi, plan: TablesPlan, tell: Callable[[ProgressEvent], None], pace: PollPolicy = PACE
) -> None:
    """All missing tables are asked for first, so that they are made at the same time."""
    refuse_destruction(plan)
    missing = list(_with(ChangeKind.CREATE, plan))
    for entry in missing:
        tell(ProgressEvent(entry.name, "creating"))
        engine.create(_declared(entry))
    for entry in [*_with(ChangeKind.CHANGE, plan), *missing]:
        _TableRun(engine, _declared(entry), tell, pace).reconcile()


@dataclass(frozen=True, slots=True)
class _TableRun:
    engine: TablesApi
    table: Table
    report: Callable[[ProgressEvent], None]
    poll_policy: PollPolicy

    @property
    def name(self) -> str:
        return self.engine.prefix + self.table.name

    def reconcile(self) -> None:
        seen = self._wait_until_active()
        while change := next(iter(self._differences(seen)), None):
            index = f" {change.index}" if change.index else ""
            self._report_step(f"{change.aspect}{index}: {change.before} → {change.after}")
            self._ask(seen, change)
            seen = self._made(change)
        self._report_step("done")

    def _differences(self, seen: ObservedTable) -> tuple[TableChange, ...]:
        rest = plan_table(self.table, seen, self.engine.prefix, self.engine.not_known)
        refuse_destruction(TablesPlan((rest,)))
        return rest.changes

    def _ask(self, seen: ObservedTable, change: TableChange) -> None:
        for _ in self.poll_policy.attempts(self.poll_policy.timeout_s):
            if self._was_taken(seen, change):
                return
            self._report_step(f"waiting until {change.aspect} can be changed")
        raise self._late(f"{change.aspect} could not be changed")

    def _was_taken(self, seen: ObservedTable, change: TableChange) -> bool:
        """A refusal because somebody else has just made the same change is none."""
        try:
            return self.engine.change(self.table, seen, change)
        except TidingsError:
            if change in self._differences(self._wait_until_active()):
                raise
            return True

    def _made(self, change: TableChange) -> ObservedTable:
        """An answer may be older than the change, so it gets some time to show."""
        for _ in self.poll_policy.attempts(self.poll_policy.effect_s):
            seen = self._wait_until_active()
            if change not in self._differences(seen):
                return seen
        raise TidingsError(
            Code.TABLES_FAILED,
            f"{self.name}: {change.aspect} was set to {change.after} and is still {change.before}",
            hint="The engine accepted the change and did not make it. Does it support it?",
        )

    def _wait_until_active(self) -> ObservedTable:
        for _ in self.poll_policy.attempts(self.poll_policy.timeout_s):
            seen = self.engine.describe(self.name)
            if seen is not None and seen.is_stable:
                return seen
            self._report_step(_awaited(seen))
        raise self._late("it is not active")

    def _late(self, what: str) -> TidingsError:
        return TidingsError(
            Code.TABLES_FAILED,
            f"{self.name}: {what} after {self.poll_policy.timeout_s:.0f} s",
            hint="What was begun goes on by itself. Apply again; that goes on from here.",
        )

    def _report_step(self, doing: str) -> None:
        self.report(ProgressEvent(self.name, doing))


def _awaited(seen: ObservedTable | None) -> str:
    if seen is None or not seen.is_active:
        return "waiting until it is active"
    building = ", ".join(sorted(name for name, index in seen.indexes.items() if not index.is_active))
    return f"waiting until the index {building} is filled"


def _with(verdict: ChangeKind, plan: TablesPlan) -> Iterable[TablePlan]:
    return (entry for entry in plan.tables if entry.verdict is verdict)


def _declared(entry: TablePlan) -> Table:
    if entry.table is None:
        raise AssertionError(f"{entry.name} is not declared, so there is nothing to make of it")
    return entry.table
