"""Tables for these tests alone: they read whole tables, which are large after the tests of other folders."""

from collections.abc import Iterator

import pytest
from fixtures.engines import Dynamo, Namespace
from fixtures.tables import Tables, make_tables


@pytest.fixture(scope="module")
def tables_local(dynamo_local: Dynamo) -> Iterator[Tables]:
    yield from make_tables(dynamo_local, Namespace().table_prefix)


@pytest.fixture(scope="module")
def tables_dynoxide(dynamo_dynoxide: Dynamo) -> Iterator[Tables]:
    yield from make_tables(dynamo_dynoxide, Namespace().table_prefix)
