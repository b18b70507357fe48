"""Reading DescribeTable's answers, as AWS and the two local engines give them."""

import pytest
from unit.schema.tables.observed_tables import described

from tidings.installation.restore import refuse_replicas
from tidings.kernel.errors import Code, TidingsError
from tidings.schema.tables.declaration import MESSAGES, SESSIONS, TABLES, USERS
from tidings.schema.tables.descriptions import read_table, read_ttl
from tidings.schema.tables.model import CapacityUnits, Table, TableClass


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_description_is_read_as_requested(table: Table) -> None:
    seen = read_table(described(table))
    assert seen.keys == table.keys
    assert seen.units == table.units
    assert seen.stream == table.stream
    assert seen.table_class == table.table_class
    assert seen.is_deletion_protected == table.is_deletion_protected
    assert {name: (index.keys, index.projection) for name, index in seen.indexes.items()} == {
        index.name: (index.keys, index.projection) for index in table.indexes
    }


def test_a_missing_table_class_means_standard() -> None:
    assert read_table(described(MESSAGES, TableClassSummary={})).table_class is TableClass.STANDARD


def test_zero_units_with_on_demand_mean_no_capacity() -> None:
    zero = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    assert read_table(described(MESSAGES, ProvisionedThroughput=zero)).units is None
    assert read_table(described(USERS)).units == CapacityUnits(40, 5)


def test_a_table_is_active_when_its_indexes_are() -> None:
    assert read_table(described(SESSIONS)).is_stable
    building = described(SESSIONS)
    building["GlobalSecondaryIndexes"][0]["IndexStatus"] = "CREATING"
    assert not read_table(building).is_stable
    assert not read_table(described(SESSIONS, TableStatus="UPDATING")).is_stable


def test_an_index_with_chosen_attributes_is_described_with_them() -> None:
    answer = described(SESSIONS)
    answer["GlobalSecondaryIndexes"][0]["Projection"] = {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["b", "a"],
    }
    assert read_table(answer).indexes["user_sessions-index"].projection == "INCLUDE (a, b)"


def test_a_ttl_that_is_changing_counts_as_its_target() -> None:
    assert read_ttl({"TimeToLiveStatus": "ENABLING", "AttributeName": "ttl"}) == "ttl"
    assert read_ttl({"TimeToLiveStatus": "DISABLING", "AttributeName": "ttl"}) is None
    assert read_ttl({"TimeToLiveStatus": "DISABLED"}) is None


def test_a_restore_is_refused_while_another_region_can_write() -> None:
    """By the answer that AWS gives for a global table; DynamoDB Local knows no replicas."""
    regions = [
        {"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"},
        {"RegionName": "us-west-2", "ReplicaStatus": "DELETING"},
    ]
    seen = [read_table(described(USERS)), read_table(described(MESSAGES, Replicas=regions))]
    assert [each.replicas for each in seen] == [(), ("eu-west-1",)]
    with pytest.raises(TidingsError, match="eu-west-1") as caught:
        refuse_replicas(seen, is_fenced=False)
    assert caught.value.code is Code.STILL_RUNNING
    refuse_replicas(seen, is_fenced=True)
    refuse_replicas(seen[:1], is_fenced=False)
