"""The lease of the sweeper in the table `leases`."""

from tidings.kernel.clock import Clock, format_ms, parse_ms
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import ConditionFailedError, translate_write_errors
from tidings.schema.tables.items.accounts import LEASE
from tidings.schema.tables.patterns.media import FINISH_SWEEP, TAKE_SWEEP

LEASE_MS = 60_000
# The last part holds for a repeated request whose first attempt was applied without an answer.
_FREE = "attribute_not_exists(lease) OR until_ms <= :now OR (holder = :me AND until_ms = :until)"


class DynamoSweepLease:
    """Compares the clocks of machines: with a wrong clock, two processes sweep at once, which is harmless."""

    def __init__(self, client: DynamoClient, clock: Clock, holder: str, *, name: str = "media_sweep") -> None:
        self._client = client
        self._key: dict[str, ItemValue] = {"lease": LEASE.partition.render(lease=name)}
        self._clock = clock
        self._holder = holder
        self._until_ms = 0
        self.finished_at_ms: int | None = None

    @property
    def is_held(self) -> bool:
        return self._until_ms > 0

    async def take(self) -> bool:
        now_ms = self._clock.now_ms()
        if now_ms + LEASE_MS // 2 < self._until_ms:
            return True
        until_ms = now_ms + LEASE_MS
        condition = _FREE
        values: dict[str, ItemValue] = {":me": self._holder, ":until": until_ms, ":now": now_ms}
        if self.is_held:
            # Only while this process sweeps: after `finish` it waits like the others.
            condition = f"{_FREE} OR holder = :me"
        try:
            with translate_write_errors:
                await self._client.update(
                    TAKE_SWEEP,
                    self._key,
                    "SET holder = :me, until_ms = :until",
                    condition=condition,
                    values=values,
                    repeatable=True,
                )
        except ConditionFailedError as error:
            self._until_ms = 0
            if error.item is not None and "checkpoint" in error.item:
                self.finished_at_ms = parse_ms(error.item["checkpoint"])
            return False
        self._until_ms = until_ms
        return True

    async def finish(self, next_ms: int) -> None:
        self._until_ms = 0
        self.finished_at_ms = self._clock.now_ms()
        try:
            with translate_write_errors:
                await self._client.update(
                    FINISH_SWEEP,
                    self._key,
                    "SET until_ms = :next, checkpoint = :now",
                    condition="holder = :me",
                    values={":me": self._holder, ":next": next_ms, ":now": format_ms(self.finished_at_ms)},
                    repeatable=True,
                )
        except ConditionFailedError:
            return  # Another process took it over meanwhile, and finishes later.
