"""Read an inbox: counts, pages of notifications, and an explanation of the counts for support."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tidings.inboxes import paging, rules
from tidings.inboxes.broadcasts import user_state
from tidings.inboxes.broadcasts.model import BroadcastRelease
from tidings.inboxes.model import (
    InboxKey,
    InboxSnapshot,
    NotificationContent,
    NotificationId,
    NotificationRow,
)
from tidings.inboxes.paging import CountExplanation, ListEntry, PageCursor, explain_row
from tidings.inboxes.ports import ContentStore
from tidings.inboxes.state import InboxStateService
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.tenants.model import SealingKeyProvider, SealingKeys

MAX_PAGE = 100
_SCANNED = 2_000
"""Rows that are read for one page. A filter that matches few rows returns a short page with a cursor."""
_decode = msgspec.json.Decoder().decode


class NotificationFilter(Struct, frozen=True, kw_only=True):
    category: int | None = None
    is_unread: bool = False
    is_archived: bool = False


EVERYTHING = NotificationFilter()


class VisibleNotification(NamedTuple):
    row: NotificationRow
    content: NotificationContent
    message: Any
    is_read: bool
    is_seen: bool
    read_ms: int | None
    """When it was marked as read, by its id or by a mark of all."""


class NotificationSlice(NamedTuple):
    """Newest first. `below` is the cursor of the next page; None: this is the last."""

    notifications: Sequence[VisibleNotification]
    below: str | None
    snapshot: InboxSnapshot


class ExplainedCounts(NamedTuple):
    snapshot: InboxSnapshot
    reasons: Sequence[CountExplanation]
    below: str | None


def seal_location(tenant: TenantId, notification: NotificationId) -> ChatKey:
    """Return the location for which a notification is sealed. No chat id contains `#`."""
    return ChatKey(tenant, ChatId(f"#{notification}"))


class InboxQueries:
    def __init__(
        self, inbox_state: InboxStateService, contents: ContentStore, keys: SealingKeyProvider
    ) -> None:
        self._state = inbox_state
        self._contents = contents
        self._keys = keys

    async def counts(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot:
        return await self._state.read(inbox_key, at_least)

    async def page(
        self,
        inbox_key: InboxKey,
        limit: int,
        wanted: NotificationFilter = EVERYTHING,
        below: str | None = None,
        at_least: int = 0,
    ) -> NotificationSlice:
        snapshot = await self._state.read(inbox_key, at_least)
        if wanted.is_unread and snapshot.total == 0:
            return NotificationSlice((), None, snapshot)
        start = PageCursor.of(below, snapshot.shown.log_index.head)
        rows, end = await self._rows(snapshot, limit, wanted, start and start.sort_key)
        shown = [
            each
            for each in paging.releases_in(snapshot, user_state.visible_mask(snapshot))
            if _is_visible(each, wanted)
        ]
        entries, end = paging.merge_page(rows, paging.clip_page(shown, start, end), limit, end)
        head = snapshot.shown.log_index.head if start is None else start.head
        return NotificationSlice(
            await self._visible(snapshot, entries), paging.encode_cursor(end, head), snapshot
        )

    async def some(self, inbox_key: InboxKey, ids: Sequence[NotificationId]) -> NotificationSlice:
        """Return the given notifications that are visible and not archived, with the counts."""
        snapshot = await self._state.read(inbox_key)
        rows = await self._state.repository.rows(inbox_key, ids) if ids else {}
        wanted = [ListEntry(row.id, row) for row in rows.values() if _matches(row, snapshot, EVERYTHING)]
        return NotificationSlice(await self._visible(snapshot, wanted) if wanted else (), None, snapshot)

    async def shown(self, tenant: TenantId, release: BroadcastRelease) -> VisibleNotification | None:
        """Return a broadcast as a user sees it who receives it now. None: it was redacted."""
        notification = NotificationId(release.notification)
        content = (await self._contents.of(tenant, [notification])).get(notification)
        if content is None or content.sealed is None:
            return None
        keys = await self._keys.to_read(tenant, [content.sealed])
        message = _message(keys, seal_location(tenant, notification), content.version, content.sealed)
        row = NotificationRow(
            id=notification,
            category=release.category,
            delivered_ms=release.at_ms,
            host_system_id=content.host_system_id,
            expires_ms=release.expires_ms,
        )
        return VisibleNotification(row, content, message, is_read=False, is_seen=False, read_ms=None)

    async def explain(self, inbox_key: InboxKey, limit: int, below: str | None = None) -> ExplainedCounts:
        """List every notification, newest first, with the reason why it counts or not. The counted ones of all pages add up to the count."""
        snapshot = await self._state.read(inbox_key)
        start = PageCursor.of(below, snapshot.shown.log_index.head)
        rows, has_more = await self._state.repository.page(inbox_key, start and start.sort_key, limit)
        end = rows[-1].id if rows and has_more else None
        shown = paging.releases_in(snapshot, snapshot.shown.log_index.everything)
        entries, end = paging.merge_page(rows, paging.clip_page(shown, start, end), limit, end)
        head = snapshot.shown.log_index.head if start is None else start.head
        return ExplainedCounts(
            snapshot, [explain_row(each, snapshot) for each in entries], paging.encode_cursor(end, head)
        )

    async def _rows(
        self, snapshot: InboxSnapshot, limit: int, wanted: NotificationFilter, below: NotificationId | None
    ) -> tuple[list[NotificationRow], NotificationId | None]:
        found: list[NotificationRow] = []
        if wanted.is_unread and snapshot.counts.total == 0:
            return found, None
        scanned, has_more = 0, True
        while has_more and len(found) < limit and scanned < _SCANNED:
            rows, has_more = await self._state.repository.page(
                snapshot.owner, below, _read_size(limit - len(found), scanned, wanted)
            )
            for row in rows:
                scanned, below = scanned + 1, row.id
                if _matches(row, snapshot, wanted):
                    found.append(row)
                if len(found) == limit and row is not rows[-1]:
                    return found, below
        return found, below if has_more else None

    async def _visible(
        self, snapshot: InboxSnapshot, entries: Sequence[ListEntry]
    ) -> list[VisibleNotification]:
        """Add the contents. A redacted content hides its row at once, before the recall's job redacts the row."""
        tenant = snapshot.owner.tenant
        contents = await self._contents.of(tenant, [each.row.content_id for each in entries])
        sealed = {key: each.sealed for key, each in contents.items() if each.sealed is not None}
        keys = await self._keys.to_read(tenant, sealed.values())

        def message(content: NotificationContent) -> object:
            return _message(keys, seal_location(tenant, content.id), content.version, sealed[content.id])

        return [
            _notification(snapshot, each, contents[each.row.content_id], message)
            for each in entries
            if each.row.content_id in sealed
        ]


def _notification(
    snapshot: InboxSnapshot,
    entry: ListEntry,
    content: NotificationContent,
    message: Callable[[NotificationContent], object],
) -> VisibleNotification:
    row = entry.row
    if entry.release is None:
        is_read, is_seen = rules.is_read(row, snapshot.counts), rules.is_seen(row, snapshot.counts)
        return VisibleNotification(
            row, content, message(content), is_read, is_seen, rules.read_at_ms(row, snapshot.counts)
        )
    is_seen = row.read_ms is not None or entry.release.sequence <= snapshot.broadcast_state.seen_before
    named = msgspec.structs.replace(row, host_system_id=content.host_system_id)
    return VisibleNotification(
        named, content, message(content), row.read_ms is not None, is_seen, row.read_ms
    )


def _message(keys: SealingKeys, location: ChatKey, version: int, sealed: bytes) -> object:
    message: object = _decode(keys.unseal(location, version, sealed))
    return message


def _read_size(missing: int, scanned: int, wanted: NotificationFilter) -> int:
    """Return how many rows to read. A filter can skip most rows, so it reads more at a time, after a small first read."""
    if wanted == EVERYTHING:
        return missing
    return max(missing, 250 if scanned else 40)


def _matches(row: NotificationRow, snapshot: InboxSnapshot, wanted: NotificationFilter) -> bool:
    if not rules.is_live(row, snapshot.now_ms, snapshot.retain_from_ms) or not _is_listed(row, wanted):
        return False
    return not wanted.is_unread or rules.is_unread(row, snapshot)


def _is_visible(entry: ListEntry, wanted: NotificationFilter) -> bool:
    return _is_listed(entry.row, wanted) and (not wanted.is_unread or entry.row.read_ms is None)


def _is_listed(row: NotificationRow, wanted: NotificationFilter) -> bool:
    """Return whether the row is in the wanted list: archived or not, and of the wanted category."""
    if (row.archived_ms is not None) != wanted.is_archived:
        return False
    return wanted.category is None or row.category == wanted.category
