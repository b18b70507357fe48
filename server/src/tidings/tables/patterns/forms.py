"""What a pattern says beyond the call itself, and short forms for the operations, so that lists read as lists."""

from dataclasses import dataclass
from enum import StrEnum

from tidings.platform.dynamo.access import AccessPattern, Consistency, Operation
from tidings.tables.model import Table


class Role(StrEnum):
    """What hangs on a pattern's answer."""

    AUTHORISES = "authorises"
    DELIVERS = "delivers"
    RECORDS = "records"
    SHOWS = "shows"
    MAINTAINS = "maintains"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(AccessPattern):
    """An access pattern with its keys and its role; `adr_row` names the ADR's row that it serves, if one does."""

    keys: str
    role: Role
    adr_row: str = ""


def get(
    name: str,
    table: Table,
    keys: str,
    role: Role,
    purpose: str,
    *,
    consistency: Consistency = Consistency.STRONG,
    adr_row: str = "",
) -> Pattern:
    return Pattern(
        name,
        (table.name,),
        Operation.GET_ITEM,
        consistency,
        purpose,
        keys=keys,
        role=role,
        adr_row=adr_row,
    )


def batch_get(
    name: str, table: Table, keys: str, role: Role, purpose: str, *, consistency: Consistency
) -> Pattern:
    return Pattern(name, (table.name,), Operation.BATCH_GET_ITEM, consistency, purpose, keys=keys, role=role)


def query(
    name: str,
    table: Table,
    keys: str,
    role: Role,
    purpose: str,
    *,
    consistency: Consistency = Consistency.STRONG,
    adr_row: str = "",
) -> Pattern:
    return Pattern(
        name, (table.name,), Operation.QUERY, consistency, purpose, keys=keys, role=role, adr_row=adr_row
    )


def query_index(
    name: str, table: Table, keys: str, role: Role, purpose: str, *, index: str, adr_row: str = ""
) -> Pattern:
    """An index can't be read strongly, so there is nothing to choose."""
    return Pattern(
        name,
        (table.name,),
        Operation.QUERY,
        Consistency.EVENTUAL,
        purpose,
        index,
        keys=keys,
        role=role,
        adr_row=adr_row,
    )


def put(name: str, table: Table, keys: str, purpose: str, *, role: Role = Role.RECORDS) -> Pattern:
    return _write(name, (table,), Operation.PUT_ITEM, keys=keys, purpose=purpose, role=role)


def update(
    name: str, table: Table, keys: str, purpose: str, *, role: Role = Role.RECORDS, adr_row: str = ""
) -> Pattern:
    return _write(
        name, (table,), Operation.UPDATE_ITEM, keys=keys, purpose=purpose, role=role, adr_row=adr_row
    )


def delete(name: str, table: Table, keys: str, purpose: str, *, role: Role = Role.RECORDS) -> Pattern:
    return _write(name, (table,), Operation.DELETE_ITEM, keys=keys, purpose=purpose, role=role)


def batch_write(name: str, table: Table, keys: str, purpose: str, *, role: Role = Role.RECORDS) -> Pattern:
    return _write(name, (table,), Operation.BATCH_WRITE_ITEM, keys=keys, purpose=purpose, role=role)


def transact(name: str, tables: tuple[Table, ...], keys: str, purpose: str) -> Pattern:
    return _write(name, tables, Operation.TRANSACT_WRITE_ITEMS, keys=keys, purpose=purpose, role=Role.RECORDS)


def _write(
    name: str,
    tables: tuple[Table, ...],
    operation: Operation,
    *,
    keys: str,
    purpose: str,
    role: Role,
    adr_row: str = "",
) -> Pattern:
    names = tuple(table.name for table in tables)
    return Pattern(name, names, operation, Consistency.WRITE, purpose, keys=keys, role=role, adr_row=adr_row)
