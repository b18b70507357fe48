"""How many units the most used partition of each table takes, from a sample of the calls of this process.

DynamoDB throttles a partition above 1,000 write or 3,000 read units a second, and reports units by table only. Each
window adds the units of its most used partition to a total, so that the rate of the total is the load of that
partition. The names of partitions are not exported: they contain ids of users and chats.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from random import random
from typing import Final, Literal, final

from tidings.platform.dynamo.codec import Attributes
from tidings.platform.dynamo.request_bodies import Names

WINDOW_S: Final = 10.0
SAMPLED: Final = 16
"""The ratio of calls to counted calls. The units of a counted call are multiplied by it."""
_MAX_PARTITIONS: Final = 1_000
"""A window counts no further partitions. A busy one is among the first."""

_EQUALITY: Final = re.compile(r"([#\w]+) *= *(:\w+)")

type UnitKind = Literal["read", "write"]


@final
class PartitionHeat:
    """Counts nothing before `watch`.

    `chance` returns a number below 1 for each call; the call is counted if it is below 1 / `SAMPLED`.
    """

    def __init__(
        self, now: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random
    ) -> None:
        self._now = now
        self._chance = chance
        self._since = now()
        self._partition_keys: Mapping[str, str] = {}
        self._window: dict[tuple[str, UnitKind], dict[object, float]] = defaultdict(dict)
        self._totals: dict[tuple[str, ...], float] = {}

    def watch(self, partition_keys: Mapping[str, str]) -> None:
        """Count calls from now on. `partition_keys`: the partition key's attribute of each table."""
        self._partition_keys = partition_keys

    def add(self, table: str, kind: UnitKind, key: Attributes, units: float) -> None:
        """Count a call for the partition of an item. `key` has at least its key."""
        if self._is_counted(table):
            self._add(table, kind, key.get(self._partition_keys[table]), units)

    def add_query(
        self, table: str, condition: str, names: Names | None, values: Attributes, units: float
    ) -> None:
        """Count a Query for the partition that its condition selects."""
        if self._is_counted(table):
            placeholder = selected_partition(condition, names or {}, self._partition_keys[table])
            self._add(table, "read", values.get(placeholder), units)

    def _is_counted(self, table: str) -> bool:
        return table in self._partition_keys and self._chance() * SAMPLED < 1

    def _add(self, table: str, kind: UnitKind, partition: object, units: float) -> None:
        if self._now() - self._since >= WINDOW_S:
            self._end_window()
        partitions = self._window[table, kind]
        if partition in partitions or len(partitions) < _MAX_PARTITIONS:
            partitions[partition] = partitions.get(partition, 0.0) + units * SAMPLED

    def totals(self) -> dict[tuple[str, ...], float]:
        """Return the totals by table and kind. Another thread may call it."""
        return dict(self._totals)

    def _end_window(self) -> None:
        for name, partitions in self._window.items():
            self._totals[name] = self._totals.get(name, 0.0) + max(partitions.values(), default=0.0)
        self._window.clear()
        self._since = self._now()


def selected_partition(condition: str, names: Names, partition_key: str) -> str:
    """Return the placeholder of the partition key's value in the condition of a Query; empty if there is none."""
    for name, placeholder in _EQUALITY.findall(condition):
        if names.get(name, name) == partition_key:
            return str(placeholder)
    return ""
