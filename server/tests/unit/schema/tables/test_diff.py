from dataclasses import replace

import pytest
from unit.schema.tables.observed_tables import PREFIX, as_declared

from tidings.schema.plan import ChangeKind
from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, INBOX, MESSAGES, TABLES, USER_KEYS, USERS
from tidings.schema.tables.descriptions import ObservedTable
from tidings.schema.tables.diff import (
    TAG_PREFIX,
    TAG_TABLE,
    TableAspect,
    TableChange,
    TablePlan,
    apply_capacity_mode,
    plan_tables,
)
from tidings.schema.tables.model import CapacityUnits, KeyAttribute, KeyType, StreamView, Table, TableClass


def planned(
    table: Table, seen: ObservedTable | None, *, not_known: frozenset[TableAspect] = frozenset()
) -> TablePlan:
    existing = {} if seen is None else {seen.name: seen}
    return plan_tables([table], existing, prefix=PREFIX, not_known=not_known).entries[0]


def the_change(table: Table, seen: ObservedTable) -> TableChange:
    (change,) = planned(table, seen).changes
    return change


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_that_is_as_declared_is_unchanged(table: Table) -> None:
    entry = planned(table, as_declared(table))
    assert (entry.verdict, entry.changes) == (ChangeKind.UNCHANGED, ())


def test_a_missing_table_is_created_and_counts_as_drift() -> None:
    result = plan_tables([MESSAGES], {}, prefix=PREFIX)
    assert result.entries[0].verdict is ChangeKind.CREATE
    assert result.drift == ("tidings-messages: missing",)
    assert result.refused == ()


@pytest.mark.parametrize(
    ("seen", "aspect"),
    [
        (replace(as_declared(MESSAGES), is_deletion_protected=False), TableAspect.DELETION_PROTECTION),
        (replace(as_declared(MESSAGES), tags={}), TableAspect.TAGS),
        (replace(as_declared(MESSAGES), pitr_days=0), TableAspect.PITR),
        (replace(as_declared(MESSAGES), pitr_days=7), TableAspect.PITR),
        (replace(as_declared(MESSAGES), ttl=None), TableAspect.TTL),
        (replace(as_declared(MESSAGES), ttl="other"), TableAspect.TTL),
        (replace(as_declared(MESSAGES), stream=None), TableAspect.STREAM),
        (replace(as_declared(MESSAGES), stream=StreamView.KEYS_ONLY), TableAspect.STREAM),
        (replace(as_declared(MESSAGES), table_class=TableClass.INFREQUENT_ACCESS), TableAspect.TABLE_CLASS),
        (replace(as_declared(MESSAGES), units=CapacityUnits(5, 5)), TableAspect.CAPACITY),
    ],
    ids=lambda value: value if isinstance(value, TableAspect) else "",
)
def test_each_aspect_that_differs_is_one_change_that_can_be_made(
    seen: ObservedTable, aspect: TableAspect
) -> None:
    change = the_change(MESSAGES, seen)
    assert change.aspect is aspect
    assert change.before != change.after
    assert not change.refused


def test_unsupported_aspects_are_not_compared() -> None:
    bare = replace(as_declared(MESSAGES), pitr_days=0, tags={})
    assert planned(MESSAGES, bare, not_known=frozenset({TableAspect.PITR, TableAspect.TAGS})).changes == ()
    assert len(planned(MESSAGES, bare).changes) == 2


@pytest.mark.parametrize(
    "keys",
    [
        (KeyAttribute("chat_id"),),
        (KeyAttribute("chat_id"), KeyAttribute("sequence", KeyType.TEXT)),
        (KeyAttribute("id"), KeyAttribute("sequence", KeyType.NUMBER)),
    ],
    ids=["no sort key", "other type", "other name"],
)
def test_another_key_would_destroy_the_table(keys: tuple[KeyAttribute, ...]) -> None:
    entry = planned(MESSAGES, replace(as_declared(MESSAGES), keys=keys))
    assert entry.verdict is ChangeKind.REFUSED
    assert "1,234 items" in entry.changes[0].refused


def test_an_index_that_is_not_declared_would_be_destroyed() -> None:
    seen = as_declared(USERS)
    bare = replace(USERS, indexes=())
    entry = planned(bare, seen)
    assert entry.verdict is ChangeKind.REFUSED
    assert "phone_number-index" in entry.changes[0].refused


def test_an_index_with_another_projection_would_be_destroyed() -> None:
    seen = as_declared(USERS)
    index = replace(seen.indexes["phone_number-index"], projection="ALL")
    entry = planned(USERS, replace(seen, indexes={index.name: index}))
    assert entry.verdict is ChangeKind.REFUSED


def test_a_missing_index_is_created() -> None:
    change = the_change(CHAT_MEMBERSHIPS, replace(as_declared(CHAT_MEMBERSHIPS), indexes={}))
    assert (change.aspect, change.index, change.refused) == (TableAspect.INDEX, "user_chats-index", "")


def test_each_capacity_is_raised_to_the_declared_value() -> None:
    change = the_change(USERS, replace(as_declared(USERS), units=CapacityUnits(10, 500)))
    assert (change.before, change.after) == ("10 read, 500 write", "40 read, 500 write")


def test_manually_raised_capacity_is_not_drift() -> None:
    assert (
        planned(USERS, replace(as_declared(USERS), units=CapacityUnits(4000, 500))).verdict
        is ChangeKind.UNCHANGED
    )


def test_capacity_of_an_index_is_raised_and_never_lowered() -> None:
    seen = as_declared(USERS)
    for units, after in ((CapacityUnits(1, 900), "5 read, 900 write"), (CapacityUnits(900, 900), None)):
        index = replace(seen.indexes["phone_number-index"], units=units)
        entry = planned(USERS, replace(seen, indexes={index.name: index}))
        assert [change.after for change in entry.changes] == ([after] if after else [])


def test_a_table_that_becomes_provisioned_has_a_warning_about_throttling() -> None:
    change = the_change(USERS, replace(as_declared(USERS), units=None))
    assert (change.before, change.after) == ("on demand", "40 read, 5 write")
    assert "throttled" in change.note


def test_with_all_on_demand_no_table_is_provisioned() -> None:
    assert all(table.units is None for table in apply_capacity_mode(TABLES, on_demand=True))
    assert apply_capacity_mode(TABLES, on_demand=False) == TABLES
    (table,) = apply_capacity_mode([USERS], on_demand=True)
    assert the_change(table, as_declared(USERS)).after == "on demand"


def test_an_undeclared_stream_is_left_enabled() -> None:
    seen = replace(as_declared(USERS), stream=StreamView.NEW_AND_OLD_IMAGES)
    assert planned(USERS, seen).verdict is ChangeKind.UNCHANGED


def test_protection_that_is_not_declared_is_left_on() -> None:
    unprotected = replace(USERS, is_deletion_protected=False)
    assert planned(unprotected, as_declared(USERS)).verdict is ChangeKind.UNCHANGED


def test_a_ttl_that_is_not_declared_is_turned_off() -> None:
    change = the_change(USERS, replace(as_declared(USERS), ttl="ttl"))
    assert (change.before, change.after) == ("ttl", "off")


def test_foreign_tags_are_kept() -> None:
    seen = as_declared(USERS)
    assert (
        planned(USERS, replace(seen, tags={**seen.tags, "cost-centre": "7"})).verdict is ChangeKind.UNCHANGED
    )


def test_a_table_that_is_no_longer_declared_is_refused() -> None:
    gone = replace(as_declared(INBOX), name="tidings-old", tags={TAG_TABLE: "old", TAG_PREFIX: PREFIX})
    result = plan_tables([], {gone.name: gone}, prefix=PREFIX)
    assert result.entries[0].verdict is ChangeKind.REFUSED
    assert "tidings-old" in result.refused[0]


@pytest.mark.parametrize(
    "tags", [{}, {TAG_TABLE: "x", TAG_PREFIX: "tidings-staging-"}, {TAG_PREFIX: PREFIX}], ids=str
)
def test_other_tables_under_the_prefix_are_left_alone(tags: dict[str, str]) -> None:
    other = replace(as_declared(INBOX), name="tidings-staging-inbox", tags=tags)
    result = plan_tables([], {other.name: other}, prefix=PREFIX)
    assert result.entries[0].verdict is ChangeKind.UNKNOWN
    assert (result.drift, result.refused) == ((), ())


def test_keys_of_users_must_not_be_restorable_for_longer_than_declared() -> None:
    (change,) = planned(USER_KEYS, replace(as_declared(USER_KEYS), pitr_days=35)).changes
    assert (change.aspect, change.before, change.after) == (TableAspect.PITR, "35 days", "7 days")
