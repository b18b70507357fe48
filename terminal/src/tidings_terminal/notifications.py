"""The notifications of one inbox as far as they were read, newest first, and what has happened to them since. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import final

from tidings_sdk import BroadcastUpdate, InboxUpdate, Notification
from tidings_terminal import formatting


@dataclass(frozen=True, slots=True)
class NotificationView:
    """A notification in words. `delivered_at`: when it came to the user, in milliseconds."""

    id: str
    title: str
    more: str
    delivered_at: int
    is_read: bool


def notification_view(notification: Notification) -> NotificationView:
    title, more = formatting.notification_text(notification.message)
    return NotificationView(notification.id, title, more, notification.delivered_at, notification.is_read)


@final
@dataclass(slots=True)
class NotificationBuffer:
    """`cursor`: where older ones go on; None: there are none."""

    cursor: str | None = None
    _notes: dict[str, NotificationView] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._notes)

    @property
    def notes(self) -> list[NotificationView]:
        return [self._notes[name] for name in sorted(self._notes, reverse=True)]

    def begin(self, notifications: Iterable[Notification], cursor: str | None) -> None:
        """Read anew: what is not among them is not there any more."""
        self._notes.clear()
        self.more(notifications, cursor)

    def more(self, notifications: Iterable[Notification], cursor: str | None) -> None:
        self._notes.update((each.id, notification_view(each)) for each in notifications)
        self.cursor = cursor

    def broadcast(self, news: BroadcastUpdate) -> bool:
        """Whether the news say all that changed. Whether one was read is not told of what is known."""
        for notification in (*news.added, *news.amended):
            note, known = notification_view(notification), self._notes.get(notification.id)
            if known is not None:
                self._notes[note.id] = replace(note, is_read=known.is_read)
            elif notification in news.added:
                self._notes[note.id] = note
        self.took(news.removed)
        return not news.has_more

    def happened(self, news: InboxUpdate) -> bool:
        """Whether the news say all that changed. What was marked elsewhere is told by the counts alone."""
        for notification in (*news.added, *news.amended):
            if self.cursor is None or notification.id > self.cursor:
                self._notes[notification.id] = notification_view(notification)
        self.took(news.removed)
        return not news.has_more and bool(news.added or news.amended or news.removed)

    def took(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._notes.pop(name, None)

    def read(self, ids: Iterable[str], *, is_read: bool = True) -> None:
        for name in ids:
            if name in self._notes:
                self._notes[name] = replace(self._notes[name], is_read=is_read)
