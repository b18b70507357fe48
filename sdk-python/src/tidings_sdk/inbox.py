"""One inbox of the user: its notifications, marks, and counts that follow what happens, on whichever device.

Nothing is kept on the device: each time the connection stands anew, the inboxes that are looked at are asked again.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, final

from tidings_sdk.errors import RequestRefused, TidingsError
from tidings_wire.frames.inbox import (
    BroadcastUpdate,
    GetCounts,
    InboxCounts,
    InboxUpdate,
    ListNotifications,
    MarkNotifications,
    NotificationMark,
    NotificationPage,
)
from tidings_wire.frames.structs import Body

_WAITS_S = (0.5, 1.0, 2.0, 4.0, 8.0)


class InboxBackend(Protocol):
    """What an inbox needs of its client."""

    async def request(self, body: Body) -> Body: ...


@final
class Inbox:
    """`counts`: the newest that was heard of; None before the first. Changes come as `InboxUpdate` from `events()`, and
    broadcasts as `BroadcastUpdate`, without counts: `refresh()` when they are needed.
    """

    def __init__(self, desk: InboxBackend, name: str) -> None:
        self._backend = desk
        self.id = name
        self.counts: InboxCounts | None = None
        self._announced_up_to = 0

    @property
    def is_stale(self) -> bool:
        """A broadcast was told of that is not in the counts yet."""
        return self.counts is None or self.counts.broadcasts_up_to < self._announced_up_to

    @property
    def _up_to(self) -> int:
        """Of the broadcasts, what was told or counted: what is asked from now on has them, whichever process answers."""
        return max(self._announced_up_to, self.counts.broadcasts_up_to if self.counts else 0)

    async def refresh(self) -> InboxCounts:
        """Asks; from then on the connection is told of changes."""
        return await self._counted(GetCounts(inbox=self.id, at_least=self._up_to))

    async def list(
        self,
        *,
        limit: int = 20,
        cursor: str | None = None,
        category: str | None = None,
        is_unread: bool = False,
        is_archived: bool = False,
    ) -> NotificationPage:
        """A page, newest first; `page.cursor` goes into the next."""
        asked = ListNotifications(
            inbox=self.id,
            limit=limit,
            cursor=cursor,
            category=category,
            is_unread=is_unread,
            is_archived=is_archived,
            at_least=self._up_to,
        )
        page = await self._backend.request(asked)
        assert isinstance(page, NotificationPage)  # noqa: S101 - the form that `notifications` is answered in
        self.on_counts(page.counts)
        return page

    async def mark_read(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("read", ids)

    async def mark_unread(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("unread", ids)

    async def mark_all_read(self, *, before: int | None = None, category: str | None = None) -> InboxCounts:
        """All up to a time in milliseconds (none: now); what comes later is never read by it."""
        asked = MarkNotifications(
            inbox=self.id, to="read", before=before, category=category, at_least=self._up_to
        )
        return await self._counted(asked)

    async def archive(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("archived", ids)

    async def restore(self, ids: Sequence[str]) -> InboxCounts:
        return await self._mark("restored", ids)

    async def mark_seen(self) -> InboxCounts:
        """The user has looked: `unseen` is 0."""
        return await self._counted(MarkNotifications(inbox=self.id, to="seen", at_least=self._up_to))

    def on_counts(self, counts: InboxCounts) -> None:
        """Older ones never replace newer ones, whatever way they came."""
        if self.counts is None or (counts.version, counts.at) >= (self.counts.version, self.counts.at):
            self.counts = counts

    def on_broadcast(self, up_to: int) -> None:
        """Of broadcasts, by a push."""
        self._announced_up_to = max(self._announced_up_to, up_to)

    def restored(self) -> None:
        """From a backup: the log of broadcasts may end before what was known of it. The counts are asked for anew."""
        self._announced_up_to = 0
        if self.counts is not None:
            self.counts = InboxCounts(inbox=self.id, version=0, at=0)

    async def _mark(self, to: NotificationMark, ids: Sequence[str]) -> InboxCounts:
        """Without any there is nothing to mark: `read` of no notifications would be read as all."""
        if not ids:
            return self.counts or await self.refresh()
        return await self._counted(
            MarkNotifications(inbox=self.id, to=to, ids=tuple(ids), at_least=self._up_to)
        )

    async def _counted(self, asked: Body) -> InboxCounts:
        counts = await self._backend.request(asked)
        assert isinstance(counts, InboxCounts)  # noqa: S101 - the form that both are answered in
        self.on_counts(counts)
        return counts


@final
class InboxRegistry:
    """Those that the app looks at. `tell` gives an event to whoever reads them."""

    def __init__(self, desk: InboxBackend, tell: Callable[[InboxUpdate | BroadcastUpdate], None]) -> None:
        self._backend = desk
        self._notify = tell
        self._known: dict[str, Inbox] = {}

    def get(self, name: str) -> Inbox:
        """The same one each time, so that its counts are."""
        return self._known.setdefault(name, Inbox(self._backend, name))

    def pushed(self, news: InboxUpdate) -> None:
        if (inbox := self._known.get(news.counts.inbox)) is not None:
            inbox.on_counts(news.counts)
        self._notify(news)

    def broadcast(self, news: BroadcastUpdate) -> None:
        if (inbox := self._known.get(news.inbox)) is not None:
            inbox.on_broadcast(news.up_to)
        self._notify(news)

    def restored(self) -> None:
        for inbox in self._known.values():
            inbox.restored()

    async def refresh_all(self) -> None:
        """The connection is a new one: it is told of nothing yet, and what happened meanwhile was not told."""
        for inbox in list(self._known.values()):
            if inbox.counts is not None and (counts := await _asked(inbox)) is not None:
                self._notify(InboxUpdate(counts=counts, has_more=True))


async def _asked(inbox: Inbox) -> InboxCounts | None:
    """None: the connection is lost again, and the next one asks anew; or the inbox is no more."""
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
