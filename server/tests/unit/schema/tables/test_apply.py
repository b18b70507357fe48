"""The order of requests in `apply_tables`, with an engine that is late, busy or ignores them, and a fake clock."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from unit.schema.tables.observed_tables import PREFIX, as_declared

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.reconcile import ProgressEvent
from tidings.schema.tables.apply import POLL_POLICY, apply_tables, refuse_changes
from tidings.schema.tables.declaration import MESSAGES, TABLES, USERS
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.diff import TableAspect, TableChange, plan_tables
from tidings.schema.tables.model import PITR_DAYS, KeyAttribute, Table


@dataclass
class Clock:
    now_s: float = 0

    def now(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass
class FakeEngine:
    """Executes requests `late_s` after their answer. It can be busy before, or ignore them."""

    clock: Clock
    tables: dict[str, ObservedTable] = field(default_factory=dict)
    late_s: float = 0
    busy_times: int = 0
    lies: bool = False
    somebody_is_first: bool = False
    prefix: str = PREFIX
    not_known: frozenset[TableAspect] = frozenset()
    asked: list[str] = field(default_factory=list)
    coming: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def describe(self, name: str) -> ObservedTable | None:
        for at_s, happen in self.coming:
            if at_s <= self.clock.now():
                happen()
        self.coming = [(at_s, happen) for at_s, happen in self.coming if at_s > self.clock.now()]
        return self.tables.get(name)

    def create(self, table: Table) -> None:
        self.asked.append(f"create {table.name}")
        made = replace(as_declared(table), ttl=None, pitr_days=0)
        self._later(lambda: self.tables.__setitem__(made.name, made))

    def change(self, table: Table, seen: ObservedTable, change: TableChange) -> bool:
        if self.busy_times:
            self.busy_times -= 1
            return False
        self.asked.append(f"{change.aspect} {table.name}")
        self._later(lambda: self.tables.__setitem__(seen.name, _made(table, self.tables[seen.name], change)))
        if self.somebody_is_first:
            raise TidingsError(Code.TABLES_FAILED, "is already enabled")
        return True

    def _later(self, happen: Callable[[], None]) -> None:
        if not self.lies:
            self.coming.append((self.clock.now() + self.late_s, happen))


def _made(table: Table, seen: ObservedTable, change: TableChange) -> ObservedTable:
    if change.aspect is TableAspect.TTL:
        return replace(seen, ttl=None if seen.ttl else as_declared(table).ttl)
    made = {
        TableAspect.PITR: {"pitr_days": table.backup.pitr_days},
        TableAspect.DELETION_PROTECTION: {"is_deletion_protected": True},
    }
    return replace(seen, **made[change.aspect])  # type: ignore[arg-type]  # mypy sees one type for all values


def run(
    engine: FakeEngine, tables: tuple[Table, ...] = TABLES, timeout_s: float = 1800
) -> list[ProgressEvent]:
    steps: list[ProgressEvent] = []
    policy = replace(POLL_POLICY, timeout_s=timeout_s, now=engine.clock.now, pause=engine.clock.pause)
    apply_tables(engine, plan_tables(tables, engine.tables, prefix=PREFIX), steps.append, policy)
    return steps


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(Clock())


def test_all_tables_are_requested_before_any_is_waited_for(engine: FakeEngine) -> None:
    engine.late_s = 30
    run(engine)
    assert engine.asked[: len(TABLES)] == [f"create {table.name}" for table in TABLES]
    assert plan_tables(TABLES, engine.tables, prefix=PREFIX).drift == ()


def test_a_second_run_requests_nothing(engine: FakeEngine) -> None:
    run(engine)
    engine.asked.clear()
    run(engine)
    assert engine.asked == []


def test_an_answer_from_before_the_change_is_not_a_failure(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "messages": replace(as_declared(MESSAGES), pitr_days=0)}
    engine.late_s = 20
    run(engine, (MESSAGES,))
    assert engine.asked == [f"{TableAspect.PITR} messages"]


def test_a_busy_engine_is_retried(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "messages": replace(as_declared(MESSAGES), pitr_days=0)}
    engine.busy_times = 7
    steps = run(engine, (MESSAGES,))
    assert any("can be changed" in step.action for step in steps)
    assert engine.asked == [f"{TableAspect.PITR} messages"]


def test_a_change_that_another_process_made_first_is_no_failure(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "messages": replace(as_declared(MESSAGES), pitr_days=0)}
    engine.somebody_is_first = True
    run(engine, (MESSAGES,))
    assert engine.tables[PREFIX + "messages"].pitr_days == PITR_DAYS


def test_a_refusal_is_raised(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "messages": replace(as_declared(MESSAGES), pitr_days=0)}
    engine.lies = engine.somebody_is_first = True
    with pytest.raises(TidingsError, match="already"):
        run(engine, (MESSAGES,))


def test_another_ttl_attribute_takes_two_steps(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "messages": replace(as_declared(MESSAGES), ttl="old")}
    run(engine, (MESSAGES,))
    assert engine.asked == [f"{TableAspect.TTL} messages"] * 2
    assert engine.tables[PREFIX + "messages"].ttl == "expires_at"


def test_an_engine_that_accepts_and_does_nothing_is_reported(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "messages": replace(as_declared(MESSAGES), pitr_days=0)}
    engine.lies = True
    with pytest.raises(TidingsError, match="is still off") as caught:
        run(engine, (MESSAGES,))
    assert caught.value.code is Code.TABLES_FAILED


def test_a_table_that_never_becomes_active_ends_the_wait(engine: FakeEngine) -> None:
    engine.lies = True
    with pytest.raises(TidingsError, match="not active after 60 s") as caught:
        run(engine, (MESSAGES,), timeout_s=60)
    assert caught.value.code is Code.TABLES_FAILED
    assert engine.clock.now() < 70


def test_a_plan_that_would_destroy_something_is_refused_whole(engine: FakeEngine) -> None:
    engine.tables = {PREFIX + "users": replace(as_declared(USERS), keys=(KeyAttribute("id"),))}
    with pytest.raises(TidingsError, match="1,234 items") as caught:
        run(engine)
    assert caught.value.code is Code.TABLES_DESTRUCTIVE
    assert engine.asked == []


def test_a_table_that_appears_with_other_keys_while_we_apply_is_refused(engine: FakeEngine) -> None:
    wrong = replace(as_declared(USERS), keys=(KeyAttribute("id"),))
    engine.coming.append((0, lambda: engine.tables.__setitem__(wrong.name, wrong)))
    engine.late_s = 9999
    with pytest.raises(TidingsError) as caught:
        run(engine, (USERS,))
    assert caught.value.code is Code.TABLES_DESTRUCTIVE


def test_each_wait_and_each_change_is_reported(engine: FakeEngine) -> None:
    engine.late_s = 30
    doing = [step.action for step in run(engine, (MESSAGES,))]
    assert doing[0] == "creating"
    assert "waiting: the table is not active" in doing
    assert "TTL: off → expires_at" in doing
    assert doing[-1] == "done"


def test_on_aws_an_existing_table_is_changed_by_the_module_only() -> None:
    existing = {PREFIX + table.name: as_declared(table) for table in TABLES}
    refuse_changes(plan_tables(TABLES, existing, prefix=PREFIX))
    refuse_changes(plan_tables(TABLES, {}, prefix=PREFIX))
    existing[PREFIX + USERS.name] = replace(as_declared(USERS), pitr_days=0)
    with pytest.raises(TidingsError, match="users") as refused:
        refuse_changes(plan_tables(TABLES, existing, prefix=PREFIX))
    assert refused.value.code is Code.TABLES_DRIFT
    assert "infra/tofu/dynamodb" in refused.value.hint
