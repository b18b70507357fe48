"""What is asked of DynamoDB's control plane, as its parameters. Pure: declared data in, dicts out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidings.tables.model import CapacityUnits, Index, KeyAttribute, Table

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import (
        AttributeDefinitionTypeDef,
        CreateGlobalSecondaryIndexActionTypeDef,
        CreateTableInputTypeDef,
        GlobalSecondaryIndexUpdateTypeDef,
        KeySchemaElementTypeDef,
        ProvisionedThroughputTypeDef,
        TagTypeDef,
        UpdateTableInputTypeDef,
    )


def create_table(table: Table, name: str, tags: Mapping[str, str]) -> "CreateTableInputTypeDef":
    """TTL and point-in-time recovery can't be asked for here; they follow once the table stands."""
    request: CreateTableInputTypeDef = {
        "TableName": name,
        "AttributeDefinitions": attribute_definitions(table),
        "KeySchema": key_schema(table.keys),
        "BillingMode": "PROVISIONED" if table.units else "PAY_PER_REQUEST",
        "TableClass": table.table_class.value,
        "DeletionProtectionEnabled": table.is_deletion_protected,
        "Tags": tag_list(tags),
    }
    if table.units:
        request["ProvisionedThroughput"] = provisioned_throughput(table.units)
    if table.indexes:
        request["GlobalSecondaryIndexes"] = [index_action(table, index) for index in table.indexes]
    if table.stream:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream.value}
    return request


def change_capacity(
    name: str, units: CapacityUnits | None, index_units: Mapping[str, CapacityUnits]
) -> "UpdateTableInputTypeDef":
    """A table that becomes provisioned must name capacity for each of its indexes in the same call."""
    if units is None:
        return {"TableName": name, "BillingMode": "PAY_PER_REQUEST"}
    request: UpdateTableInputTypeDef = {
        "TableName": name,
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": provisioned_throughput(units),
    }
    if index_units:
        request["GlobalSecondaryIndexUpdates"] = [index_capacity(*entry) for entry in index_units.items()]
    return request


def index_capacity(index: str, units: CapacityUnits) -> "GlobalSecondaryIndexUpdateTypeDef":
    return {"Update": {"IndexName": index, "ProvisionedThroughput": provisioned_throughput(units)}}


def create_index(table: Table, name: str, index: Index) -> "UpdateTableInputTypeDef":
    return {
        "TableName": name,
        "AttributeDefinitions": attribute_definitions(table),
        "GlobalSecondaryIndexUpdates": [{"Create": index_action(table, index)}],
    }


def index_action(table: Table, index: Index) -> "CreateGlobalSecondaryIndexActionTypeDef":
    action: CreateGlobalSecondaryIndexActionTypeDef = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.keys),
        "Projection": {"ProjectionType": index.projection.value},
    }
    if table.units:
        action["ProvisionedThroughput"] = provisioned_throughput(index.units)
    return action


def attribute_definitions(table: Table) -> "list[AttributeDefinitionTypeDef]":
    return [
        {"AttributeName": name, "AttributeType": kind.value} for name, kind in table.key_attributes.items()
    ]


def key_schema(keys: tuple[KeyAttribute, ...]) -> "list[KeySchemaElementTypeDef]":
    schema: list[KeySchemaElementTypeDef] = [{"AttributeName": keys[0].name, "KeyType": "HASH"}]
    schema += [{"AttributeName": key.name, "KeyType": "RANGE"} for key in keys[1:]]
    return schema


def provisioned_throughput(units: CapacityUnits) -> "ProvisionedThroughputTypeDef":
    return {"ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write}


def tag_list(tags: Mapping[str, str]) -> "list[TagTypeDef]":
    return [{"Key": name, "Value": value} for name, value in sorted(tags.items())]
