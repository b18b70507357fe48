"""Throttling by capacity, as AWS documents it and local engines do not do it.

A table with provisioned capacity keeps up to 300 seconds of unused units for bursts. Each partition key of any table is
limited to 1,000 write and 3,000 read units a second. A request is refused while one of its buckets is empty; the units of
an accepted request are taken afterwards, as the engine reports them, so a bucket can fall below zero.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final, override

from faults.proxy.dynamo_request import Body, Request, decode
from faults.proxy.fault import Exchange, Fault
from faults.proxy.reply import Reply
from faults.proxy.service_faults import Throttle
from tidings.platform.dynamo.partition_heat import selected_partition

BURST_S = 300.0
PARTITION_READ, PARTITION_WRITE = 3_000.0, 1_000.0
_READS = {"GetItem", "Query", "BatchGetItem", "TransactGetItems"}
_COUNTED = _READS | {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


class TableCapacity(NamedTuple):
    """The units of a table per second, and the attribute of its partition key. None: on demand."""

    partition_key: str
    read: float | None = None
    write: float | None = None


class Target(NamedTuple):
    """An item or a Query of a request. `partition` is empty for an index, whose partitions are not limited here."""

    table: str
    partition: str


@final
class UnitBucket:
    def __init__(self, per_s: float, burst_s: float, now: float) -> None:
        self._per_s = per_s
        self._most = per_s * burst_s
        self.level = self._most
        self._at = now

    def refill(self, now: float) -> float:
        self.level = min(self._most, self.level + (now - self._at) * self._per_s)
        self._at = now
        return self.level


@dataclass(frozen=True, slots=True)
class CapacityLimit(Fault):
    """Throttle requests above the capacity of `tables`, by physical name.

    `refused` counts requests by table and partition; `used` adds the units of each table, kind and partition.
    """

    tables: Mapping[str, TableCapacity]
    now: Callable[[], float] = time.monotonic
    refused: dict[Target, int] = field(default_factory=dict)
    used: dict[tuple[str, str, str], float] = field(default_factory=dict)
    _buckets: dict[tuple[str, ...], UnitBucket] = field(default_factory=dict)

    @override
    def fits(self, request: Request) -> bool:
        return request.operation in _COUNTED

    @override
    async def apply(self, exchange: Exchange) -> Reply:
        request = exchange.request
        kind = "read" if request.operation in _READS else "write"
        targets = [target for target in _targets(request.body, self.tables) if target.table in self.tables]
        for target in targets:
            if any(bucket.refill(self.now()) <= 0 for bucket in self._of(target, kind)):
                self.refused[target] = self.refused.get(target, 0) + 1
                return await Throttle().apply(exchange)
        asked = request.with_body({**request.body, "ReturnConsumedCapacity": "TOTAL"})
        reply = await exchange.forward(asked)
        if reply.message is not None:
            self._charge(targets, kind, decode(reply.message.body).get("ConsumedCapacity"))
        return reply

    def _charge(self, targets: list[Target], kind: str, consumed: Any) -> None:
        for part in consumed if isinstance(consumed, list) else [consumed] if consumed else []:
            of_table = [target for target in targets if target.table == part["TableName"]]
            for target in of_table:
                units, name = part["CapacityUnits"] / len(of_table), (target.table, kind, target.partition)
                self.used[name] = self.used.get(name, 0.0) + units
                for bucket in self._of(target, kind):
                    bucket.level -= units

    def _of(self, target: Target, kind: str) -> Iterator[UnitBucket]:
        capacity = self.tables[target.table]
        units = capacity.read if kind == "read" else capacity.write
        if units is not None:
            yield self._bucket((target.table, kind), units, BURST_S)
        if target.partition:
            most = PARTITION_READ if kind == "read" else PARTITION_WRITE
            yield self._bucket((target.table, kind, target.partition), most, 1.0)

    def _bucket(self, name: tuple[str, ...], per_s: float, burst_s: float) -> UnitBucket:
        if name not in self._buckets:
            self._buckets[name] = UnitBucket(per_s, burst_s, self.now())
        return self._buckets[name]


def _targets(body: Body, tables: Mapping[str, TableCapacity]) -> Iterator[Target]:
    """Return what a request reads or writes. Transactions are charged for each action."""
    for action in body.get("TransactItems", ()):
        for part in action.values():
            yield from _targets(part, tables)
    for table, batch in body.get("RequestItems", {}).items():
        parts = batch["Keys"] if isinstance(batch, dict) else [next(iter(write.values())) for write in batch]
        for part in parts:
            item = part.get("Item") or part.get("Key") or part
            yield _target(table, item, tables)
    if "TableName" in body:
        if "KeyConditionExpression" in body:
            yield _queried(body, tables)
        else:
            yield _target(body["TableName"], body.get("Item") or body.get("Key") or {}, tables)


def _target(table: str, item: Mapping[str, Any], tables: Mapping[str, TableCapacity]) -> Target:
    partition_key = tables[table].partition_key if table in tables else ""
    return Target(table, str(item.get(partition_key, "")))


def _queried(body: Body, tables: Mapping[str, TableCapacity]) -> Target:
    table = body["TableName"]
    if "IndexName" in body or table not in tables:
        return Target(table, "")
    names, values = body.get("ExpressionAttributeNames") or {}, body.get("ExpressionAttributeValues") or {}
    placeholder = selected_partition(body["KeyConditionExpression"], names, tables[table].partition_key)
    return Target(table, str(values.get(placeholder, "")))
