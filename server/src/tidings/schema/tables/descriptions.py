"""Requests and answers of DynamoDB's control plane: declared tables to parameters, descriptions to data. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidings.schema.tables.model import (
    CapacityUnits,
    Index,
    KeyAttribute,
    KeyType,
    StreamView,
    Table,
    TableClass,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from types_boto3_dynamodb.type_defs import (
        AttributeDefinitionTypeDef,
        CreateGlobalSecondaryIndexActionTypeDef,
        CreateTableInputTypeDef,
        GlobalSecondaryIndexDescriptionTypeDef,
        GlobalSecondaryIndexUpdateTypeDef,
        KeySchemaElementTypeDef,
        ProvisionedThroughputTypeDef,
        TableDescriptionTypeDef,
        TagTypeDef,
        TimeToLiveDescriptionTypeDef,
        UpdateTableInputTypeDef,
    )


def create_table(table: Table, name: str, tags: Mapping[str, str]) -> "CreateTableInputTypeDef":
    """Return the parameters of CreateTable. TTL and point-in-time recovery follow once the table is active."""
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
    """Return the parameters of a capacity change. A table that becomes provisioned must name that of each index too."""
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


@dataclass(frozen=True, slots=True)
class ObservedIndex:
    name: str
    keys: tuple[KeyAttribute, ...]
    projection: str
    units: CapacityUnits
    is_active: bool


@dataclass(frozen=True, slots=True)
class ObservedTable:
    """A table as DynamoDB describes it. `ttl`, `pitr_days` and `tags` need separate requests.

    pitr_days: days of point-in-time recovery; 0 if it is off.
    """

    name: str
    arn: str
    keys: tuple[KeyAttribute, ...]
    status: str
    units: CapacityUnits | None
    stream: StreamView | None
    table_class: TableClass
    is_deletion_protected: bool
    indexes: Mapping[str, ObservedIndex] = field(default_factory=dict)
    size_bytes: int = 0
    item_count: int = 0
    ttl: str | None = None
    pitr_days: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    replicas: tuple[str, ...] = ()
    """Other regions that can write to this global table now."""

    @property
    def is_active(self) -> bool:
        return self.status == "ACTIVE"

    @property
    def is_incomplete(self) -> bool:
        """Whether it is being created or deleted, so that further requests would fail."""
        return self.status in ("CREATING", "DELETING")

    @property
    def is_stable(self) -> bool:
        return self.is_active and all(index.is_active for index in self.indexes.values())


def read_table(answer: "TableDescriptionTypeDef") -> ObservedTable:
    types = {
        attribute["AttributeName"]: KeyType(attribute["AttributeType"])
        for attribute in answer.get("AttributeDefinitions", [])
    }
    indexes = (_read_index(index, types) for index in answer.get("GlobalSecondaryIndexes", []))
    return ObservedTable(
        name=answer["TableName"],
        arn=answer["TableArn"],
        keys=_read_keys(answer["KeySchema"], types),
        status=answer["TableStatus"],
        units=_read_capacity(answer),
        stream=_read_stream(answer),
        table_class=TableClass(answer.get("TableClassSummary", {}).get("TableClass", TableClass.STANDARD)),
        is_deletion_protected=answer.get("DeletionProtectionEnabled", False),
        indexes={index.name: index for index in indexes},
        size_bytes=answer.get("TableSizeBytes", 0),
        item_count=answer.get("ItemCount", 0),
        replicas=_read_replicas(answer),
    )


def read_ttl(answer: "TimeToLiveDescriptionTypeDef") -> str | None:
    """Return the TTL attribute; None as soon as it is being turned off."""
    if answer.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"):
        return answer.get("AttributeName")
    return None


def _read_replicas(answer: "TableDescriptionTypeDef") -> tuple[str, ...]:
    here = answer["TableArn"].partition(":dynamodb:")[2].partition(":")[0]
    names = {
        replica.get("RegionName", "")
        for replica in answer.get("Replicas", [])
        if replica.get("ReplicaStatus") == "ACTIVE"
    }
    return tuple(sorted(names - {here, ""}))


def _read_keys(
    schema: "Iterable[KeySchemaElementTypeDef]", types: Mapping[str, KeyType]
) -> tuple[KeyAttribute, ...]:
    in_order = sorted(schema, key=lambda element: element["KeyType"] != "HASH")
    return tuple(
        KeyAttribute(element["AttributeName"], types[element["AttributeName"]]) for element in in_order
    )


def _read_capacity(answer: "TableDescriptionTypeDef") -> CapacityUnits | None:
    """Return the provisioned capacity. A table that was always provisioned has no billing mode in its description."""
    if answer.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        return None
    return _read_units(answer.get("ProvisionedThroughput", {}))


def _read_units(throughput: Mapping[str, object]) -> CapacityUnits:
    read, write = throughput.get("ReadCapacityUnits", 0), throughput.get("WriteCapacityUnits", 0)
    return CapacityUnits(int(str(read)), int(str(write)))


def _read_stream(answer: "TableDescriptionTypeDef") -> StreamView | None:
    stream = answer.get("StreamSpecification", {"StreamEnabled": False})
    return StreamView(str(stream.get("StreamViewType"))) if stream["StreamEnabled"] else None


def _read_index(
    answer: "GlobalSecondaryIndexDescriptionTypeDef", types: Mapping[str, KeyType]
) -> ObservedIndex:
    projection = answer.get("Projection", {})
    included = ", ".join(sorted(projection.get("NonKeyAttributes", [])))
    return ObservedIndex(
        name=answer["IndexName"],
        keys=_read_keys(answer["KeySchema"], types),
        projection=f"{projection.get('ProjectionType', '')}{f' ({included})' if included else ''}",
        units=_read_units(answer.get("ProvisionedThroughput", {})),
        is_active=answer.get("IndexStatus") == "ACTIVE",
    )
