"""The lease of an import in the table `leases`."""

from tidings.imports.turn import LeaseView
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import ConditionFailedError, translate_write_errors
from tidings.schema.tables.items.accounts import LEASE
from tidings.schema.tables.patterns import imports as patterns

_FREE = "attribute_not_exists(holder)"
_NAMES = {"#token": "token"}
_NEXT = "#token = if_not_exists(#token, :zero) + :one, updated_at = :now"


class DynamoImportLease:
    """Never compares the clocks of different machines. `holder` is unique for each run."""

    def __init__(self, client: DynamoClient, clock: Clock, tenant: TenantId, holder: str) -> None:
        self._client = client
        self._clock = clock
        self._key: dict[str, ItemValue] = {"lease": LEASE.partition.render(lease=f"import-{tenant}")}
        self._holder = holder

    async def take(self, unchanged: int | None = None) -> LeaseView:
        values = self._values()
        condition = _FREE
        if unchanged is not None:
            condition, values[":seen"] = f"{_FREE} OR #token = :seen", unchanged
        try:
            with translate_write_errors:
                await self._client.update(
                    patterns.TAKE_LEASE,
                    self._key,
                    f"SET holder = :me, {_NEXT}",
                    condition=condition,
                    names=_NAMES,
                    values=values,
                    repeatable=True,
                )
        except ConditionFailedError as failed:
            item = failed.item or {}
            # An earlier attempt of this call may have been applied without an answer.
            return LeaseView(int(item.get("token", 0)), is_ours=item.get("holder") == self._holder)
        return LeaseView(0, is_ours=True)

    async def renew(self) -> bool:
        return await self._change(f"SET {_NEXT}")

    async def release(self) -> None:
        await self._change(f"SET {_NEXT} REMOVE holder")

    async def _change(self, update: str) -> bool:
        try:
            with translate_write_errors:
                await self._client.update(
                    patterns.RENEW_LEASE,
                    self._key,
                    update,
                    condition="holder = :me",
                    names=_NAMES,
                    values=self._values(),
                    repeatable=True,
                )
        except ConditionFailedError:
            return False
        return True

    def _values(self) -> dict[str, ItemValue]:
        return {":me": self._holder, ":zero": 0, ":one": 1, ":now": format_ms(self._clock.now_ms())}
