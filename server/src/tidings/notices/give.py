"""Gives one user a notice: row and count in one transaction, once, however often it is tried."""

from enum import Enum

from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.notices.model import InboxKey, NotificationId, NotificationRow
from tidings.notices.ports import GiveResult, InboxChangeNotifier, InboxEvent, InboxRepository

_TRIES = 50
"""Each time somebody else gave or marked something in between."""


class DeliveryOutcome(Enum):
    """`LATE`: it has expired, or was sent before what this user's inbox still keeps."""

    GIVEN = "given"
    THERE = "there"
    LATE = "late"


class NotificationDeliverer:
    def __init__(self, repository: InboxRepository, clock: Clock, live: InboxChangeNotifier) -> None:
        self._repository = repository
        self._clock = clock
        self._live = live

    async def __call__(self, inbox_key: InboxKey, row: NotificationRow) -> DeliveryOutcome:
        """`row.delivered_ms` is set here: later than every mark of the user, so that none is below one unseen."""
        latest_ms = 0
        for _ in range(_TRIES):
            at_ms = max(self._clock.now_ms(), latest_ms + 1)
            if row.expires_ms is not None and row.expires_ms <= at_ms:
                return DeliveryOutcome.LATE
            given = await self._repository.add(inbox_key, replace(row, delivered_ms=at_ms))
            if isinstance(given, GiveResult):
                return self._publisher(inbox_key, row.id, given)
            if given.retained_from_ms > row.sent_ms:
                return DeliveryOutcome.LATE
            latest_ms = given.latest_ms
        raise TidingsError(Code.OVERLOADED, "Too many change this inbox at once.")

    def _publisher(
        self, inbox_key: InboxKey, notification: NotificationId, result: GiveResult
    ) -> DeliveryOutcome:
        """Told again if it was there: whoever gave it may have died before he told."""
        self._live.notify(inbox_key, InboxEvent.GIVEN, notification)
        return DeliveryOutcome.GIVEN if result is GiveResult.GIVEN else DeliveryOutcome.THERE
