"""Access patterns with their keys and roles, and a short function for each operation."""

from dataclasses import dataclass
from enum import StrEnum

from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.schema.tables.model import Table


class PatternRole(StrEnum):
    """The use of a pattern's answer."""

    AUTHORISES = "authorises"
    DELIVERS = "delivers"
    RECORDS = "records"
    SHOWS = "shows"
    MAINTAINS = "maintains"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(AccessPattern):
    """An access pattern with its keys and its role; `asked_as`: its row in the first data-model document."""

    keys: str
    role: PatternRole
    asked_as: str = ""


def get(
    name: str,
    table: Table,
    keys: str,
    role: PatternRole,
    purpose: str,
    *,
    consistency: Consistency = Consistency.STRONG,
    asked_as: str = "",
) -> Pattern:
    return Pattern(
        name,
        (table.name,),
        Operation.GET_ITEM,
        consistency,
        purpose,
        keys=keys,
        role=role,
        asked_as=asked_as,
    )


def batch_get(
    name: str, table: Table, keys: str, role: PatternRole, purpose: str, *, consistency: Consistency
) -> Pattern:
    return Pattern(name, (table.name,), Operation.BATCH_GET_ITEM, consistency, purpose, keys=keys, role=role)


def batch_get_tables(
    name: str,
    tables: tuple[Table, ...],
    keys: str,
    role: PatternRole,
    purpose: str,
    *,
    eventual: tuple[Table, ...] = (),
) -> Pattern:
    """Return a strongly consistent batch over several tables. Those in `eventual` are read eventually consistent."""
    return Pattern(
        name,
        tuple(table.name for table in tables),
        Operation.BATCH_GET_ITEM,
        Consistency.STRONG,
        purpose,
        eventual_tables=tuple(table.name for table in eventual),
        keys=keys,
        role=role,
    )


def query(
    name: str,
    table: Table,
    keys: str,
    role: PatternRole,
    purpose: str,
    *,
    consistency: Consistency = Consistency.STRONG,
    asked_as: str = "",
) -> Pattern:
    return Pattern(
        name, (table.name,), Operation.QUERY, consistency, purpose, keys=keys, role=role, asked_as=asked_as
    )


def query_index(
    name: str, table: Table, keys: str, role: PatternRole, purpose: str, *, index: str, asked_as: str = ""
) -> Pattern:
    """Return a query of an index. It is always eventually consistent."""
    return Pattern(
        name,
        (table.name,),
        Operation.QUERY,
        Consistency.EVENTUAL,
        purpose,
        index,
        keys=keys,
        role=role,
        asked_as=asked_as,
    )


def put(
    name: str, table: Table, keys: str, purpose: str, *, role: PatternRole = PatternRole.RECORDS
) -> Pattern:
    return _write(name, (table,), Operation.PUT_ITEM, keys=keys, purpose=purpose, role=role)


def update(
    name: str,
    table: Table,
    keys: str,
    purpose: str,
    *,
    role: PatternRole = PatternRole.RECORDS,
    asked_as: str = "",
) -> Pattern:
    return _write(
        name, (table,), Operation.UPDATE_ITEM, keys=keys, purpose=purpose, role=role, asked_as=asked_as
    )


def delete(
    name: str, table: Table, keys: str, purpose: str, *, role: PatternRole = PatternRole.RECORDS
) -> Pattern:
    return _write(name, (table,), Operation.DELETE_ITEM, keys=keys, purpose=purpose, role=role)


def batch_write(
    name: str, table: Table, keys: str, purpose: str, *, role: PatternRole = PatternRole.RECORDS
) -> Pattern:
    return _write(name, (table,), Operation.BATCH_WRITE_ITEM, keys=keys, purpose=purpose, role=role)


def transact(name: str, tables: tuple[Table, ...], keys: str, purpose: str) -> Pattern:
    return _write(
        name, tables, Operation.TRANSACT_WRITE_ITEMS, keys=keys, purpose=purpose, role=PatternRole.RECORDS
    )


def _write(
    name: str,
    tables: tuple[Table, ...],
    operation: Operation,
    *,
    keys: str,
    purpose: str,
    role: PatternRole,
    asked_as: str = "",
) -> Pattern:
    names = tuple(table.name for table in tables)
    return Pattern(
        name, names, operation, Consistency.WRITE, purpose, keys=keys, role=role, asked_as=asked_as
    )


@dataclass(frozen=True, slots=True)
class Replacement:
    """`by` names the patterns that serve the row's purpose now."""

    asked_as: str
    by: tuple[str, ...]
    reason: str


REPLACEMENTS = (
    Replacement(
        "Allocate sequence",
        ("messages.append", "messages.append_batch", "messages.append_keyed", "counters.raise"),
        "If a process increments a counter first and dies, the log has a hole, and readers can see 6 before 5. So "
        "the log is the counter: a put at head + 1 if that is absent. `chat_counters` follows the log.",
    ),
    Replacement(
        "Add member",
        ("chats.add_members", "chats.create", "chats.create_direct"),
        "A join is an entry of the log, in one transaction with its rows, so that sequences alone decide what a "
        "member may read.",
    ),
    Replacement(
        "Remove member",
        ("chats.remove_member",),
        "A deleted row would lose what its user was allowed to read. The interval is closed instead, in one "
        "transaction with the `leave` entry.",
    ),
    Replacement(
        "Check duplicate",
        ("idempotency.refuse",),
        "Strongly consistent. The duplicate check is before the membership check: an eventual read could miss the "
        "key and answer `not a member` to the retry of a message that was committed before its sender left.",
    ),
)
