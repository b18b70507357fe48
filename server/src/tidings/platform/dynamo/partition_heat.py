"""How many units the most used partition of each table takes, from a sample of the calls of this process.

DynamoDB throttles a partition above 1,000 write or 3,000 read units a second, and reports units by table only. Each
window adds the units of its most used partition to a total, so that the rate of the total is the load of that
partition. The names of partitions are not exported: they contain ids of users and chats.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from random import random
from typing import Final, Literal, final

from tidings.platform.dynamo.codec import Attributes

WINDOW_S: Final = 10.0
SAMPLED: Final = 16
"""The ratio of calls to counted calls. The units of a counted call are multiplied by it."""
_MAX_PARTITIONS: Final = 1_000
"""A window counts no further partitions. A busy one is among the first."""

type UnitKind = Literal["read", "write"]


@final
class PartitionHeat:
    """`chance` returns a number below 1 for each call; the call is counted if it is below 1 / `SAMPLED`."""

    def __init__(
        self, now: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random
    ) -> None:
        self._now = now
        self._chance = chance
        self._since = now()
        self._window: dict[tuple[str, UnitKind], dict[str, float]] = defaultdict(dict)
        self._totals: dict[tuple[str, ...], float] = {}

    def add(self, table: str, kind: UnitKind, key: Attributes, units: float) -> None:
        """Count a call. The first attribute of `key` is the partition key.

        A few rows begin with another attribute, also with a list. Each of them counts as a partition of its own.
        """
        if self._chance() * SAMPLED >= 1:
            return
        if self._now() - self._since >= WINDOW_S:
            self._end_window()
        partitions, partition = self._window[table, kind], str(next(iter(key.values())))
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
