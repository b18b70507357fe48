"""A user's inbox: what he asks of it, and what he is told of it as it happens.

Asking is subscribing: from the first `counts` or `notifications` on, the connection is told of the changes of that inbox.
"""

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from tidings_wire.fields import (
    MAX_MARKED_NOTIFICATIONS,
    MAX_NOTIFICATION_PAGE,
    Data,
    Milliseconds,
    MillisecondsOut,
    Position,
)
from tidings_wire.frames.structs import RequestBody, ResponseBody

_NOTIFICATION_ID: Final = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$(?!\n)"
_PAGE_END: Final = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}(\.[0-9]{1,12})?$(?!\n)"
InboxId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$(?!\n)")]
NotificationId = Annotated[str, Meta(pattern=_NOTIFICATION_ID)]
PageCursorText = Annotated[str, Meta(pattern=_PAGE_END)]
CategoryId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)")]
NotificationMark = Literal["read", "unread", "archived", "restored", "seen"]


class GetCounts(RequestBody, frozen=True, kw_only=True):
    """What is unread in an inbox. `at_least`: with the broadcasts up to there, of which the device was told."""

    inbox: InboxId
    at_least: Position = 0


class ListNotifications(RequestBody, frozen=True, kw_only=True):
    """Notifications of an inbox, newest first. `cursor`: where the page before ended. `at_least`: as with `counts`."""

    inbox: InboxId
    limit: Annotated[int, Meta(ge=1, le=MAX_NOTIFICATION_PAGE)] = 20
    cursor: PageCursorText | None = None
    category: CategoryId | None = None
    is_unread: bool = False
    is_archived: bool = False
    at_least: Position = 0

    @property
    def is_filtered(self) -> bool:
        return self.category is not None or self.is_unread or self.is_archived


class MarkNotifications(RequestBody, frozen=True, kw_only=True):
    """The user has read these, or wants them unread again, archived, out of the archive. `read` without `ids`: all up
    to `before` (none: now), of all or of one category. `seen`: he has looked at the inbox.
    """

    inbox: InboxId
    to: NotificationMark
    ids: Annotated[tuple[NotificationId, ...], Meta(max_length=MAX_MARKED_NOTIFICATIONS)] = ()
    before: Milliseconds | None = None
    category: CategoryId | None = None
    at_least: Position = 0


class InboxCounts(ResponseBody, frozen=True, kw_only=True):
    """Exact, as of `at`. Of two the one with the higher `version` is the newer; of the same, the later `at`.

    `unseen`: unread, and given since the user last looked. `next_change_at`: a notification expires then; ask again.
    `broadcasts_up_to`: of the inbox's log of broadcasts so many entries are counted in.
    """

    inbox: str
    version: int
    at: MillisecondsOut
    unread: int = 0
    unseen: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    next_change_at: MillisecondsOut | None = None
    broadcasts_up_to: int = 0


class Notification(ResponseBody, frozen=True, kw_only=True):
    """One notification as the user has it. `version` above 1: it was amended."""

    id: str
    at: MillisecondsOut
    delivered_at: MillisecondsOut
    message: Data
    category: str | None = None
    sender: str | None = None
    label: str | None = None
    host_system_id: str | None = None
    expires_at: MillisecondsOut | None = None
    is_read: bool = False
    is_seen: bool = False
    is_archived: bool = False
    version: int = 1


class NotificationPage(ResponseBody, frozen=True, kw_only=True):
    """May be short, or empty, though there is a `cursor`: a filter found little so far."""

    notifications: tuple[Notification, ...]
    counts: InboxCounts
    cursor: str | None = None


class InboxUpdate(ResponseBody, frozen=True, kw_only=True):
    """The inbox changed: its counts now, and of notifications what was added, amended, or is gone (redacted).

    `has_more`: more happened than is told; list again. What was missed while away is not told later.
    """

    counts: InboxCounts
    added: tuple[Notification, ...] = ()
    amended: tuple[Notification, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False


class BroadcastUpdate(ResponseBody, frozen=True, kw_only=True):
    """Broadcasts came, were amended, or are gone (redacted). Without counts: ask, `at_least` these, when you need them.

    Told within some seconds, to each user at a moment of his own. What he did with one is not told here: `is_read`,
    `is_seen` and `is_archived` of an amended one stay as they were. `has_more`: more happened than is told; list again.
    """

    inbox: str
    up_to: int
    added: tuple[Notification, ...] = ()
    amended: tuple[Notification, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False
