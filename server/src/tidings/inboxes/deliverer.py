"""Deliver a notification to one user, or withdraw it, with the user's counts."""

from msgspec.structs import replace

from tidings.inboxes import digests, rules
from tidings.inboxes.digests import DigestDelivery, DigestRule, DigestView
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

_PAGE = 1_000
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
                return await self.exceed(inbox_key, replace(row, delivered_ms=at_ms), throttle)
            added = await self._repository.add(inbox_key, replace(row, delivered_ms=at_ms), slot)
            if isinstance(added, DeliveryOutcome):
                # Also if the row exists: the worker that wrote it may have died before it notified the devices.
                self._notifier.notify(inbox_key, InboxEvent.DELIVERED, row.id)
                return added
            if added.retained_from_ms > row.sent_ms:
                return DeliveryOutcome.LATE
            counts = added
        raise TidingsError(Code.OVERLOADED, "Too many concurrent changes of this inbox. Try again.")

    async def exceed(self, inbox_key: InboxKey, row: NotificationRow, throttle: Throttle) -> DeliveryOutcome:
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


class DigestDeliverer:
    """Delivers notifications of categories with a digest.

    Race: two workers deliver notifications with one key at the same time, or one worker repeats a delivery that another
    has just finished. Each reads the counts, then the digest and its rows, and writes on condition that the version of
    the counts is unchanged. The second writer fails, reads again, and finds the digest of the first writer, or its own
    notification in it. So two deliveries never start two digests, and none is counted or gathered twice.
    """

    def __init__(
        self, inbox_state: InboxStateService, deliverer: NotificationDeliverer, notifier: InboxNotifier
    ) -> None:
        self._state = inbox_state
        self._deliverer = deliverer
        self._notifier = notifier

    async def deliver(self, inbox_key: InboxKey, row: NotificationRow, rule: DigestRule) -> DeliveryOutcome:
        """Add the notification to the open digest of its key, or start one. Idempotent.

        Only the first notification of a digest counts, for the unread count and for the throttle. Raises
        `write_conflict` if the inbox changes too often; then nothing was written.
        """
        decided: DigestDelivery | None = None

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            nonlocal decided
            decided = digests.deliver(row, await self._view(inbox_key, row, rule), snapshot, rule)
            return decided.change

        snapshot = await self._state.change(inbox_key, InboxOperation.GATHER, edit)
        if decided is None:
            raise AssertionError("a change without a decision")
        if decided.outcome is DeliveryOutcome.EXCLUDED and rule.throttle is not None:
            above = replace(row, delivered_ms=snapshot.now_ms)
            return await self._deliverer.exceed(inbox_key, above, rule.throttle)
        if decided.outcome is not DeliveryOutcome.LATE:
            # Also if the row exists: the worker that wrote it may have died before it notified the devices.
            event = InboxEvent.DELIVERED if decided.shown_by == row.id else InboxEvent.AMENDED
            self._notifier.notify(inbox_key, event, decided.shown_by)
        return decided.outcome

    async def shown_by(self, inbox_key: InboxKey, notification: NotificationId) -> NotificationId:
        """Return the notification in whose digest the user sees this one, or its own id."""
        row = (await self._state.repository.rows(inbox_key, [notification])).get(notification)
        return notification if row is None else row.digest_of or notification

    async def _view(self, inbox_key: InboxKey, row: NotificationRow, rule: DigestRule) -> DigestView:
        repository = self._state.repository
        digest = await repository.digest(inbox_key, rule.key)
        ids = {row.id} if digest is None else {row.id, digest.first}
        rows = await repository.rows(inbox_key, ids)
        return DigestView(rows.get(row.id), digest, None if digest is None else rows.get(digest.first))


class NotificationWithdrawer:
    def __init__(self, inbox_state: InboxStateService) -> None:
        self._state = inbox_state

    async def withdraw(
        self, inbox_key: InboxKey, notification: NotificationId, category: int
    ) -> InboxSnapshot:
        """Redact the row of a recalled notification and take it out of the counts. Idempotent.

        If the row shows a digest of several notifications, only this one leaves it.
        """
        changed: NotificationId | None = None

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            nonlocal changed
            row = await self._row(inbox_key, notification)
            first = row and await self._first_of(inbox_key, row)
            changed = None if first is None else first.id
            if row is not None and first is not None:
                if digests.has_left(row):
                    return None
                return digests.leave(row, first, await self._newest(inbox_key, row, first), snapshot)
            after = rules.redact(row, snapshot, notification, category)
            return None if after == row else rules.apply_row_changes(snapshot, [(row, after)])

        snapshot = await self._state.change(inbox_key, InboxOperation.REDACT, edit)
        # Also if nothing changed: the worker that redacted the row may have died before it notified the devices.
        if changed is not None:
            self._state.notify(inbox_key, InboxEvent.AMENDED, changed)
        if changed != notification:
            self._state.notify(inbox_key, InboxEvent.REDACTED, notification)
        return snapshot

    async def _row(self, inbox_key: InboxKey, notification: NotificationId) -> NotificationRow | None:
        return (await self._state.repository.rows(inbox_key, [notification])).get(notification)

    async def _first_of(self, inbox_key: InboxKey, row: NotificationRow) -> NotificationRow | None:
        """Return the first row of the digest in which this row is or was with others. None: there is none."""
        if row.digest_of is not None:
            return await self._row(inbox_key, row.digest_of)
        return row if row.gathered > 1 or row.withdrawn_ms is not None else None

    async def _newest(
        self, inbox_key: InboxKey, leaving: NotificationRow, first: NotificationRow
    ) -> NotificationId | None:
        """Return the newest notification of a digest without `leaving`.

        Reads the rows from the newest on, but only if it is not known. They are read after the counts, so the version of
        the counts covers them.
        """
        if first.gathered <= 1:
            return None
        if first.content_id != leaving.id:
            return first.content_id
        below, has_more = None, True
        while has_more:
            rows, has_more = await self._state.repository.page(inbox_key, below, _PAGE)
            for row in rows:
                is_member = first.id in (row.id, row.digest_of)
                if is_member and row.id != leaving.id and not digests.has_left(row):
                    return row.id
            below = rows[-1].id if rows else None
        # Older ones are deleted by the retention; the first row follows them.
        return first.id
