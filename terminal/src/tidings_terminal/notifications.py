"""The loaded notifications of one inbox, newest first, with later changes applied. Without I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import final

from tidings_sdk import BroadcastUpdate, InboxUpdate, Notification
from tidings_terminal import formatting


@dataclass(frozen=True, slots=True)
class NotificationView:
    """A notification as text. `delivered_at`: when it was delivered to the user, in milliseconds."""

    id: str
    title: str
    more: str
    delivered_at: int
    is_read: bool


def notification_view(notification: Notification) -> NotificationView:
    title, more = formatting.notification_text(notification.message)
    if notification.digest_count > 1:
        title = f"{title} (+{notification.digest_count - 1})"
    return NotificationView(notification.id, title, more, notification.delivered_at, notification.is_read)


@final
@dataclass(slots=True)
class NotificationBuffer:
    """The loaded notifications. `cursor`: where older ones start, or None if there are none."""

    cursor: str | None = None
    _notes: dict[str, NotificationView] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._notes)

    @property
    def notes(self) -> list[NotificationView]:
        return [self._notes[name] for name in sorted(self._notes, reverse=True)]

    def begin(self, notifications: Iterable[Notification], cursor: str | None) -> None:
        """Replace all notifications."""
        self._notes.clear()
        self.more(notifications, cursor)

    def more(self, notifications: Iterable[Notification], cursor: str | None) -> None:
        self._notes.update((each.id, notification_view(each)) for each in notifications)
        self.cursor = cursor

    def broadcast(self, update: BroadcastUpdate) -> bool:
        """Apply a broadcast. Return whether it has all changes. Known broadcasts keep their `is_read`."""
        for notification in (*update.added, *update.amended):
            note, known = notification_view(notification), self._notes.get(notification.id)
            if known is not None:
                self._notes[note.id] = replace(note, is_read=known.is_read)
            elif notification in update.added:
                self._notes[note.id] = note
        self.remove(update.removed)
        return not update.has_more

    def happened(self, update: InboxUpdate) -> bool:
        """Apply a change. Return whether it has all changes. For marks of other devices it has counts only."""
        for notification in (*update.added, *update.amended):
            if self.cursor is None or notification.id > self.cursor:
                self._notes[notification.id] = notification_view(notification)
        self.remove(update.removed)
        return not update.has_more and bool(update.added or update.amended or update.removed)

    def remove(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._notes.pop(name, None)

    def read(self, ids: Iterable[str], *, is_read: bool = True) -> None:
        for name in ids:
            if name in self._notes:
                self._notes[name] = replace(self._notes[name], is_read=is_read)
