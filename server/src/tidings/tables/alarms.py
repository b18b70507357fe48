"""When somebody is to be told: thresholds for every table, as the first data-model document sets them."""

from dataclasses import dataclass
from enum import StrEnum

from tidings.tables.model import Table, Units

CONSUMED_SHARE = 0.8
PERIOD_S = 60
LATENCY_P99_MS = 100
COLLECTION_BYTES = 8 * 1024**3
ON_DEMAND_QUOTA = Units(40_000, 40_000)
"""AWS's default quota of a table on demand. The alarm comes while there is time to have it raised."""


class Source(StrEnum):
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
    source: Source = Source.CLOUDWATCH
    period_s: int = PERIOD_S


def alarms(table: Table) -> tuple[Alarm, ...]:
    collection = () if table.sort is None else (_COLLECTION,)
    return (*_consumed(table), *_THROTTLED, _LATENCY, *collection)


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
_COLLECTION = Alarm(
    "ItemCollectionBytes",
    "Maximum",
    COLLECTION_BYTES,
    "partition key",
    "a partition key that holds more than 8 GB. AWS has no metric for this, and without a local index no limit "
    "either; it is a sign of a chat to look at",
    Source.TIDINGS,
)
