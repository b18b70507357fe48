"""Mark notifications as read, unread, archived or seen. Every operation returns the inbox after it."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import batched
from typing import NamedTuple

from msgspec.structs import replace

from tidings.inboxes import rules
from tidings.inboxes.broadcasts import user_state
from tidings.inboxes.broadcasts.ports import ReadTracker
from tidings.inboxes.model import (
    BroadcastState,
    InboxChange,
    InboxKey,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
)
from tidings.inboxes.ports import InboxOperation
from tidings.inboxes.state import InboxStateService

MAX_ROWS_PER_CHANGE = 25
"""Rows of one change. A transaction of 100 items also contains their expiry entries and those that are dropped."""
_PAGE = 1_000


class MarkOperation(NamedTuple):
    """How an operation changes a direct notification, and broadcasts."""

    row: Callable[[NotificationRow, InboxSnapshot], NotificationRow]
    bits: Callable[[InboxSnapshot, int], BroadcastState]


_MARK_READ = MarkOperation(rules.mark_read, user_state.mark_read)
_MARK_UNREAD = MarkOperation(rules.mark_unread, user_state.mark_unread)
_ARCHIVE = MarkOperation(rules.archive, user_state.archive)
_RESTORE = MarkOperation(rules.restore, user_state.restore)


type OnNotificationsRead = Callable[[InboxKey, Sequence[NotificationId] | None], Awaitable[None]]
"""Called with marked notifications, or None for all, before the request is answered. May raise."""


class InboxMarker:
    def __init__(
        self,
        inbox_state: InboxStateService,
        readers: ReadTracker,
        on_read: OnNotificationsRead | None = None,
    ) -> None:
        self._state = inbox_state
        self._readers = readers
        self._on_read = on_read

    async def read(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        """Mark as read. Notifications that are read, deleted or unknown do not change."""
        snapshot = await self._each(inbox_key, ids, _MARK_READ, at_least)
        if self._on_read is not None and ids:
            await self._on_read(inbox_key, ids)
        return snapshot

    async def reopen(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        """Mark as unread again, also if a mark of all covered them."""
        return await self._each(inbox_key, ids, _MARK_UNREAD, at_least)

    async def archive(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        return await self._each(inbox_key, ids, _ARCHIVE, at_least)

    async def restore(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        """Take out of the archive. The read state does not change."""
        return await self._each(inbox_key, ids, _RESTORE, at_least)

    async def read_all(
        self,
        inbox_key: InboxKey,
        before_ms: int | None = None,
        category: int | None = None,
        at_least: int = 0,
    ) -> InboxSnapshot:
        """Mark all as read, up to a time, in all categories or one. Later notifications are not affected."""

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            direct = await self._mark_all_direct(snapshot, before_ms, category)
            state = user_state.mark_all_read(snapshot, before_ms, category)
            await self._track_reads(snapshot, state)
            return _both(snapshot, direct, state)

        snapshot = await self._state.change(inbox_key, InboxOperation.SETTLE, edit, at_least)
        if self._on_read is not None:
            await self._on_read(inbox_key, None)
        return snapshot

    async def see_all(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot:
        """Record that the user has viewed the inbox: nothing in it is unseen any more."""

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            direct = rules.mark_all_seen(snapshot) if rules.has_unseen(snapshot) else None
            return _both(snapshot, direct, user_state.mark_all_seen(snapshot))

        return await self._state.change(inbox_key, InboxOperation.SETTLE, edit, at_least)

    async def _mark_all_direct(
        self, snapshot: InboxSnapshot, before_ms: int | None, category: int | None
    ) -> InboxChange | None:
        at_ms = rules.mark_ms(snapshot, before_ms)
        if not rules.is_mark_new(snapshot, at_ms, category):
            return None
        unread = await self._unread(snapshot) if rules.needs_rows(snapshot, at_ms, category) else None
        return rules.mark_all_read(snapshot, at_ms, category, unread)

    async def _each(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], operation: MarkOperation, at_least: int
    ) -> InboxSnapshot:
        snapshot = None
        for some in batched(dict.fromkeys(ids), MAX_ROWS_PER_CHANGE):
            snapshot = await self._some(inbox_key, some, operation, at_least)
        return snapshot or await self._state.read(inbox_key, at_least)

    async def _some(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], operation: MarkOperation, at_least: int
    ) -> InboxSnapshot:
        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            bits, direct = _split(snapshot, ids)
            found = (await self._state.repository.rows(inbox_key, direct)).values()
            live = [row for row in found if rules.is_live(row, snapshot.now_ms, snapshot.retain_from_ms)]
            pairs = [(row, after) for row in live if (after := operation.row(row, snapshot)) != row]
            state = operation.bits(snapshot, bits) if bits else snapshot.broadcast_state
            await self._track_reads(snapshot, state)
            return _both(snapshot, rules.apply_row_changes(snapshot, pairs) if pairs else None, state)

        return await self._state.change(inbox_key, InboxOperation.MARK, edit, at_least)

    async def _track_reads(self, snapshot: InboxSnapshot, state: BroadcastState) -> None:
        """Record reads of tracked broadcasts before the state is written.

        If the process died between the two writes in the other order, a retry would find nothing to record.
        """
        if read := user_state.newly_read_releases(snapshot, state):
            await self._readers.note(snapshot.owner.tenant, snapshot.owner.user, read, snapshot.now_ms)

    async def _unread(self, snapshot: InboxSnapshot) -> list[NotificationRow]:
        """Read all counted rows, from the newest to the last one that counts."""
        found: list[NotificationRow] = []
        below, has_more = None, True
        while has_more and len(found) < snapshot.counts.total:
            rows, has_more = await self._state.repository.page(snapshot.owner, below, _PAGE)
            found += [row for row in rows if rules.is_unread(row, snapshot)]
            below = rows[-1].id if rows else None
        return found


def _split(snapshot: InboxSnapshot, ids: Sequence[NotificationId]) -> tuple[int, list[NotificationId]]:
    """Split ids into broadcasts, which are in the log, and others, which may be rows."""
    bits, direct = 0, []
    for notification in ids:
        if snapshot.shown.log_index.of_notification(notification):
            bits |= user_state.release_for_user(snapshot, notification)
        else:
            direct.append(notification)
    return bits, direct


def _both(snapshot: InboxSnapshot, direct: InboxChange | None, after: BroadcastState) -> InboxChange | None:
    """Combine the changes of both kinds. None: neither changes."""
    state = user_state.next_state(snapshot, after)
    if state is None:
        return direct
    return InboxChange(broadcast_state=state) if direct is None else replace(direct, broadcast_state=state)
