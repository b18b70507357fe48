"""Makes the tables as declared: looks, does the first thing that differs, waits, looks again.

So it is safe to repeat and to interrupt. It decides nothing about what differs (`diff`) and knows no engine
(`control`); it refuses the whole plan if any of it would destroy something.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import Pace, Step, Verdict
from tidings.tables.diff import Aspect, Change, Plan, TablePlan, plan_table
from tidings.tables.model import Table
from tidings.tables.seen import Seen

PACE = Pace(timeout_s=1800, effect_s=60, longest_pause_s=5)


class Engine(Protocol):
    """The control plane of one installation's tables."""

    prefix: str
    not_known: frozenset[Aspect]

    def look(self, name: str) -> Seen | None:
        """The table as it stands now, or None. May be seconds behind."""

    def create(self, table: Table) -> None:
        """Ask for the table; returns before it stands. One that is there by now is no error."""

    def change(self, table: Table, seen: Seen, change: Change) -> bool:
        """Ask for one step of one change; returns before it is made. False: busy, ask again."""


def refuse_destruction(plan: Plan) -> None:
    if not plan.destroyed:
        return
    raise TidingsError(
        Code.TABLES_DESTRUCTIVE,
        "\n".join(["This would destroy, and is not done:", *(f"  - {lost}" for lost in plan.destroyed)]),
        hint="`tidings tables plan` shows the difference. Put the tables back as they are declared, or move "
        "the data to new ones under another dynamo.table_prefix.",
        details={"destroyed": list(plan.destroyed)},
    )


def apply(engine: Engine, plan: Plan, tell: Callable[[Step], None], pace: Pace = PACE) -> None:
    """All missing tables are asked for first, so that they are made at the same time."""
    refuse_destruction(plan)
    missing = list(_with(Verdict.CREATE, plan))
    for entry in missing:
        tell(Step(entry.name, "creating"))
        engine.create(_declared(entry))
    for entry in [*_with(Verdict.CHANGE, plan), *missing]:
        _Table(engine, _declared(entry), tell, pace).reconcile()


@dataclass(frozen=True, slots=True)
class _Table:
    engine: Engine
    table: Table
    tell: Callable[[Step], None]
    pace: Pace

    @property
    def name(self) -> str:
        return self.engine.prefix + self.table.name

    def reconcile(self) -> None:
        seen = self._settled()
        while change := next(iter(self._differences(seen)), None):
            index = f" {change.index}" if change.index else ""
            self._say(f"{change.aspect}{index}: {change.before} → {change.after}")
            self._ask(seen, change)
            seen = self._made(change)
        self._say("done")

    def _differences(self, seen: Seen) -> tuple[Change, ...]:
        rest = plan_table(self.table, seen, self.engine.prefix, self.engine.not_known)
        refuse_destruction(Plan((rest,)))
        return rest.changes

    def _ask(self, seen: Seen, change: Change) -> None:
        for _ in self.pace.beats(self.pace.timeout_s):
            if self._was_taken(seen, change):
                return
            self._say(f"waiting until {change.aspect} can be changed")
        raise self._late(f"{change.aspect} could not be changed")

    def _was_taken(self, seen: Seen, change: Change) -> bool:
        """A refusal because somebody else has just made the same change is none."""
        try:
            return self.engine.change(self.table, seen, change)
        except TidingsError:
            if change in self._differences(self._settled()):
                raise
            return True

    def _made(self, change: Change) -> Seen:
        """An answer may be older than the change, so it gets some time to show."""
        for _ in self.pace.beats(self.pace.effect_s):
            seen = self._settled()
            if change not in self._differences(seen):
                return seen
        raise TidingsError(
            Code.TABLES_FAILED,
            f"{self.name}: {change.aspect} was set to {change.after} and is still {change.before}",
            hint="The engine accepted the change and did not make it. Does it support it?",
        )

    def _settled(self) -> Seen:
        for _ in self.pace.beats(self.pace.timeout_s):
            seen = self.engine.look(self.name)
            if seen is not None and seen.is_settled:
                return seen
            self._say(_awaited(seen))
        raise self._late("it is not active")

    def _late(self, what: str) -> TidingsError:
        return TidingsError(
            Code.TABLES_FAILED,
            f"{self.name}: {what} after {self.pace.timeout_s:.0f} s",
            hint="What was begun goes on by itself. Apply again; that goes on from here.",
        )

    def _say(self, doing: str) -> None:
        self.tell(Step(self.name, doing))


def _awaited(seen: Seen | None) -> str:
    if seen is None or not seen.is_active:
        return "waiting until it is active"
    building = ", ".join(sorted(name for name, index in seen.indexes.items() if not index.is_active))
    return f"waiting until the index {building} is filled"


def _with(verdict: Verdict, plan: Plan) -> Iterable[TablePlan]:
    return (entry for entry in plan.tables if entry.verdict is verdict)


def _declared(entry: TablePlan) -> Table:
    if entry.table is None:
        raise AssertionError(f"{entry.name} is not declared, so there is nothing to make of it")
    return entry.table
