"""Read a user's inbox as it is now, and change it under optimistic locking.

Counts are read before rows. Every change of a row also changes the version of the counts, so a change that was
prepared on older counts is not written.
"""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.broadcasts import user_state
from tidings.inboxes.broadcasts.model import NO_BROADCASTS, BroadcastLogId, UserBroadcasts
from tidings.inboxes.broadcasts.segments import BroadcastTargeting
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import (
    BroadcastState,
    InboxChange,
    InboxId,
    InboxKey,
    InboxSnapshot,
    NotificationId,
)
from tidings.inboxes.ports import InboxEvent, InboxNotifier, InboxOperation, InboxRepository
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId

FEW = 8
"""Expiry entries that are read at first; the next one to expire is nearly always among them.

A reader that finds more entries than this to drop writes the result, so that later readers need not drop them again.
"""
_MAX_ROUNDS = 200

type StateEdit = Callable[[InboxSnapshot], Awaitable[InboxChange | None]]
"""Returns the change to write, or None if nothing changes. It can be called again with a newer snapshot."""
type ReadInbox = Callable[[TenantId, InboxId], Awaitable[Inbox]]
"""Returns the configuration of an inbox, which may be some seconds old."""


class InboxStateService:
    def __init__(
        self,
        repository: InboxRepository,
        read_inbox: ReadInbox,
        clock: Clock,
        notifier: InboxNotifier,
        broadcasts: BroadcastTargeting | None = None,
    ) -> None:
        """Create the service. Without `broadcasts`, snapshots contain direct notifications only."""
        self.repository = repository
        self._broadcasts = broadcasts
        self._read_inbox = read_inbox
        self._clock = clock
        self._notifier = notifier

    async def read(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot:
        """Return the inbox as it is now, with broadcasts up to sequence `at_least` or later.

        Writes only if many entries have expired, rows are older than the retention, or the user is new.
        """
        return await retry_on_conflict(lambda: self._settle(inbox_key, at_least))

    async def change(
        self, inbox_key: InboxKey, operation: InboxOperation, edit: StateEdit, at_least: int = 0
    ) -> InboxSnapshot:
        """Apply `edit` and return the inbox after it. Notifies devices if something changed."""

        async def step() -> tuple[InboxSnapshot, InboxChange | None]:
            snapshot = await self._settle(inbox_key, at_least)
            change = await edit(snapshot)
            if change is not None:
                await self._commit(inbox_key, operation, change)
            return snapshot, change

        snapshot, change = await retry_on_conflict(step)
        if change is None:
            return snapshot
        self._notifier.notify(inbox_key, InboxEvent.COUNTED)
        return await self._after(snapshot, change)

    def notify(self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId) -> None:
        """Notify devices of what happened to a notification, whether or not its row changed."""
        self._notifier.notify(inbox_key, event, notification)

    async def _after(self, snapshot: InboxSnapshot, change: InboxChange) -> InboxSnapshot:
        """Return the snapshot after `change`. Reads again only if something can expire: it may be another entry now."""
        if snapshot.next_ms is None and not change.expiring:
            stored, counts = change.counts or snapshot.stored, change.counts or snapshot.counts
            dropped = snapshot.dropped if change.counts is None else ()
            after = replace(
                snapshot,
                stored=stored,
                counts=counts,
                dropped=dropped,
                broadcast_state=change.broadcast_state or snapshot.broadcast_state,
            )
            return user_state.with_counts(after)
        return await self.read(snapshot.owner)

    async def _settle(self, inbox_key: InboxKey, at_least: int) -> InboxSnapshot:
        """Return a complete snapshot whose dropped entries fit into one transaction with a change."""
        expiring = FEW
        for _ in range(_MAX_ROUNDS):
            stored = await self.repository.stored(inbox_key, expiring)
            snapshot = rules.settle_expired(inbox_key, stored, self._clock.now_ms())
            is_complete = snapshot.next_ms is not None or not stored.is_cut
            if not is_complete and expiring == FEW:
                expiring = rules.MAX_DROPPED_PER_WRITE
            elif not is_complete or len(snapshot.dropped) > FEW:
                await self._commit(inbox_key, InboxOperation.SETTLE, rules.settlement_only(snapshot))
            elif (retained := await self._apply_retention(snapshot)) is not None:
                with_choices = replace(retained, preferences=stored.preferences)
                return await self._with_broadcasts(with_choices, stored.broadcast_state, at_least)
        raise TidingsError(Code.OVERLOADED, "Too many notifications expired in this inbox. Try again.")

    async def _with_broadcasts(
        self, snapshot: InboxSnapshot, state: BroadcastState | None, at_least: int
    ) -> InboxSnapshot:
        """Add the broadcasts. The state was read before the log, so the log contains what the state refers to.

        If this process uses an older copy of the log, sequences above its head stay in the state unchanged.
        """
        owner, shown = snapshot.owner, NO_BROADCASTS
        if self._broadcasts is not None:
            log = BroadcastLogId(owner.tenant, owner.inbox)
            shown = await self._broadcasts.of(log, owner.user, is_joined=state is not None, at_least=at_least)
            shown = await self._without_hidden(snapshot, shown)
        if state is None and shown.log_index.releases:
            state = BroadcastState(joined=shown.joined, updated_ms=snapshot.now_ms, version=1)
            if not await self.repository.join(owner, state):
                raise TidingsError(
                    Code.WRITE_CONFLICT, "Another request created the user's inbox. Try again."
                )
        return user_state.with_counts(
            replace(snapshot, shown=shown, broadcast_state=state or BroadcastState())
        )

    async def _without_hidden(self, snapshot: InboxSnapshot, shown: UserBroadcasts) -> UserBroadcasts:
        """Hide the broadcasts that the preferences of the user exclude from the inbox."""
        if not shown.visible_mask:
            return shown
        inbox = await self._read_inbox(snapshot.owner.tenant, snapshot.owner.inbox)
        hidden = user_state.hidden_mask(shown.log_index, inbox, snapshot.preferences) & shown.visible_mask
        return shown._replace(visible_mask=shown.visible_mask & ~hidden, hidden_mask=hidden)

    async def _apply_retention(self, snapshot: InboxSnapshot) -> InboxSnapshot | None:
        """Take out rows that are older than the retention. None: rows had to be deleted, so read again."""
        inbox = await self._read_inbox(snapshot.owner.tenant, snapshot.owner.inbox)
        from_ms, counts = rules.cutoff_ms(inbox.retention_days, snapshot.now_ms), snapshot.counts
        if from_ms <= counts.retained_from_ms:
            return snapshot
        is_quiet = counts.total == 0 and from_ms < counts.retained_from_ms + rules.DAY_MS
        if counts.version == 0 or is_quiet:
            return rules.drop_retired(snapshot, from_ms, ())
        await self._drop(snapshot, from_ms)
        return None

    async def _drop(self, snapshot: InboxSnapshot, from_ms: int) -> None:
        """Delete rows after the counts no longer include them: a deleted row cannot be subtracted later."""
        below = await self.repository.sent_before(snapshot.owner, from_ms)
        change = rules.settlement_only(rules.drop_retired(snapshot, from_ms, below))
        await self._commit(snapshot.owner, InboxOperation.SETTLE, change)
        await self.repository.delete_expired(snapshot.owner, [row.id for row in below])

    async def _commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> None:
        if not await self.repository.commit(inbox_key, operation, change):
            raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the inbox. Try again.")
