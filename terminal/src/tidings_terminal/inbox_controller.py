"""Connect the user's inbox with the screen: read it, keep it current, mark notifications. Without widgets.

If the tenant has no inbox, the screen shows none, and no error.
"""

import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Final, final

from tidings_sdk import (
    BroadcastUpdate,
    ConnectionStateChanged,
    Event,
    Inbox,
    InboxCounts,
    InboxUpdate,
    Notification,
    RequestRefused,
    State,
    TidingsError,
)
from tidings_terminal.notifications import NotificationBuffer, NotificationView

GLANCE: Final = 3
"""Number of notifications in the summary next to the chats."""
_PAGE: Final = 20
_MAX_ITEMS: Final = 500
_RETRY_S: Final = 5.0


def _nothing() -> None:
    pass


@final
class InboxController:
    """The state of the inbox. `run` starts a coroutine, `changed` requests a redraw, `say` shows a text."""

    def __init__(
        self,
        run: Callable[[Coroutine[None, None, None]], object],
        changed: Callable[[], None],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run, self._changed, self._notify, self._clock = run, changed, say, clock
        self._inbox: Inbox | None = None
        self._buffer = NotificationBuffer()
        self._requested = GLANCE
        self._is_due = self._is_busy = False
        self._reload_at: float | None = None
        self._timed: InboxCounts | None = None
        self.is_open = False

    def take(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @property
    def counts(self) -> InboxCounts | None:
        """The counts. None: there is no such inbox, or the first answer has not arrived."""
        return self._inbox.counts if self._inbox else None

    @property
    def notes(self) -> list[NotificationView]:
        return self._buffer.notes

    def happened(self, event: Event) -> None:
        match event:
            case ConnectionStateChanged(State.LIVE) if self.counts is None:
                self._reload()
            case InboxUpdate() if self._inbox is not None and event.counts.inbox == self._inbox.id:
                # Race: a read in flight may have been answered before this change. Read again.
                if not self._buffer.happened(event) or self._is_busy:
                    self._reload()
                if self.is_open and event.added:
                    self._mark(self._inbox.mark_seen)
            case BroadcastUpdate() if self._inbox is not None and event.inbox == self._inbox.id:
                self._broadcast(self._inbox, event)

    def _broadcast(self, inbox: Inbox, update: BroadcastUpdate) -> None:
        """Apply a broadcast. It has no counts: they come with the list, or are requested."""
        if not self._buffer.broadcast(update) or self._is_busy:
            self._reload()
        else:
            self._mark(inbox.mark_seen if self.is_open and update.added else inbox.refresh)

    def on_timer(self) -> None:
        """Read again when a notification expires. There is no push for it; the counts have the time."""
        if self.counts is not self._timed and self.counts is not None:
            self._timed, at = self.counts, self.counts.next_change_at
            self._reload_at = (
                None if at is None else self._clock() + max(1.0, (at - self._timed.at) / 1000 + 0.1)
            )
        if self._reload_at is not None and self._clock() >= self._reload_at:
            self._reload_at = None
            self._reload()

    def open(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self._requested = _PAGE if is_open else GLANCE
        if is_open and self._inbox is not None:
            self._mark(self._inbox.mark_seen)
            self._start_reading()

    def older(self) -> None:
        if self._buffer.cursor is not None:
            self._requested = min(len(self._buffer) + 1, _MAX_ITEMS)
            self._start_reading()

    def mark_read(self, ids: Sequence[str], *, is_read: bool = True) -> None:
        if (inbox := self._inbox) is not None:
            ask = inbox.mark_read if is_read else inbox.mark_unread
            self._mark(lambda: ask(ids), lambda: self._buffer.read(ids, is_read=is_read))

    def mark_all_read(self) -> None:
        """Mark all notifications that the user has received as read. Those in flight stay unread."""
        if (inbox := self._inbox) is not None and self.counts is not None:
            ids = [note.id for note in self.notes]
            before = max([self.counts.at, *(note.delivered_at for note in self.notes)])
            self._mark(lambda: inbox.mark_all_read(before=before), lambda: self._buffer.read(ids))

    def archive(self, ids: Sequence[str]) -> None:
        if (inbox := self._inbox) is not None:
            self._mark(lambda: inbox.archive(ids), lambda: self._buffer.remove(ids))

    def _mark(self, ask: Callable[[], Awaitable[InboxCounts]], then: Callable[[], None] = _nothing) -> None:
        self._run(self._marked(ask, then))

    async def _marked(self, ask: Callable[[], Awaitable[InboxCounts]], then: Callable[[], None]) -> None:
        try:
            await ask()
        except TidingsError as error:
            self._notify(f"failed: {error}")
        else:
            then()
        self._changed()

    def _reload(self) -> None:
        self._is_due = True
        self._start_reading()

    def _start_reading(self) -> None:
        """Start a read unless one is in progress. Concurrent reads could show the older result."""
        if not self._is_busy and self._inbox is not None:
            self._is_busy = True
            self._run(self._read(self._inbox))

    async def _read(self, inbox: Inbox) -> None:
        try:
            while self._is_due or self._needs_more:
                await self._read_pages(inbox)
        except RequestRefused as error:
            self._reload_at = self._clock() + _RETRY_S if error.body.retryable else None
        except TidingsError:
            self._reload_at = self._clock() + _RETRY_S
        finally:
            self._is_busy = False
        self._changed()

    @property
    def _needs_more(self) -> bool:
        return self._buffer.cursor is not None and len(self._buffer) < self._requested

    async def _read_pages(self, inbox: Inbox) -> None:
        """Read the list again as far as it was loaded, or read the next page of older notifications."""
        is_reload, self._is_due = self._is_due, False
        found, cursor = list[Notification](), None if is_reload else self._buffer.cursor
        loaded = 0 if is_reload else len(self._buffer)
        while True:
            page = await inbox.list(limit=_PAGE, cursor=cursor)
            found, cursor = [*found, *page.notifications], page.cursor
            if cursor is None or (found and loaded + len(found) >= self._requested):
                break
        (self._buffer.begin if is_reload else self._buffer.more)(found, cursor)
