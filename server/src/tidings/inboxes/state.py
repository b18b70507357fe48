"""A user's inbox, read as it is now and changed on condition that nobody else changed it meanwhile.

Counts are read first and rows after them: what changes a row changes the version of the counts, so a change that was
made ready on older counts is not written.
"""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.broadcasts import user_state
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.inboxes.broadcasts.ports import BroadcastReader
from tidings.inboxes.model import BroadcastState, InboxChange, InboxKey, InboxSnapshot, NotificationId
from tidings.inboxes.ports import InboxChangeNotifier, InboxEvent, InboxOperation, InboxRepository, Retention
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError

FEW = 8
"""Of those that expire are read at first: the next is nearly always among them.

Who finds more than this to be dropped drops them, so that no later one has to go through them.
"""
_ROUNDS = 200

type StateEdit = Callable[[InboxSnapshot], Awaitable[InboxChange | None]]


class InboxStateService:
    def __init__(
        self,
        repository: InboxRepository,
        retention: Retention,
        clock: Clock,
        live: InboxChangeNotifier,
        broadcasts: BroadcastReader,
    ) -> None:
        self.repository = repository
        self._broadcasts = broadcasts
        self._retention = retention
        self._clock = clock
        self._live = live

    async def read(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot:
        """As it is now. Writes nothing, but where much has piled up, rows are kept no longer, or the user is new."""
        return await retry_on_conflict(lambda: self._settle(inbox_key, at_least))

    async def change(
        self, inbox_key: InboxKey, operation: InboxOperation, edit: StateEdit, at_least: int = 0
    ) -> InboxSnapshot:
        """As it is after. `edit` may be asked again, on what is there then; None: there is nothing to change."""

        async def step() -> tuple[InboxSnapshot, InboxChange | None]:
            snapshot = await self._settle(inbox_key, at_least)
            change = await edit(snapshot)
            if change is not None:
                await self._commit(inbox_key, operation, change)
            return snapshot, change

        snapshot, change = await retry_on_conflict(step)
        if change is None:
            return snapshot
        self._live.notify(inbox_key, InboxEvent.COUNTED)
        return await self._after(snapshot, change)

    def notify(self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId) -> None:
        """What became of a notification, whether or not its row was changed by it."""
        self._live.notify(inbox_key, event, notification)

    async def _after(self, snapshot: InboxSnapshot, change: InboxChange) -> InboxSnapshot:
        """The next to expire may be another now; without any that expire nothing is read again."""
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
        """Whole, and with so little to be dropped that it fits beside a change."""
        expiring = FEW
        for _ in range(_ROUNDS):
            standing = await self.repository.stored(inbox_key, expiring)
            snapshot = rules.settle_expired(inbox_key, standing, self._clock.now_ms())
            is_whole = snapshot.next_ms is not None or not standing.is_cut
            if not is_whole and expiring == FEW:
                expiring = rules.MAX_DROPPED_PER_WRITE
            elif not is_whole or len(snapshot.dropped) > FEW:
                await self._commit(inbox_key, InboxOperation.SETTLE, rules.settlement_only(snapshot))
            elif (kept := await self._cache(snapshot)) is not None:
                return await self._with_broadcasts(kept, standing.broadcast_state, at_least)
        raise TidingsError(Code.OVERLOADED, "Too much has expired in this inbox to be taken out at once.")

    async def _with_broadcasts(
        self, snapshot: InboxSnapshot, state: BroadcastState | None, at_least: int
    ) -> InboxSnapshot:
        """The state was read before the log: what it knows of is in the log's copy, or is kept as it is."""
        owner = snapshot.owner
        log = BroadcastLogId(owner.tenant, owner.inbox)
        shown = await self._broadcasts.of(log, owner.user, is_joined=state is not None, at_least=at_least)
        if state is None and shown.log_index.releases:
            state = BroadcastState(joined=shown.joined, updated_ms=snapshot.now_ms, version=1)
            if not await self.repository.join(owner, state):
                raise TidingsError(Code.WRITE_CONFLICT, "The user came just now.")
        return user_state.with_counts(
            replace(snapshot, shown=shown, broadcast_state=state or BroadcastState())
        )

    async def _cache(self, snapshot: InboxSnapshot) -> InboxSnapshot | None:
        """Without what is kept no longer. None: rows were to be forgotten; look again."""
        days = await self._retention.retention_days(snapshot.owner.tenant, snapshot.owner.inbox)
        from_ms, counts = rules.cutoff_ms(days, snapshot.now_ms), snapshot.counts
        if from_ms <= counts.retained_from_ms:
            return snapshot
        is_quiet = counts.total == 0 and from_ms < counts.retained_from_ms + rules.DAY_MS
        if counts.version == 0 or is_quiet:
            return rules.drop_retired(snapshot, from_ms, ())
        await self._drop(snapshot, from_ms)
        return None

    async def _drop(self, snapshot: InboxSnapshot, from_ms: int) -> None:
        """Counts first: a row that is gone and still counted would be counted for ever."""
        below = await self.repository.sent_before(snapshot.owner, from_ms)
        change = rules.settlement_only(rules.drop_retired(snapshot, from_ms, below))
        await self._commit(snapshot.owner, InboxOperation.SETTLE, change)
        await self.repository.delete_expired(snapshot.owner, [row.id for row in below])

    async def _commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> None:
        if not await self.repository.commit(inbox_key, operation, change):
            raise TidingsError(Code.WRITE_CONFLICT, "The inbox changed just now.")
