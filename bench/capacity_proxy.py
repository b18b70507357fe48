"""A proxy before the DynamoDB engine of `bench.api` that enforces capacity as AWS does, and counts what it refuses."""

import asyncio
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import NamedTuple

import uvloop
from faults.proxy import CapacityLimit, DynamoProxy, TableCapacity

from bench.api_world import Place
from tidings.schema.tables.declaration import TABLES


class LimitedUse(NamedTuple):
    """Counts of the proxy: refused requests by table, and units by table, kind and partition."""

    refused: Mapping[str, int]
    used: Mapping[tuple[str, str, str], float]

    def share_of_bounds(self, seconds: float) -> float:
        """Return the highest share that a provisioned table used of the upper bound of its auto scaling."""
        units = defaultdict[tuple[str, str], float](float)
        for (table, kind, _), used in self.used.items():
            units[table, kind] += used
        return max(
            units[table.name, kind] / seconds / most
            for table in TABLES
            if table.highest_units is not None
            for kind, most in (("read", table.highest_units.read), ("write", table.highest_units.write))
        )


class CapacityProxy:
    """A proxy before the engine that enforces the limits of partitions, and later the declared units of tables too.

    It runs in a process of its own: the load generator would otherwise share its interpreter.
    """

    def __init__(self, place: Place) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(
            target=_limit_capacity, args=(theirs, place.endpoint, place.prefix), daemon=True
        )
        self._process.start()
        self.place = replace(place, endpoint=self._line.recv())

    def count(self, *, then_enforce_tables: bool = False) -> LimitedUse:
        """Return what was counted since the last call."""
        self._line.send(then_enforce_tables)
        found: LimitedUse = self._line.recv()
        return found

    def close(self) -> None:
        self._process.terminate()
        self._process.join()


def _limit_capacity(line: Connection, endpoint: str, prefix: str) -> None:
    """Run the proxy. Send its address, then the counts whenever the parent asks for them."""
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    with DynamoProxy(endpoint, record=False) as proxy:
        limit = CapacityLimit(_capacities(prefix, are_enforced=False))
        installed = proxy.fault(limit)
        line.send(proxy.url)
        while True:
            are_enforced = line.recv()
            refused = Counter[str]()
            for target, count in limit.refused.items():
                refused[target.table.removeprefix(prefix)] += count
            used = {
                (table.removeprefix(prefix), kind, partition): units
                for (table, kind, partition), units in limit.used.items()
            }
            installed.remove()
            limit = CapacityLimit(_capacities(prefix, are_enforced=are_enforced))
            installed = proxy.fault(limit)
            line.send(LimitedUse(refused, used))


def _capacities(prefix: str, *, are_enforced: bool) -> dict[str, TableCapacity]:
    """Return the capacity of all tables by physical name. Not enforced: all tables are on demand."""
    found = dict[str, TableCapacity]()
    for table in TABLES:
        capacity = TableCapacity(table.partition.name)
        if are_enforced and table.units is not None:
            capacity = capacity._replace(read=table.units.read, write=table.units.write)
        found[prefix + table.name] = capacity
    return found
