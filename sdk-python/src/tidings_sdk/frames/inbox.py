"""A user's inbox: what he asks of it, and what he is told of it as it happens."""

from typing import Annotated, Literal

from msgspec import Meta, field

from tidings_sdk.fields import Data, Position
from tidings_sdk.frames.structs import Body

InboxId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$(?!\n)")]
NotificationId = Annotated[str, Meta(pattern=r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$(?!\n)")]
PageCursorText = Annotated[str, Meta(pattern=r"^[0-7][0-9A-HJKMNP-TV-Z]{25}(\.[0-9]{1,12})?$(?!\n)")]
CategoryId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)")]
NotificationMark = Literal["read", "unread", "archived", "restored", "seen"]


class GetCounts(Body, frozen=True, kw_only=True):
    """What is unread in an inbox. `at_least`: with the broadcasts up to there, of which the device was told."""

    inbox: InboxId
    at_least: Position = 0


class ListNotifications(Body, frozen=True, kw_only=True):
    """Notifications of an inbox, newest first. `cursor`: where the page before ended. `at_least`: as with `counts`."""

    inbox: InboxId
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: PageCursorText | None = None
    category: CategoryId | None = None
    is_unread: bool = False
    is_archived: bool = False
    at_least: Position = 0


class MarkNotifications(Body, frozen=True, kw_only=True):
    """`read` without `ids`: all up to `before` (none: now), of all or of one category. `seen`: he has looked."""

    inbox: InboxId
    to: NotificationMark
    ids: Annotated[tuple[NotificationId, ...], Meta(max_length=100)] = ()
    before: Annotated[int, Meta(ge=0)] | None = None
    category: CategoryId | None = None
    at_least: Position = 0


class InboxCounts(Body, frozen=True, kw_only=True):
    """Exact, as of `at`. Of two the one with the higher `version` is the newer; of the same, the later `at`.

    `unseen`: unread, and given since the user last looked. `next_change_at`: a notification expires then; ask again.
    `broadcasts_up_to`: of the inbox's log of broadcasts so many entries are counted in.
    """

    inbox: str
    version: int
    at: int
    unread: int = 0
    unseen: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    next_change_at: int | None = None
    broadcasts_up_to: int = 0


class Notification(Body, frozen=True, kw_only=True):
    """One notification as the user has it. `version` above 1: it was amended."""

    id: str
    at: int
    delivered_at: int
    message: Data
    category: str | None = None
    sender: str | None = None
    label: str | None = None
    host_system_id: str | None = None
    expires_at: int | None = None
    is_read: bool = False
    is_seen: bool = False
    is_archived: bool = False
    version: int = 1


class NotificationPage(Body, frozen=True, kw_only=True):
    """May be short, or empty, though there is a `cursor`: a filter found little so far."""

    notifications: tuple[Notification, ...]
    counts: InboxCounts
    cursor: str | None = None


class InboxUpdate(Body, frozen=True, kw_only=True):
    """The inbox changed: its counts now, and of notifications what was added, amended, or is gone (redacted).

    `has_more`: more happened than is told; list again. What was missed while away is not told later.
    """

    counts: InboxCounts
    added: tuple[Notification, ...] = ()
    amended: tuple[Notification, ...] = ()
    removed: tuple[str, ...] = ()
    has_more: bool = False


class BroadcastUpdate(Body, frozen=True, kw_only=True):
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
