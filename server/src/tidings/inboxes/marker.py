"""What a user does with his notifications: read, unread again, archive; all up to a time; seen. Each answers with fresh counts."""

from collections.abc import Callable, Sequence
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

MAX_CONCURRENT = 25
"""Rows of one change: each may bring an item that expires, and there is what has expired beside them."""
_PAGE = 1_000


class MarkOperation(NamedTuple):
    """To a direct notification, and to broadcasts."""

    row: Callable[[NotificationRow, InboxSnapshot], NotificationRow]
    bits: Callable[[InboxSnapshot, int], BroadcastState]


_MARK_READ = MarkOperation(rules.mark_read, user_state.mark_read)
_MARK_UNREAD = MarkOperation(rules.mark_unread, user_state.mark_unread)
_ARCHIVE = MarkOperation(rules.archive, user_state.archive)
_RESTORE = MarkOperation(rules.restore, user_state.restore)


class InboxMarker:
    def __init__(self, inbox_state: InboxStateService, readers: ReadTracker) -> None:
        self._state = inbox_state
        self._readers = readers

    async def read(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        """What is read, gone or not there stays as it is."""
        return await self._each(inbox_key, ids, _MARK_READ, at_least)

    async def reopen(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        """Unread again, whatever was marked before."""
        return await self._each(inbox_key, ids, _MARK_UNREAD, at_least)

    async def archive(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        return await self._each(inbox_key, ids, _ARCHIVE, at_least)

    async def restore(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot:
        """Out of the archive: as read or unread as it was."""
        return await self._each(inbox_key, ids, _RESTORE, at_least)

    async def read_all(
        self,
        inbox_key: InboxKey,
        before_ms: int | None = None,
        category: int | None = None,
        at_least: int = 0,
    ) -> InboxSnapshot:
        """All up to a time, of all or of one category. What is yet to come is never read by it."""

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            direct = await self._direct_marked(snapshot, before_ms, category)
            state = user_state.mark_all_read(snapshot, before_ms, category)
            await self._note(snapshot, state)
            return _both(snapshot, direct, state)

        return await self._state.change(inbox_key, InboxOperation.SETTLE, edit, at_least)

    async def see_all(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot:
        """The user has looked: what is there now is no news any more, read or not."""

        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            direct = rules.mark_all_seen(snapshot) if rules.has_unseen(snapshot) else None
            return _both(snapshot, direct, user_state.mark_all_seen(snapshot))

        return await self._state.change(inbox_key, InboxOperation.SETTLE, edit, at_least)

    async def _direct_marked(
        self, snapshot: InboxSnapshot, before_ms: int | None, category: int | None
    ) -> InboxChange | None:
        at_ms = rules.mark_ms(snapshot, before_ms)
        if not rules.is_mark_new(snapshot, at_ms, category):
            return None
        unread = await self._unread(snapshot) if rules.needs_rows(snapshot, at_ms, category) else None
        return rules.mark_all_read(snapshot, at_ms, category, unread)

    async def _each(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], doing: MarkOperation, at_least: int
    ) -> InboxSnapshot:
        snapshot = None
        for some in batched(dict.fromkeys(ids), MAX_CONCURRENT):
            snapshot = await self._some(inbox_key, some, doing, at_least)
        return snapshot or await self._state.read(inbox_key, at_least)

    async def _some(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], doing: MarkOperation, at_least: int
    ) -> InboxSnapshot:
        async def edit(snapshot: InboxSnapshot) -> InboxChange | None:
            bits, direct = _split(snapshot, ids)
            found = (await self._state.repository.rows(inbox_key, direct)).values()
            live = [row for row in found if rules.is_live(row, snapshot.now_ms, snapshot.retain_from_ms)]
            pairs = [(row, after) for row in live if (after := doing.row(row, snapshot)) != row]
            state = doing.bits(snapshot, bits) if bits else snapshot.broadcast_state
            await self._note(snapshot, state)
            return _both(snapshot, rules.apply_row_changes(snapshot, pairs) if pairs else None, state)

        return await self._state.change(inbox_key, InboxOperation.MARK, edit, at_least)

    async def _note(self, snapshot: InboxSnapshot, state: BroadcastState) -> None:
        """Before the state is written: afterwards a repeat would find nothing to note."""
        if read := user_state.newly_read_releases(snapshot, state):
            await self._readers.note(snapshot.owner.tenant, snapshot.owner.user, read, snapshot.now_ms)

    async def _unread(self, snapshot: InboxSnapshot) -> list[NotificationRow]:
        """All rows that are counted; found from the newest on, and not a row further than the last of them."""
        found: list[NotificationRow] = []
        below, has_more = None, True
        while has_more and len(found) < snapshot.counts.total:
            rows, has_more = await self._state.repository.page(snapshot.owner, below, _PAGE)
            found += [row for row in rows if rules.is_unread(row, snapshot)]
            below = rows[-1].id if rows else None
        return found


def _split(snapshot: InboxSnapshot, ids: Sequence[NotificationId]) -> tuple[int, list[NotificationId]]:
    """Broadcasts are known by the log; the others may be rows."""
    bits, direct = 0, []
    for notification in ids:
        if snapshot.shown.log_index.of_notification(notification):
            bits |= user_state.release_for_user(snapshot, notification)
        else:
            direct.append(notification)
    return bits, direct


def _both(snapshot: InboxSnapshot, direct: InboxChange | None, after: BroadcastState) -> InboxChange | None:
    """One change of both kinds; None where neither changes."""
    state = user_state.next_state(snapshot, after)
    if state is None:
        return direct
    return InboxChange(broadcast_state=state) if direct is None else replace(direct, broadcast_state=state)
