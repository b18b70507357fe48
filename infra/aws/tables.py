"""Render the declared tables, the bounds of their auto scaling and their alarms as locals of the OpenTofu module.

The module has one hand-written resource of each kind, which loops over these locals.
"""

import json
from pathlib import Path
from typing import Any, Final

from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.model import CapacityUnits, Index, Table
from tidings.schema.tables.patterns import PATTERNS
from tidings.schema.tables.pricing import Alarm, AlarmSource, table_alarms

MODULE: Final = Path(__file__).parents[1] / "tofu" / "dynamodb"
TABLES_FILE: Final = "tables.tf.json"
_TARGET_PERCENT = 70
_COMMENT = "Generated from the declaration of the tables by `just infra-write`. Do not edit."


def render_tables() -> str:
    """Return the text of `tables.tf.json`."""
    found = {
        "tables": {table.name: _table(table) for table in TABLES},
        "scaling": {key: target for table in TABLES for key, target in _scaling(table)},
        "alarms": {key: alarm for table in TABLES for key, alarm in _alarms(table)},
    }
    return json.dumps({"//": _COMMENT, "locals": found}, indent=2) + "\n"


def _table(table: Table) -> dict[str, Any]:
    return {
        "hash_key": table.partition.name,
        "range_key": None if table.sort is None else table.sort.name,
        "attributes": {name: kind.value for name, kind in table.key_attributes.items()},
        "indexes": {index.name: _index(table, index) for index in table.indexes},
        "ttl": None if table.ttl is None else table.ttl.attribute,
        "stream": None if table.stream is None else table.stream.value,
        "class": table.table_class.value,
        "is_protected": table.is_deletion_protected,
        "pitr_days": table.backup.pitr_days if table.has_pitr else None,
        "has_daily_backups": table.backup.has_daily_backups,
        "has_standby": table.backup.has_standby,
        **_units(table.units),
    }


def _index(table: Table, index: Index) -> dict[str, Any]:
    return {
        "hash_key": index.partition.name,
        "range_key": None if index.sort is None else index.sort.name,
        "projection": index.projection.value,
        **_units(index.units if table.units else None),
    }


def _units(units: CapacityUnits | None) -> dict[str, int | None]:
    """Return provisioned capacity; without it, the table is on demand."""
    return {"read": None, "write": None} if units is None else {"read": units.read, "write": units.write}


def _scaling(table: Table) -> list[tuple[str, dict[str, Any]]]:
    """Return the bounds of each capacity that auto scaling changes: of provisioned tables and their indexes."""
    if table.units is None or table.highest_units is None:
        return []
    # Writes of an index follow those of its table. If the index had too little capacity, it would throttle the table.
    factor = -(-table.highest_units.write // table.units.write)
    scaled: list[tuple[str | None, CapacityUnits, CapacityUnits]] = [(None, table.units, table.highest_units)]
    scaled += [(index.name, index.units, index.units.times(factor)) for index in table.indexes]
    return [
        (
            "-".join(filter(None, (table.name, index, kind.lower()))),
            {
                "table": table.name,
                "index": index,
                "kind": kind,
                "min": getattr(low, kind.lower()),
                "max": getattr(high, kind.lower()),
                "target_percent": _TARGET_PERCENT,
            },
        )
        for index, low, high in scaled
        for kind in ("Read", "Write")
    ]


def _alarms(table: Table) -> list[tuple[str, dict[str, Any]]]:
    """Return the alarms on metrics of CloudWatch. Prometheus has those on metrics of Tidings."""
    alarms = [each for each in table_alarms(table) if each.source is AlarmSource.CLOUDWATCH]
    return [pair for alarm in alarms for pair in _alarm(table, alarm)]


def _alarm(table: Table, alarm: Alarm) -> list[tuple[str, dict[str, Any]]]:
    operations = _operations(table) if alarm.per == "operation" else [None]
    is_percentile = alarm.statistic.startswith("p")
    return [
        (
            "-".join(filter(None, (table.name, alarm.metric, operation))),
            {
                "table": table.name,
                "operation": operation,
                "metric": alarm.metric,
                "statistic": None if is_percentile else alarm.statistic,
                "percentile": alarm.statistic if is_percentile else None,
                "threshold": alarm.threshold,
                "period_s": alarm.period_s,
                "description": f"{table.name}: {alarm.why}",
            },
        )
        for operation in operations
    ]


def _operations(table: Table) -> list[str]:
    return sorted({each.operation.value for each in PATTERNS if table.name in each.tables})
