"""Compute a capacity plan from a workload. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from tidings.capacity import fleet, measured, prices
from tidings.capacity.limits import backups_month, warnings_of
from tidings.capacity.model import (
    DAY_S,
    DAYS_PER_MONTH,
    CapacityPlan,
    CostLine,
    FleetLoad,
    TableLoad,
    Workload,
)
from tidings.capacity.operations import ROW_BYTES
from tidings.capacity.rules import Daily, daily_operations, hot_keys, messages_of, monthly_loads, partitions
from tidings.schema.tables import pricing
from tidings.schema.tables.declaration import BY_NAME, TABLES
from tidings.schema.tables.model import TableClass

MILLION = 1_000_000
AUTO_SCALING_TARGET = Decimal("0.7")
"""Share of the provisioned capacity that auto scaling aims at."""
_ITEM_BYTES = 100
"""DynamoDB adds 100 bytes to each item."""
_PRICES = pricing.PRICES[TableClass.STANDARD]


class _DayUnits(NamedTuple):
    writes: float
    reads: float


def make_plan(workload: Workload) -> CapacityPlan:
    daily = daily_operations(workload)
    tables = _tables(workload, daily)
    machines = FleetLoad(fleet.processes(workload), fleet.kafka(workload), fleet.redis(workload))
    keys = hot_keys(workload)
    costs = _costs(workload, tables, machines)
    total = sum((line.dollars for line in costs), Decimal(0))
    millions = Decimal(workload.messages_per_day * DAYS_PER_MONTH) / MILLION
    return CapacityPlan(
        workload=workload,
        messages_per_s=workload.peak_messages_per_s,
        connections=workload.connections,
        operations=monthly_loads(daily),
        tables=tables,
        hot_keys=keys,
        fleet=machines,
        costs=costs,
        dollars_per_month=total,
        dollars_per_million_messages=total / millions if millions else Decimal(0),
        warnings=warnings_of(workload, tables, keys, machines),
    )


def _tables(workload: Workload, daily: Iterable[Daily]) -> tuple[TableLoad, ...]:
    """Return the tables that the workload uses, each followed by its indexes."""
    used = _day_units(daily)
    storage = _storage_gb(workload)
    copies = 2 if workload.has_standby else 1
    loads = []
    for name in _names():
        units = used.get(name, _DayUnits(0, 0))
        if not any(units) and not storage.get(name):
            continue
        table = BY_NAME.get(name)
        replicas = copies if table is not None and table.backup.has_standby else 1
        loads.append(_table(workload, name, units, storage.get(name, 0.0), replicas))
    return tuple(loads)


def _table(workload: Workload, name: str, units: _DayUnits, storage_gb: float, replicas: int) -> TableLoad:
    write_s, read_s = workload.per_s(units.writes), workload.per_s(units.reads)
    writes, reads = units.writes * DAYS_PER_MONTH, units.reads * DAYS_PER_MONTH
    hours = Decimal(pricing.HOURS_PER_MONTH) / AUTO_SCALING_TARGET / DAY_S
    on_demand = (
        Decimal(writes) * replicas * _PRICES.million_writes + Decimal(reads) * _PRICES.million_reads
    ) / MILLION
    provisioned = hours * (
        Decimal(units.writes) * replicas * _PRICES.write_unit_hour
        + Decimal(units.reads) * _PRICES.read_unit_hour
    )
    table = BY_NAME.get(name)
    gb_month = pricing.gb_month(table) if table is not None else _PRICES.storage_gb_month
    return TableLoad(
        table=name,
        write_per_s=write_s,
        read_per_s=read_s,
        month_writes=writes,
        month_reads=reads,
        storage_gb=storage_gb,
        partitions=partitions(write_s, read_s, storage_gb),
        on_demand=on_demand,
        provisioned=provisioned,
        storage=gb_month * Decimal(storage_gb) * replicas,
    )


def _names() -> Iterable[str]:
    for table in TABLES:
        yield table.name
        yield from (index.name for index in table.indexes)


def _day_units(daily: Iterable[Daily]) -> Mapping[str, _DayUnits]:
    found: dict[str, _DayUnits] = defaultdict(lambda: _DayUnits(0, 0))
    for operation, count in daily:
        for name, units in (*operation.writes.items(), *operation.indexes.items()):
            found[name] = found[name]._replace(writes=found[name].writes + units * count)
        for name, units in operation.reads.items():
            found[name] = found[name]._replace(reads=found[name].reads + units * count)
    return found


def _storage_gb(workload: Workload) -> Mapping[str, float]:
    """Return the size of the tables that grow with messages and chats."""
    row_gb = (ROW_BYTES + _ITEM_BYTES) / 1e9
    rows = workload.daily_users * workload.chats
    away = messages_of(workload).direct * (1 - workload.connected_share)
    return {
        "messages": fleet.entries_gb(workload),
        "delivery_state": rows * row_gb,
        "chat_memberships": rows * row_gb,
        "user_chats-index": rows * row_gb,
        "users": workload.daily_users * row_gb,
        "pending_queue": away / max(1, workload.connects) * row_gb * 2,
    }


def _costs(
    workload: Workload,
    tables: tuple[TableLoad, ...],
    machines: FleetLoad,
) -> tuple[CostLine, ...]:
    processes, brokers, shards = machines.processes, machines.kafka, machines.redis
    core_month = prices.CORE_HOUR * pricing.HOURS_PER_MONTH
    broker_cores = brokers.brokers * fleet.BROKER_CORES[fleet.installation_size(workload)]
    nodes = shards.shards * 2
    stored = workload.messages_per_day * workload.attachment_share
    attachments_gb = stored * workload.kept_days * workload.attachment_bytes / 1e9
    puts, gets = stored * DAYS_PER_MONTH / MILLION, stored * DAYS_PER_MONTH / MILLION
    return (
        CostLine("DynamoDB requests, on demand", sum((each.on_demand for each in tables), Decimal(0))),
        CostLine("DynamoDB storage and recovery", sum((each.storage for each in tables), Decimal(0))),
        CostLine("DynamoDB daily backups", backups_month(tables)),
        CostLine("processes", sum(each.count for each in processes) * core_month),
        CostLine(
            "Kafka brokers", broker_cores * core_month + Decimal(brokers.disk_gb) * prices.DISK_GB_MONTH
        ),
        CostLine("Redis, with a replica of each shard", nodes * 2 * core_month),
        CostLine(
            "S3",
            Decimal(attachments_gb) * prices.OBJECT_GB_MONTH
            + Decimal(puts) * prices.MILLION_PUTS
            + Decimal(gets) * prices.MILLION_GETS,
        ),
        CostLine("traffic to the internet", prices.transfer_out(_out_gb(workload))),
    )


def _out_gb(workload: Workload) -> float:
    """Return a month's traffic: messages to the devices of recipients, pages of history, and one download of each file."""
    messages = messages_of(workload)
    received = (
        messages.direct + messages.small * messages.small_others + messages.large * messages.large_others
    )
    size = measured.WIRE_BYTES.value - measured.WIRE_TEXT_BYTES + workload.message_bytes
    pages = workload.daily_users * workload.chat_opens * 20
    files = workload.messages_per_day * workload.attachment_share * workload.attachment_bytes
    return (received * workload.devices * size + pages * size + files) * DAYS_PER_MONTH / 1e9
