"""Deliver a notification to one user, or withdraw it, with the user's counts."""

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.model import (
    InboxChange,
    InboxKey,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
    UnreadCounts,
)
from tidings.inboxes.ports import (
    DeliveryOutcome,
    InboxEvent,
    InboxNotifier,
    InboxOperation,
    InboxRepository,
)
from tidings.inboxes.preferences import Excess, Exclusion, Throttle
from tidings.inboxes.state import InboxStateService
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError

_MAX_ATTEMPTS = 50
"""An attempt fails when another delivery or mark changed the inbox meanwhile."""


class NotificationDeliverer:
    def __init__(self, repository: InboxRepository, clock: Clock, notifier: InboxNotifier) -> None:
        self._repository = repository
        self._clock = clock
        self._notifier = notifier

    async def deliver(
        self, inbox_key: InboxKey, row: NotificationRow, throttle: Throttle | None = None
    ) -> DeliveryOutcome:
        """Write the row and count it, or what the `throttle` leaves of it. Idempotent.

        Sets `row.delivered_ms` to a time after every mark of the user: a mark covers only notifications that were
        delivered before it, so this one is unread. Raises `overloaded` if the inbox changes too often; then nothing
        was written.
        """
        counts = UnreadCounts() if throttle is None else (await self._repository.stored(inbox_key, 0)).counts
        for _ in range(_MAX_ATTEMPTS):
            at_ms = max(self._clock.now_ms(), counts.latest_ms + 1)
            if row.expires_ms is not None and row.expires_ms <= at_ms:
                return DeliveryOutcome.LATE
            slot = None if throttle is None else rules.take_slot(counts, row.category, throttle, at_ms)
            if throttle is not None and slot is None:
                return await self._exceed(inbox_key, replace(row, delivered_ms=at_ms), throttle)
            added = await self._repository.add(inbox_key, replace(row, delivered_ms=at_ms), slot)
            if isinstance(added, DeliveryOutcome):
                # Also if the row exists: the worker that wrote it may have died before it notified the devices.
                self._notifier.notify(inbox_key, InboxEvent.DELIVERED, row.id)
                return added
            if added.retained_from_ms > row.sent_ms:
                return DeliveryOutcome.LATE
            counts = added
        raise TidingsError(Code.OVERLOADED, "Too many concurrent changes of this inbox. Try again.")

    async def _exceed(self, inbox_key: InboxKey, row: NotificationRow, throttle: Throttle) -> DeliveryOutcome:
        """Write the row of a notification above the limit. A row that exists stays: it was delivered before."""
        if throttle.excess is Excess.DROP:
            return await self.exclude(inbox_key, replace(row, delivered_ms=None), Exclusion.THROTTLED)
        silent = replace(row, read_ms=row.delivered_ms)
        outcome = await self.exclude(inbox_key, silent, Exclusion.THROTTLED)
        self._notifier.notify(inbox_key, InboxEvent.DELIVERED, row.id)
        return outcome

    async def exclude(self, inbox_key: InboxKey, row: NotificationRow, reason: Exclusion) -> DeliveryOutcome:
        """Record that the user does not receive the notification in this inbox. Idempotent.

        A retry of an earlier delivery or exclusion changes nothing, even if the user has changed their preferences
        since then: the first row decides.
        """
        return await self._repository.exclude(inbox_key, replace(row, excluded=reason))


class NotificationWithdrawer:
    def __init__(self, inbox_state: InboxStateService) -> None:
        self._state = inbox_state

    async def withdraw(
        self, inbox_key: InboxKey, notification: NotificationId, category: int
    ) -> InboxSnapshot:
        """Redact the row of a recalled notification and take it out of the counts. Idempotent."""

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            row = (await self._state.repository.rows(inbox_key, [notification])).get(notification)
            after = rules.redact(row, snapshot, notification, category)
            return None if after == row else rules.apply_row_changes(snapshot, [(row, after)])

        snapshot = await self._state.change(inbox_key, InboxOperation.REDACT, edit)
        # Also if nothing changed: the worker that redacted the row may have died before it notified the devices.
        self._state.notify(inbox_key, InboxEvent.REDACTED, notification)
        return snapshot
