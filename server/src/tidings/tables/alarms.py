"""When somebody is to be told: thresholds for every table, as the first data-model document sets them."""

from dataclasses import dataclass
from enum import StrEnum

from tidings.tables.model import CapacityUnits, Table

CONSUMED_SHARE = 0.8
PERIOD_S = 60
LATENCY_P99_MS = 100
COLLECTION_BYTES = 8 * 1024**3
ON_DEMAND_QUOTA = CapacityUnits(40_000, 40_000)
"""AWS's default quota of a table on demand. The alarm comes while there is time to have it raised."""


class AlarmSource(StrEnum):
    CLOUDWATCH = "AWS/DynamoDB"
    TIDINGS = "Tidings"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Told when `statistic` of `metric` over `period_s` is above `threshold`."""

    metric: str
    statistic: str
    threshold: float
    per: str
    why: str
    source: AlarmSource = AlarmSource.CLOUDWATCH
    period_s: int = PERIOD_S


def table_alarms(table: Table) -> tuple[Alarm, ...]:
    return (*_consumed(table), *_THROTTLED, _LATENCY, *_collections(table))


def _consumed(table: Table) -> tuple[Alarm, ...]:
    units = table.units or ON_DEMAND_QUOTA
    of = "what is provisioned" if table.units else "the default quota of a table on demand"
    return tuple(
        Alarm(
            f"Consumed{kind}CapacityUnits",
            "Sum",
            CONSUMED_SHARE * amount * PERIOD_S,
            "table",
            f"above {CONSUMED_SHARE:.0%} of {of} ({amount:,} a second)",
        )
        for kind, amount in (("Read", units.read), ("Write", units.write))
    )


_THROTTLED = tuple(
    Alarm(f"{kind}ThrottleEvents", "Sum", 0, "table", "any throttled request") for kind in ("Read", "Write")
)
_LATENCY = Alarm("SuccessfulRequestLatency", "p99", LATENCY_P99_MS, "operation", "slower than 100 ms")


def _collections(table: Table) -> tuple[Alarm, ...]:
    """One for each metric that measures a collection without a bound. Bounded collections need none."""
    metrics = dict.fromkeys(item.growth.measured_by for item in table.items if item.growth.most is None)
    return tuple(
        Alarm(
            metric,
            "Maximum",
            COLLECTION_BYTES,
            "installation",
            "a chat whose log is about to hold more than 8 GB. Without a local index DynamoDB has no limit here; "
            "the relay logs which chat it is",
            AlarmSource.TIDINGS,
        )
        for metric in metrics
    )
