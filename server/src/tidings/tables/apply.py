"""Makes the tables as declared: looks, does the first thing that differs, waits, looks again.

So it is safe to repeat and to interrupt. It decides nothing about what differs (`diff`) and knows no engine
(`control`); it refuses the whole plan if any of it would destroy something.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import ChangeKind, PollPolicy, ProgressEvent
from tidings.tables.diff import TableAspect, TableChange, TablePlan, TablesPlan, plan_table
from tidings.tables.model import Table
from tidings.tables.seen import ObservedTable

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
