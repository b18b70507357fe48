"""A user's inbox: requests, and pushes of changes.

The first `counts` or `notifications` request for an inbox subscribes the connection to its changes.
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
ChannelId = Annotated[str, Meta(pattern=r"^(inbox|push|email|webhook)$(?!\n)")]
ChannelChanges = Annotated[dict[ChannelId, bool | None], Meta(max_length=4)]


class GetCounts(RequestBody, frozen=True, kw_only=True):
    """Read the unread counts of an inbox. `at_least`: include the broadcasts up to this `up_to` of a push."""

    inbox: InboxId
    at_least: Position = 0


class ListNotifications(RequestBody, frozen=True, kw_only=True):
    """List notifications of an inbox, newest first. `cursor`: the end of the previous page. `at_least`: see `counts`."""

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
    """Mark notifications as read, unread, archived or restored from the archive, or the inbox as seen.

    `read` without `ids` marks all notifications up to `before` (default: now), of one `category` or of all.
    `seen`: the user has looked at the inbox.
    """

    inbox: InboxId
    to: NotificationMark
    ids: Annotated[tuple[NotificationId, ...], Meta(max_length=MAX_MARKED_NOTIFICATIONS)] = ()
    before: Milliseconds | None = None
    category: CategoryId | None = None
    at_least: Position = 0


class ChangePreferences(RequestBody, frozen=True, kw_only=True):
    """Switch channels of notifications on or off, for all categories or single ones, and read the result.

    `null` removes a choice, so that the setting of the category or the inbox applies. Choices that are not given stay
    as they are; a request without choices only reads.
    """

    inbox: InboxId
    channels: ChannelChanges = field(default_factory=dict)
    categories: Annotated[dict[CategoryId, ChannelChanges], Meta(max_length=50)] = field(default_factory=dict)


class CategoryPreferences(ResponseBody, frozen=True, kw_only=True):
    """The channels of a category: whether each is on, and the user's own choices. `is_critical`: they cannot choose."""

    name: str
    channels: dict[str, bool]
    chosen: dict[str, bool] = field(default_factory=dict)
    is_critical: bool = False


class InboxPreferences(ResponseBody, frozen=True, kw_only=True):
    """The channels of the user's notifications: without a category, and of each category.

    `chosen`: the user's own choices for all categories.
    """

    inbox: str
    channels: dict[str, bool]
    chosen: dict[str, bool] = field(default_factory=dict)
    categories: tuple[CategoryPreferences, ...] = ()


class InboxCounts(ResponseBody, frozen=True, kw_only=True):
    """The exact counts of an inbox at the time `at`.

    Of two counts, the one with the higher `version` is newer; with the same version, the one with the later `at`.
    `unseen`: unread, and delivered since the user last looked at the inbox. `next_change_at`: a notification expires
    then, so request the counts again. `broadcasts_up_to`: the position in the inbox's broadcast log up to which
    broadcasts are counted.
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
    """A notification in a user's inbox. `version` above 1: it was amended.

    `digest_count` above 1: it also stands for others with the same digest key. Message, sender and label are those of
    the newest.
    """

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
    digest_count: int = 1


class NotificationPage(ResponseBody, frozen=True, kw_only=True):
    """A page of notifications. With a filter it may be short or empty although a `cursor` follows."""

    notifications: tuple[Notification, ...]
    counts: InboxCounts
    cursor: str | None = None


class InboxUpdate(ResponseBody, frozen=True, kw_only=True):
    """A change of the inbox: its new counts, and the notifications that were added, amended or removed.

    `removed`: ids of redacted notifications. `has_more`: the push does not have all changes; list the notifications
    again. Changes while the device is disconnected are not pushed later.
    """

    counts: InboxCounts
    added: tuple[Notification, ...] = ()
    amended: tuple[Notification, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False


class BroadcastUpdate(ResponseBody, frozen=True, kw_only=True):
    """Broadcasts that were added, amended or removed. Request `counts` with `at_least` = `up_to` when you need them.

    The server spreads the pushes to users over some seconds. The push does not have the user's own state: keep
    `is_read`, `is_seen` and `is_archived` of an amended broadcast. `removed`: ids of redacted broadcasts. `has_more`:
    the push does not have all changes; list the notifications again.
    """

    inbox: str
    up_to: int
    added: tuple[Notification, ...] = ()
    amended: tuple[Notification, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False
