"""One inbox of the user: notifications, marks, and counts that follow changes on all devices.

Nothing is stored on the device. After each reconnect, the client requests the counts of the inboxes in use again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, final

from tidings_sdk.errors import RequestRefused, TidingsError
from tidings_wire.frames.inbox import (
    BroadcastUpdate,
    ChangePreferences,
    GetCounts,
    InboxCounts,
    InboxPreferences,
    InboxUpdate,
    ListNotifications,
    MarkNotifications,
    NotificationMark,
    NotificationPage,
)
from tidings_wire.frames.structs import Body

_WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)


class InboxBackend(Protocol):
    """The part of the client that an inbox uses."""

    async def request(self, body: Body) -> Body: ...


@final
class Inbox:
    """One inbox. Get it with `client.inbox(name)`.

    `counts`: the newest known counts, or None before the first request. Changes are events of `events()`:
    `InboxUpdate`, and for broadcasts `BroadcastUpdate`, which has no counts. Call `refresh()` when you need them.
    """

    def __init__(self, backend: InboxBackend, name: str) -> None:
        self._backend = backend
        self.id = name
        self.counts: InboxCounts | None = None
        self._announced_up_to = 0

    @property
    def is_stale(self) -> bool:
        """Whether a broadcast was announced that `counts` does not include."""
        return self.counts is None or self.counts.broadcasts_up_to < self._announced_up_to

    @property
    def _up_to(self) -> int:
        """The position in the broadcast log that answers must include, whichever process answers."""
        return max(self._announced_up_to, self.counts.broadcasts_up_to if self.counts else 0)

    async def refresh(self) -> InboxCounts:
        """Request the counts, and subscribe the connection to changes. Raises `RequestRefused` or `RequestTimeout`."""
        return await self._request_counts(GetCounts(inbox=self.id, at_least=self._up_to))

    async def list(
        self,
        *,
        limit: int = 20,
        cursor: str | None = None,
        category: str | None = None,
        is_unread: bool = False,
        is_archived: bool = False,
    ) -> NotificationPage:
        """Read a page of notifications, newest first. Pass `page.cursor` to read the next page."""
        request = ListNotifications(
            inbox=self.id,
            limit=limit,
            cursor=cursor,
            category=category,
            is_unread=is_unread,
            is_archived=is_archived,
            at_least=self._up_to,
        )
        page = await self._backend.request(request)
        assert isinstance(page, NotificationPage)  # noqa: S101 - the answer to `notifications`
        self.on_counts(page.counts)
        return page

    async def mark_read(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("read", ids)

    async def mark_unread(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("unread", ids)

    async def mark_all_read(self, *, before: int | None = None, category: str | None = None) -> InboxCounts:
        """Mark all notifications up to a time in milliseconds as read. Default: now. Later ones stay unread."""
        request = MarkNotifications(
            inbox=self.id, to="read", before=before, category=category, at_least=self._up_to
        )
        return await self._request_counts(request)

    async def archive(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("archived", ids)

    async def restore(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("restored", ids)

    async def mark_seen(self) -> InboxCounts:
        """Mark the inbox as seen: `unseen` becomes 0."""
        return await self._request_counts(MarkNotifications(inbox=self.id, to="seen", at_least=self._up_to))

    async def preferences(self) -> InboxPreferences:
        """Read the channels that the user's notifications take, for each category."""
        return await self.change_preferences()

    async def change_preferences(
        self,
        channels: Mapping[str, bool | None] | None = None,
        categories: Mapping[str, Mapping[str, bool | None]] | None = None,
    ) -> InboxPreferences:
        """Switch the channels `inbox`, `push`, `email` and `webhook` on or off, for all categories or single ones.

        None removes a choice, so that the tenant's setting applies. Other choices stay as they are.
        """
        request = ChangePreferences(
            inbox=self.id,
            channels=dict(channels or {}),
            categories={name: dict(each) for name, each in (categories or {}).items()},
        )
        found = await self._backend.request(request)
        assert isinstance(found, InboxPreferences)  # noqa: S101 - the answer to `preferences`
        return found

    def on_counts(self, counts: InboxCounts) -> None:
        """Store the counts unless newer ones are known."""
        if self.counts is None or (counts.version, counts.at) >= (self.counts.version, self.counts.at):
            self.counts = counts

    def on_broadcast(self, up_to: int) -> None:
        """Record the position of an announced broadcast."""
        self._announced_up_to = max(self._announced_up_to, up_to)

    def restored(self) -> None:
        """Reset after a restore from a backup, whose broadcast log may be shorter. The counts are requested again."""
        self._announced_up_to = 0
        if self.counts is not None:
            self.counts = InboxCounts(inbox=self.id, version=0, at=0)

    async def _mark(self, to: NotificationMark, ids: Sequence[str]) -> InboxCounts:
        """Mark notifications. An empty list sends nothing: the server takes `read` without ids as all."""
        if not ids:
            return self.counts or await self.refresh()
        return await self._request_counts(
            MarkNotifications(inbox=self.id, to=to, ids=tuple(ids), at_least=self._up_to)
        )

    async def _request_counts(self, request: Body) -> InboxCounts:
        counts = await self._backend.request(request)
        assert isinstance(counts, InboxCounts)  # noqa: S101 - the answer to both requests
        self.on_counts(counts)
        return counts


@final
class InboxRegistry:
    """The inboxes that the app uses. `on_update` receives their events."""

    def __init__(
        self, backend: InboxBackend, on_update: Callable[[InboxUpdate | BroadcastUpdate], None]
    ) -> None:
        self._backend = backend
        self._notify = on_update
        self._known: dict[str, Inbox] = {}

    def get(self, name: str) -> Inbox:
        """Return the inbox, always the same object, so that its counts are shared."""
        return self._known.setdefault(name, Inbox(self._backend, name))

    def pushed(self, update: InboxUpdate) -> None:
        if (inbox := self._known.get(update.counts.inbox)) is not None:
            inbox.on_counts(update.counts)
        self._notify(update)

    def broadcast(self, update: BroadcastUpdate) -> None:
        if (inbox := self._known.get(update.inbox)) is not None:
            inbox.on_broadcast(update.up_to)
        self._notify(update)

    def restored(self) -> None:
        for inbox in self._known.values():
            inbox.restored()

    async def refresh_all(self) -> None:
        """Request all counts on a new connection. This subscribes it, and finds changes of the time without one."""
        for inbox in list(self._known.values()):
            if inbox.counts is not None and (counts := await _refresh(inbox)) is not None:
                self._notify(InboxUpdate(counts=counts, has_more=True))


async def _refresh(inbox: Inbox) -> InboxCounts | None:
    """Refresh an inbox with retries. Returns None if the connection is lost, or the inbox does not exist."""
    for wait_s in _WAITS_S:
        try:
            return await inbox.refresh()
        except RequestRefused as error:
            if not error.body.retryable:
                return None
            await asyncio.sleep(wait_s)
        except TidingsError:
            return None
    return None
