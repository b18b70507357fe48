"""The installation's own row: its epoch, and which table its log is. Without a row it is epoch 0 and new.

It stands beside the tenants, in a table that is backed up: so it is as old as the copy that a restore puts back.
"""

from dataclasses import dataclass
from enum import StrEnum

from tidings.kernel.clock import Clock, format_ms
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import ConditionFailedError
from tidings.platform.dynamo.values import Item
from tidings.tables.declaration import MESSAGES
from tidings.tables.items.accounts import INSTALLATION_KEY, SYSTEM
from tidings.tables.patterns import accounts as patterns

_KEY = {"tenant": SYSTEM.render(), "item": INSTALLATION_KEY.render()}
_ABSENT = "attribute_not_exists(tenant)"
_AS_READ = "epoch = :epoch AND phase = :phase"


class RestorePhase(StrEnum):
    """While it is closed nobody serves: a restore is being finished."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Installation:
    """`restored_to`: the moment that the tables were put back to, as `tidings restored` was told. `log_id`: DynamoDB's
    own id of the table `messages`; a copy has another.
    """

    epoch: int = 0
    phase: RestorePhase = RestorePhase.OPEN
    restored_to: str = ""
    log_id: str = ""


class InstallationStore:
    def __init__(self, client: DynamoClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def read(self) -> Installation | None:
        item = await self._client.get(patterns.READ_EPOCH, _KEY)
        return None if item is None else _of(item)

    async def begin(self, first: Installation) -> None:
        """Somebody else may have been first; what he wrote is then read."""
        try:
            await self._client.put(
                patterns.BEGIN_EPOCH, self._item(first), condition=_ABSENT, repeatable=True
            )
        except ConditionFailedError:
            return

    async def change(self, before: Installation | None, after: Installation) -> bool:
        """False: it is not, or no longer, as `before` says."""
        values = None if before is None else {":epoch": before.epoch, ":phase": before.phase.value}
        condition = _ABSENT if before is None else _AS_READ
        try:
            await self._client.put(
                patterns.RAISE_EPOCH, self._item(after), condition=condition, values=values, repeatable=True
            )
        except ConditionFailedError:
            return await self.read() == after
        return True

    async def log_id(self) -> str:
        """By its id; by when it was made, with an engine that gives none."""
        told = await self._client.describe(MESSAGES.name)
        return str(told.get("TableId") or told.get("CreationDateTime", ""))

    def _item(self, row: Installation) -> Item:
        return _KEY | {
            "epoch": row.epoch,
            "phase": row.phase.value,
            "restored_to": row.restored_to,
            "log_id": row.log_id,
            "updated_at": format_ms(self._clock.now_ms()),
        }


def _of(item: Item) -> Installation:
    return Installation(
        epoch=int(item["epoch"]),
        phase=RestorePhase(item["phase"]),
        restored_to=str(item["restored_to"]),
        log_id=str(item["log_id"]),
    )
