"""Observed tables that are exactly as declared; tests change them."""

from typing import TYPE_CHECKING, Any

from tidings.schema.tables.descriptions import ObservedIndex, ObservedTable, create_table
from tidings.schema.tables.diff import table_tags
from tidings.schema.tables.model import Table

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import TableDescriptionTypeDef

PREFIX = "tidings-"


def as_declared(table: Table, prefix: str = PREFIX) -> ObservedTable:
    return ObservedTable(
        name=prefix + table.name,
        arn=f"arn:aws:dynamodb:us-east-1:1:table/{prefix}{table.name}",
        keys=table.keys,
        status="ACTIVE",
        units=table.units,
        stream=table.stream,
        table_class=table.table_class,
        is_deletion_protected=table.is_deletion_protected,
        indexes={
            index.name: ObservedIndex(index.name, index.keys, index.projection, index.units, is_active=True)
            for index in table.indexes
        },
        size_bytes=2_000_000_000,
        item_count=1_234,
        ttl=table.ttl.attribute if table.ttl else None,
        pitr_days=table.backup.pitr_days if table.has_pitr else 0,
        tags=table_tags(table, prefix),
    )


def described(table: Table, **more: Any) -> "TableDescriptionTypeDef":
    """Return the answer of AWS after the creation of this table."""
    request: dict[str, Any] = dict(create_table(table, f"tidings-{table.name}", {}))
    mode, table_class, _ = (request.pop(name) for name in ("BillingMode", "TableClass", "Tags"))
    description: Any = {
        **request,
        "TableArn": "arn",
        "TableStatus": "ACTIVE",
        "TableClassSummary": {"TableClass": table_class},
        "GlobalSecondaryIndexes": [
            {**index, "IndexStatus": "ACTIVE"} for index in request.get("GlobalSecondaryIndexes", [])
        ],
        **({"BillingModeSummary": {"BillingMode": mode}} if mode == "PAY_PER_REQUEST" else {}),
        **more,
    }
    answer: TableDescriptionTypeDef = description
    return answer
