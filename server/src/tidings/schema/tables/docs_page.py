"""The reference pages of the tables and of the access patterns, in Markdown, from the declaration. Pure."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from tidings.schema.tables import pricing
from tidings.schema.tables.apply import format_dollars, format_price
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.diff import show_keys, show_units
from tidings.schema.tables.limits import NumberLimit
from tidings.schema.tables.model import (
    DAILY_BACKUP_RETENTION_DAYS,
    PITR_DAYS,
    Growth,
    Index,
    Table,
    TableItem,
    largest_item_bytes,
)
from tidings.schema.tables.patterns import PATTERNS
from tidings.schema.tables.patterns.builders import REPLACEMENTS, Pattern
from tidings.schema.tables.pricing import Alarm, table_alarms

KB = 1024
WRITTEN = "Written by `tidings tables doc {name}`; a test holds this page against the code."

KEYS = (
    "Every partition key starts with the tenant (`t#` and the tenant in `inbox`; `_system` and `t#_Q` are the "
    "installation's own). Names carry `dynamo.table_prefix`. No Scan, no local index."
)
BACKUP = (
    f"Backup: **critical** is point-in-time recovery over {PITR_DAYS} days, daily backups kept "
    f"{DAILY_BACKUP_RETENTION_DAYS} days and a standby region; **ephemeral** is point-in-time recovery alone. "
    "`tidings tables apply` turns on the recovery; backups and the standby are set up with the rest of the "
    "infrastructure. A standby makes DynamoDB turn on a stream with both images, and a provisioned table "
    "needs auto scaling before it can have one."
)
CAPACITY = (
    "Provisioned capacity is for 10,000 daily users and is a floor: `apply` raises capacity to it and never "
    'lowers it, so auto scaling and people can go higher. `dynamo.capacity = "on_demand"` takes all of it '
    "away. On demand, AWS's default quota is 40,000 units a second for a table, and a new table starts at "
    "4,000 writes and 12,000 reads a second: have the quota raised and the table warmed before a launch."
)
NAMES = (
    "Every call that Tidings makes to its tables has one of these names; a call without one can't be made. "
    "There is no Scan. What authorises or delivers never reads an index."
)
ROLES = (
    "Roles: **authorises** lets somebody in or keeps them out; **delivers** decides what a device gets; "
    "**records** is part of a write; **shows** is for people to look at and may be behind; **maintains** is "
    "work in the background."
)
LIST_PRICES = (
    f"AWS's list prices of {pricing.REGION} in US dollars, in force since {pricing.SINCE}. `tidings tables plan` "
    "counts with them."
)
STORED = (
    f"Point-in-time recovery adds {format_price(pricing.PITR_GB_MONTH)} per GB and month. A backup is a full copy at "
    f"{format_price(pricing.BACKUP_GB_MONTH)} per GB and month, so {DAILY_BACKUP_RETENTION_DAYS} daily ones are "
    f"{format_price(pricing.BACKUP_GB_MONTH * DAILY_BACKUP_RETENTION_DAYS)} per GB."
)
INFREQUENT = (
    "`STANDARD_INFREQUENT_ACCESS` costs a quarter more to use and less than half to store: for a table on demand "
    "it pays from about a gigabyte for every million writes a month. `messages` gets there with the months."
)


def tables_page() -> str:
    out = ["# Tables", "", WRITTEN.format(name="tables"), "", KEYS, "", BACKUP, "", CAPACITY, ""]
    out += _grid(
        ("table", "keys", "capacity", "TTL", "stream", "backup", "largest item"),
        (_overview(table) for table in TABLES),
    )
    for table in TABLES:
        out += ["", *_section(table)]
    return "\n".join([*out, "", *_prices()]) + "\n"


def patterns_page() -> str:
    out = ["# Access patterns", "", WRITTEN.format(name="access-patterns"), ""]
    out += [NAMES, "", ROLES]
    for table in TABLES:
        out += ["", f"## {table.name}", "", *_patterns(table)]
    return "\n".join([*out, "", *_replacements()]) + "\n"


PAGES: dict[str, Callable[[], str]] = {"tables": tables_page, "access-patterns": patterns_page}


def _overview(table: Table) -> tuple[str, ...]:
    return (
        f"[`{table.name}`](#{table.name})",
        show_keys(table.keys),
        show_units(table.units),
        f"`{table.ttl.attribute}`" if table.ttl else "",
        table.stream or "",
        table.backup,
        _kilobytes(table.max_item_bytes),
    )


def _section(table: Table) -> Iterator[str]:
    yield from (f"## {table.name}", "", table.why, "")
    yield f"- Keys: {show_keys(table.keys)}"
    yield f"- Capacity: {show_units(table.units)}. {table.capacity_why}"
    if table.load:
        load = table.load
        yield (
            f"- Expected for 10,000 daily users: {load.reads_per_s:g} reads and {load.writes_per_s:g} writes a "
            f"second, {load.storage_gb:g} GB"
        )
    yield f"- TTL: `{table.ttl.attribute}`: {table.ttl.keeps}" if table.ttl else "- TTL: none"
    yield f"- Stream: {table.stream or 'none'}"
    yield f"- Backup: {table.backup}; deletion protection {'on' if table.is_deletion_protected else 'off'}"
    yield f"- Table class: {table.table_class}"
    yield from (
        "",
        *_grid(("item", "partition key", "sort key", "at most", "for each key", "holds"), _items(table)),
    )
    if table.indexes:
        head = ("index", "keys", "projection", "capacity", "why")
        yield from ("", *_grid(head, (_index(table, index) for index in table.indexes)))
    yield from ("", *_grid(("alarm", "above", "over", "for each", "means"), map(_alarm, table_alarms(table))))
    used = ", ".join(f"`{pattern.name}`" for pattern in _of(table))
    yield from ("", f"Used by: {used}")


def _items(table: Table) -> Iterator[tuple[str, ...]]:
    for item in table.items:
        size = f"{_kilobytes(item.max_bytes)} ({largest_item_bytes(table, item):,} bytes)"
        yield (item.name, f"`{item.partition.text}`", _sort(item), size, _growth(item.growth), item.holds)


def _growth(growth: Growth) -> str:
    most = f"no bound, measured by `{growth.measured_by}`" if growth.most is None else f"{growth.most:,}"
    return most if growth.most == 1 else f"{most} ({growth.why})"


def _sort(item: TableItem) -> str:
    if item.sort is None:
        return ""
    return "a number" if isinstance(item.sort, NumberLimit) else f"`{item.sort.text}`"


def _index(table: Table, index: Index) -> tuple[str, ...]:
    units = show_units(index.units if table.units else None)
    return (f"`{index.name}`", show_keys(index.keys), index.projection, units, index.why)


def _alarm(alarm: Alarm) -> tuple[str, ...]:
    name = f"`{alarm.metric}` {alarm.statistic}"
    return (name, f"{alarm.threshold:,.0f}", f"{alarm.period_s} s", alarm.per, alarm.why)


def _prices() -> list[str]:
    standing = sum(map(pricing.provisioned_cost_month, TABLES), Decimal(0))
    rows = (
        (
            name,
            format_price(prices.million_writes),
            format_price(prices.million_reads),
            format_price(prices.write_unit_hour),
            format_price(prices.read_unit_hour),
            format_price(prices.storage_gb_month),
        )
        for name, prices in pricing.PRICES.items()
    )
    head = (
        "table class",
        "million writes",
        "million reads",
        "write unit, hour",
        "read unit, hour",
        "GB, month",
    )
    total = f"The provisioned capacity above is {format_dollars(standing)} a month."
    return ["## Prices", "", LIST_PRICES, "", *_grid(head, rows), "", f"{STORED} {total}", "", INFREQUENT]


def _of(table: Table) -> Iterator[Pattern]:
    return (pattern for pattern in PATTERNS if table.name in pattern.tables)


def _patterns(table: Table) -> list[str]:
    """A transaction is listed once, at its first table; the tables page names it at each."""
    rows = (_pattern(pattern) for pattern in PATTERNS if pattern.tables[0] == table.name)
    return _grid(("name", "operation", "keys", "reads", "role", "purpose"), rows)


def _pattern(pattern: Pattern) -> tuple[str, ...]:
    others = f" with {', '.join(pattern.tables[1:])}" if pattern.tables[1:] else ""
    index = f" on `{pattern.index}`" if pattern.index else ""
    reads = "" if pattern.consistency == "write" else str(pattern.consistency)
    name = f"`{pattern.name}`"
    return (name, f"{pattern.operation}{others}{index}", pattern.keys, reads, pattern.role, pattern.purpose)


def _replacements() -> list[str]:
    rows = ((each.asked_as, ", ".join(f"`{name}`" for name in each.by), each.reason) for each in REPLACEMENTS)
    return [
        "## Not as first asked for",
        "",
        "Access patterns of the first data-model document that are served in another way.",
        "",
        *_grid(("asked for", "served by", "why"), rows),
    ]


def _grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    body = [head, ("---",) * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in body]


def _kilobytes(size_bytes: int) -> str:
    return f"{size_bytes} bytes" if size_bytes < KB else f"{size_bytes // KB} KB"
