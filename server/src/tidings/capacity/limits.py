"""Compare a plan with the limits of AWS and of Tidings, and name what lifts each. Pure."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from tidings.capacity import fleet
from tidings.capacity.model import (
    DAY_S,
    FleetLoad,
    HotKey,
    KafkaLoad,
    PlanWarning,
    ProcessLoad,
    RedisLoad,
    TableLoad,
    Workload,
)
from tidings.capacity.operations import ENTRY_BYTES
from tidings.capacity.rules import MAX_CHECKED_MEMBERS, entry_bytes, messages_of
from tidings.schema.tables import pricing
from tidings.schema.tables.declaration import BY_NAME
from tidings.schema.tables.limits import CONTENT_BYTES
from tidings.schema.tables.model import DAILY_BACKUP_RETENTION_DAYS, PITR_DAYS

WARN_AT = 0.8
PARTITION_WRITES, PARTITION_READS = 1_000, 3_000
NEW_TABLE_WRITES, NEW_TABLE_READS = 4_000, 12_000
"""Units per second of a new table on demand."""
DEFAULT_MEMBERS, MAX_MEMBERS = 1_000, 100_000
INDEX_WRITES = 1_000
MANY_USERS, MUCH_GB = 1_000_000, 1_000
REDIS_SHARDS, REDIS_MAX_SHARDS = 1, 500
STREAM_SHARDS = 100
"""Shards of the stream that one relay can read within its leases, as planned."""


def warnings_of(
    workload: Workload,
    tables: Iterable[TableLoad],
    keys: Iterable[HotKey],
    machines: FleetLoad,
) -> tuple[PlanWarning, ...]:
    tables = tuple(tables)
    return (
        *_of_tables(tables),
        *_of_keys(keys),
        *_of_groups(workload),
        *_of_messages(workload),
        *_of_processes(workload, machines.processes),
        *_of_engines(workload, machines.kafka, machines.redis),
        *_of_backups(tables),
    )


def _of_tables(tables: tuple[TableLoad, ...]) -> Iterator[PlanWarning]:
    quota = pricing.ON_DEMAND_QUOTA
    for each in tables:
        peak = f"{each.write_per_s:,.0f} writes, {each.read_per_s:,.0f} reads a second"
        if each.table not in BY_NAME:
            if each.write_per_s > WARN_AT * INDEX_WRITES:
                yield PlanWarning(
                    f"index {each.table}: {INDEX_WRITES:,} writes a second per partition",
                    peak,
                    "An index that is throttled throttles its table. Create chats and add members more slowly: jobs "
                    "add members of large groups.",
                )
        elif each.write_per_s > WARN_AT * quota.write or each.read_per_s > WARN_AT * quota.read:
            yield PlanWarning(
                f"table {each.table}: {quota.write:,} units a second, the account's default quota on demand",
                peak,
                "Have AWS raise the quotas per table and per account, and set the table's warm throughput to the peak.",
            )
        elif each.write_per_s > WARN_AT * NEW_TABLE_WRITES or each.read_per_s > WARN_AT * NEW_TABLE_READS:
            yield PlanWarning(
                f"table {each.table}: {NEW_TABLE_WRITES:,} writes and {NEW_TABLE_READS:,} reads a second when new",
                peak,
                "Set the table's warm throughput to the peak before the launch.",
            )


def _of_keys(keys: Iterable[HotKey]) -> Iterator[PlanWarning]:
    for key in keys:
        if key.write_per_s > WARN_AT * PARTITION_WRITES or key.read_per_s > WARN_AT * PARTITION_READS:
            yield PlanWarning(
                f"{key.key}: {PARTITION_WRITES:,} writes and {PARTITION_READS:,} reads a second per key",
                f"{key.write_per_s:,.0f} writes, {key.read_per_s:,.0f} reads a second",
                "For writes: slow mode, or more chats. For reads: a longer `gateway.drain_spread_s`, and smaller "
                "groups: devices that must wait receive the time of their next attempt.",
            )


def _of_groups(workload: Workload) -> Iterator[PlanWarning]:
    largest = max(workload.group_members, workload.large_group_members if workload.large_group_share else 0)
    if largest > MAX_MEMBERS:
        yield PlanWarning(
            f"members of a group: {MAX_MEMBERS:,}",
            f"{largest:,}",
            "None. Use a broadcast for more recipients.",
        )
    elif largest > DEFAULT_MEMBERS:
        yield PlanWarning(
            f"members of a group: {DEFAULT_MEMBERS:,} by default",
            f"{largest:,}",
            f"Raise the tenant setting `max_members`, up to {MAX_MEMBERS:,}.",
        )
    messages = messages_of(workload)
    checked = messages.small_others * (1 - workload.connected_share)
    if messages.small and checked > MAX_CHECKED_MEMBERS / 4:
        yield PlanWarning(
            f"offline checks: each absent member of a group of up to {MAX_CHECKED_MEMBERS} members is checked",
            f"{checked:.0f} members for each message",
            f"Groups of more than {MAX_CHECKED_MEMBERS} members are checked for mentions only.",
        )


def _of_messages(workload: Workload) -> Iterator[PlanWarning]:
    if workload.message_bytes > CONTENT_BYTES:
        yield PlanWarning(
            f"content of a message: {CONTENT_BYTES:,} bytes",
            f"{workload.message_bytes:,}",
            "Use an attachment.",
        )
    mean_per_s = workload.busiest_chat_per_s / workload.peak_factor
    per_chat = mean_per_s * DAY_S * workload.kept_days * entry_bytes(workload)
    if per_chat > pricing.COLLECTION_BYTES:
        yield PlanWarning(
            f"log of a chat: alarm above {pricing.COLLECTION_BYTES / 1024**3:.0f} GB",
            f"{per_chat / 1e9:,.0f} GB in the busiest chat",
            "Set a retention limit, which empties messages to "
            f"{ENTRY_BYTES} bytes, or start a new chat from time to time.",
        )


def _of_processes(workload: Workload, processes: Iterable[ProcessLoad]) -> Iterator[PlanWarning]:
    counts = {each.kind: each for each in processes}
    gateways, delivery = counts["gateway"], counts["delivery"]
    each = workload.connections / gateways.count
    if gateways.bound_by == "connections":
        yield PlanWarning(
            f"connections of a gateway: {fleet.MAX_CONNECTIONS:,}",
            f"{each:,.0f} in each of {gateways.count:,}",
            "The number of gateways follows from it. Fewer are enough with a higher `gateway.max_connections` and limit of "
            "open files: a connection needs 14 KB and little CPU.",
        )
    size = fleet.installation_size(workload)
    partitions = fleet.message_partitions(size)
    if delivery.count > WARN_AT * partitions:
        yield PlanWarning(
            f'delivery workers: {partitions:,}, the partitions of `messages` with `kafka.partitions = "{size}"`',
            f"{delivery.count:,}",
            "Use a larger `kafka.partitions`. Beyond `large`, run several installations, each with its own tenants.",
        )
    if workload.daily_users >= MANY_USERS and counts["notifications"].bound_by == "not measured":
        yield PlanWarning(
            "workers for offline checks: their CPU per check is not measured",
            "2 planned",
            "Scale `tidings run notifications` by `tidings_offline_checks_lag_records`.",
        )


def _of_engines(workload: Workload, brokers: KafkaLoad, shards: RedisLoad) -> Iterator[PlanWarning]:
    per_broker = brokers.partition_replicas / brokers.brokers
    if per_broker > WARN_AT * fleet.BROKER_PARTITIONS:
        yield PlanWarning(
            f"partition replicas of a broker: {fleet.BROKER_PARTITIONS:,}",
            f"{per_broker:,.0f}",
            "Start more brokers, or brokers with more cores.",
        )
    if shards.shards > REDIS_MAX_SHARDS:
        yield PlanWarning(
            f"Redis shards: {REDIS_MAX_SHARDS} in a cluster",
            f"{shards.shards:,}",
            "Run several installations, each with its own tenants.",
        )
    elif shards.shards > REDIS_SHARDS:
        yield PlanWarning(
            "Redis: one node",
            f"{shards.shards:,} shards",
            "Run a Redis or Valkey cluster and set `redis.is_cluster`.",
        )
    entries = workload.peak_messages_per_s / PARTITION_WRITES
    if entries > STREAM_SHARDS:
        yield PlanWarning(
            f"change stream: about {entries:,.0f} shards",
            f"{workload.peak_messages_per_s:,.0f} entries a second",
            "Start more relays: each takes a share of the shards' leases.",
        )


def _of_backups(tables: tuple[TableLoad, ...]) -> Iterator[PlanWarning]:
    stored = sum(each.storage_gb for each in tables if each.table in BY_NAME)
    if stored > MUCH_GB:
        yield PlanWarning(
            f"daily backups: each is a full copy, kept {DAILY_BACKUP_RETENTION_DAYS} days",
            f"{stored:,.0f} GB, ${backups_month(tables):,.0f} a month",
            f"Weekly backups would cost ${backups_month(tables, every_days=7):,.0f} (`backup_schedule` of the module "
            f"`infra/tofu/dynamodb`): point-in-time recovery covers the last {PITR_DAYS} days. "
            "A retention limit stores less.",
        )


def backups_month(tables: Iterable[TableLoad], every_days: int = 1) -> Decimal:
    """Return the monthly price of the backups of all tables."""
    return sum(
        (
            pricing.backups_gb_month(BY_NAME[each.table], every_days) * Decimal(each.storage_gb)
            for each in tables
            if each.table in BY_NAME
        ),
        Decimal(0),
    )
