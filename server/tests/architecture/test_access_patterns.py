"""access_pattern_efficiency and gsi_justification: every access to a table is a named pattern, well formed and used."""

from pathlib import Path

import pytest
from architecture import first_data_model as asked
from architecture.dynamo_calls import CONSTANTS, breaches, used_patterns

from tidings.platform.dynamo.operations import Consistency, Operation
from tidings.schema.tables.declaration import BY_NAME, TABLES
from tidings.schema.tables.patterns import PATTERNS, REGISTRY, tenant_deletion
from tidings.schema.tables.patterns.builders import REPLACEMENTS, Pattern, PatternRole

SOURCE = Path(__file__).parents[2] / "src" / "tidings"
CLIENT = SOURCE / "platform" / "dynamo"
NOT_YET_USED = set((Path(__file__).parent / "not_yet_used.txt").read_text().split())

OF_EACH_TABLE = {each.name for each in (*tenant_deletion.LISTS.values(), *tenant_deletion.DELETES.values())}
"""Patterns without a constant of their own: the deletion of a tenant has two for each table."""
OF_SEVERAL_TABLES = {Operation.TRANSACT_WRITE_ITEMS, Operation.BATCH_GET_ITEM}
READS = {Operation.GET_ITEM, Operation.QUERY, Operation.BATCH_GET_ITEM}
DECIDING = {PatternRole.AUTHORISES, PatternRole.DELIVERS}
EVENTUAL_ON_PURPOSE = {
    "sessions.validate": "the token is verified already; a revocation shows within a second, and rotation is "
    "a conditional write",
    "users.find_erased": "an erasure waits for minutes after its first step, and members who were added meanwhile leave again",
}

every_pattern = pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@every_pattern
def test_a_pattern_is_well_formed(pattern: Pattern) -> None:
    assert set(pattern.tables) <= BY_NAME.keys()
    assert len(set(pattern.tables)) == len(pattern.tables) > 0
    assert len(pattern.tables) == 1 or pattern.operation in OF_SEVERAL_TABLES
    assert set(pattern.eventual_tables) <= set(pattern.tables)
    assert (pattern.operation in READS) == (pattern.consistency is not Consistency.WRITE)
    assert pattern.purpose.endswith((".", "?"))
    assert pattern.keys


def test_pattern_names_are_unique() -> None:
    assert len(REGISTRY) == len(PATTERNS) == len(CONSTANTS) + len(OF_EACH_TABLE)


def test_there_is_no_scan_among_the_operations() -> None:
    assert {operation.value for operation in Operation}.isdisjoint({"Scan", "ExecuteStatement"})


def row_is_served(row: asked.Asked, pattern: Pattern) -> bool:
    return (
        pattern.asked_as == row.row
        and row.table in pattern.tables
        and pattern.index == row.index
        and pattern.operation == row.operation
        and (pattern.consistency in row.reads or not row.reads)
    )


@pytest.mark.parametrize("row", asked.ACCESS_PATTERNS, ids=lambda row: row.row)
def test_every_required_pattern_is_served_or_replaced_with_a_reason(row: asked.Asked) -> None:
    served = [pattern.name for pattern in PATTERNS if row_is_served(row, pattern)]
    replaced = [each for each in REPLACEMENTS if each.asked_as == row.row]
    assert (len(served) > 0) != (len(replaced) > 0)
    assert len(replaced) <= 1


def test_all_required_rows_are_listed() -> None:
    assert len(asked.ACCESS_PATTERNS) == 17
    rows = {row.row for row in asked.ACCESS_PATTERNS}
    assert {pattern.asked_as for pattern in PATTERNS} - {""} | {
        each.asked_as for each in REPLACEMENTS
    } == rows


@pytest.mark.parametrize("replacement", REPLACEMENTS, ids=lambda each: each.asked_as)
def test_a_replacement_names_patterns_that_exist(replacement: object) -> None:
    (each,) = [known for known in REPLACEMENTS if known == replacement]
    assert each.by
    assert set(each.by) <= REGISTRY.keys()
    assert len(each.reason) > 40


def test_every_index_serves_a_pattern_and_every_index_read_is_declared() -> None:
    declared = {(table.name, index.name) for table in TABLES for index in table.indexes}
    assert {(pattern.tables[0], pattern.index) for pattern in PATTERNS if pattern.index} == declared


@pytest.mark.parametrize("table", [table for table in TABLES if table.indexes], ids=lambda table: table.name)
def test_no_index_duplicates_the_key_of_its_table(table: object) -> None:
    """An index by the table's own partition key would add nothing."""
    (each,) = [known for known in TABLES if known == table]
    assert all(index.partition != each.partition for index in each.indexes)


@every_pattern
def test_patterns_that_authorise_or_deliver_read_strongly_and_no_index(pattern: Pattern) -> None:
    if pattern.role in DECIDING:
        assert pattern.index is None
        assert pattern.consistency is not Consistency.EVENTUAL or pattern.name in EVENTUAL_ON_PURPOSE
    assert pattern.index is None or pattern.consistency is Consistency.EVENTUAL


def test_exceptions_for_eventual_reads_are_current() -> None:
    assert all(REGISTRY[name].consistency is Consistency.EVENTUAL for name in EVENTUAL_ON_PURPOSE)


def test_every_table_is_used() -> None:
    assert {name for pattern in PATTERNS for name in pattern.tables} == BY_NAME.keys()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_source_has_no_scan_and_does_not_bypass_the_client(path: Path) -> None:
    assert list(breaches(path.read_text(), is_dynamo_client=path.is_relative_to(CLIENT))) == []


def test_a_pattern_is_used_or_listed_as_not_yet_used() -> None:
    """The list only gets shorter: remove a name in the change that uses it."""
    sources = (path.read_text() for path in modules() if not path.is_relative_to(SOURCE / "schema/tables"))
    used = set().union(*map(used_patterns, sources)) | OF_EACH_TABLE
    assert sorted(used & NOT_YET_USED) == [], "used now: remove it from not_yet_used.txt"
    assert sorted(REGISTRY.keys() - used - NOT_YET_USED) == [], "unused pattern"
    assert sorted(NOT_YET_USED - REGISTRY.keys()) == [], "unknown pattern"


@pytest.mark.parametrize(
    "source",
    [
        "from tidings.schema.tables.patterns.messages import APPEND\n",
        "from tidings.schema.tables.patterns.messages import APPEND as PUT_ENTRY\nuse(PUT_ENTRY)\n",
        "from tidings.schema.tables.patterns import messages\nuse(messages.APPEND)\n",
        "from tidings.schema.tables.patterns import messages as ways\nuse(ways.APPEND)\n",
        "from tidings.schema.tables import patterns\nuse(patterns.messages.APPEND)\n",
        "import tidings.schema.tables.patterns.messages\nuse(tidings.schema.tables.patterns.messages.APPEND)\n",
        "import tidings.schema.tables.patterns.messages as ways\nuse(ways.APPEND)\n",
    ],
)
def test_a_used_pattern_is_found_however_it_is_imported(source: str) -> None:
    assert used_patterns(source) == {"messages.append"}


@pytest.mark.parametrize(
    "source",
    ["from elsewhere import messages\nuse(messages.APPEND)\n", "APPEND = 1\n", "'messages.append'\n"],
)
def test_a_similar_name_is_not_a_pattern(source: str) -> None:
    assert used_patterns(source) == set()


@pytest.mark.parametrize(
    "source",
    [
        "client.scan(TableName='x')",
        "getattr(client, 'scan')()",
        "call('Scan')",
        "call('DynamoDB_20120810.Scan')",
        "client.execute_statement(Statement='select')",
        "pages = client.get_paginator('scan')",
        "from x import Scan\nScan()",
    ],
)
def test_a_scan_is_found_even_in_the_client(source: str) -> None:
    assert list(breaches(source, is_dynamo_client=True))


@pytest.mark.parametrize(
    "source",
    [
        "client.put_item(TableName='x', Item={})",
        "client.query(TableName='x')",
        "client.query(**request)",
        "client.transact_write_items(TransactItems=[])",
        "getattr(client, 'get_item')",
        "call('DynamoDB_20120810.PutItem')",
        "call('BatchGetItem')",
        "client.get_paginator('batch_get_item')",
    ],
)
def test_a_call_that_bypasses_the_client_is_found(source: str) -> None:
    assert list(breaches(source))
    assert not list(breaches(source, is_dynamo_client=True))


@pytest.mark.parametrize(
    "source",
    [
        "await dynamo.query(messages.FOLLOW, Query(key))",
        "await dynamo.put(messages.APPEND, item)",
        "url.query",
        "Query(ScanIndexForward=False)",
        "'there is no Scan here'",
        "client.describe_table(TableName='x')",
        "scanned = reply.scanned",
    ],
)
def test_allowed_code_passes(source: str) -> None:
    assert not list(breaches(source))
