"""A notification as one user has it, and what is counted of his inbox.

Each inbox of a user has a time of its own (`UnreadCounts.latest_ms`): it is never behind what was given, marked or settled
there, whatever the clocks of processes say. What is later is decided by it alone.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, NewType

from msgspec import Struct, field

from tidings.inboxes.broadcasts.model import NOTHING, UserBroadcasts
from tidings.kernel.ids import TenantId, UserId, ulid_ms

NotificationId = NewType("NotificationId", str)
InboxId = NewType("InboxId", str)

UNCATEGORISED = 0
"""The code of notifications without a category: they count in all, and nowhere else."""


class InboxKey(NamedTuple):
    """Whose notifications: a user's, in one inbox. All of them stand in one partition."""

    tenant: TenantId
    user: UserId
    inbox: InboxId


class NotificationRow(Struct, frozen=True, kw_only=True, gc=False):
    """A pointer to a notification, and what the user did with it. `delivered_ms` None: redacted before it came."""

    id: NotificationId
    category: int
    delivered_ms: int | None
    host_system_id: str | None = None
    read_ms: int | None = None
    reopened_ms: int | None = None
    archived_ms: int | None = None
    redacted_ms: int | None = None
    expires_ms: int | None = None

    @property
    def sent_ms(self) -> int:
        return ulid_ms(self.id)

    @property
    def since_ms(self) -> int:
        """From when it is unread, if it is."""
        return self.reopened_ms or self.delivered_ms or 0


class ExpiryEntry(Struct, frozen=True, kw_only=True, gc=False):
    """Stands while an unread notification that expires is counted; below the watermarks it counts no more."""

    id: NotificationId
    at_ms: int
    category: int
    since_ms: int
    delivered_ms: int


class UnreadCounts(Struct, frozen=True, kw_only=True):
    """Unread, in all and by category's code; unseen: unread, and given since the user last looked.

    Every change of a row or of the counts makes `version` one more: it is the lock of the partition.
    """

    total: int = 0
    by_category: Mapping[int, int] = field(default_factory=dict)
    unseen: int = 0
    read_before_ms: int = 0
    category_read_before_ms: Mapping[int, int] = field(default_factory=dict)
    seen_before_ms: int = 0
    retained_from_ms: int = 0
    """What was sent before is gone for good."""
    latest_ms: int = 0
    version: int = 0


class BroadcastState(Struct, frozen=True, kw_only=True):
    """What a user did with broadcasts, by their sequences. `unread`: made unread again, and when.

    Kept apart from the counts of direct notifications, with a version of its own: a delivery must not disturb it.
    """

    joined: int = 0
    """What was given up to there is from before his time."""
    read_before: int = 0
    category_read_before: Mapping[int, int] = field(default_factory=dict)
    seen_before: int = 0
    read: frozenset[int] = frozenset()
    unread: Mapping[int, int] = field(default_factory=dict)
    archived: frozenset[int] = frozenset()
    updated_ms: int = 0
    version: int = 0


class BroadcastCounts(NamedTuple):
    """What is unread of the broadcasts. `next_ms`: when that changes by itself."""

    total: int = 0
    by_category: Mapping[int, int] = {}
    unseen: int = 0
    next_ms: int | None = None


class StoredInbox(NamedTuple):
    """What one Query gives: the counts, and the expiring ones from the earliest on. `is_cut`: there are more."""

    counts: UnreadCounts
    expiring: tuple[ExpiryEntry, ...]
    is_cut: bool = False
    broadcast_state: BroadcastState | None = None


class InboxChange(Struct, frozen=True, kw_only=True):
    """What is written together, on condition that nothing was since `version`.

    Without `counts` nothing direct is; `broadcast_state` follows the version before its own.
    """

    version: int = 0
    counts: UnreadCounts | None = None
    broadcast_state: BroadcastState | None = None
    rows: tuple[NotificationRow, ...] = ()
    expiring: tuple[ExpiryEntry, ...] = ()
    dropped: tuple[ExpiryEntry, ...] = ()


class InboxSnapshot(Struct, frozen=True, kw_only=True):
    """An inbox as it is at `now_ms`: the counts without what has expired or is kept no longer.

    `counts`, `dropped` (to be deleted with the next change) and `next_ms` (when the counts change by themselves) are of
    direct notifications; `shown`, `broadcast_state` and `tally` of broadcasts; the properties are of both.
    """

    owner: InboxKey
    stored: UnreadCounts
    counts: UnreadCounts
    now_ms: int
    retain_from_ms: int
    dropped: tuple[ExpiryEntry, ...] = ()
    next_ms: int | None = None
    shown: UserBroadcasts = NOTHING
    broadcast_state: BroadcastState = BroadcastState()
    tally: BroadcastCounts = BroadcastCounts()

    @property
    def total(self) -> int:
        return self.counts.total + self.tally.total

    @property
    def unseen(self) -> int:
        return self.counts.unseen + self.tally.unseen

    @property
    def by_category(self) -> Mapping[int, int]:
        if not self.tally.by_category:
            return self.counts.by_category
        both = dict(self.counts.by_category)
        for code, count in self.tally.by_category.items():
            both[code] = both.get(code, 0) + count
        return both

    @property
    def next_change_ms(self) -> int | None:
        return min((at for at in (self.next_ms, self.tally.next_ms) if at is not None), default=None)


EVERYONE = "*"
"""No segment has this name."""


class NotificationContent(Struct, frozen=True, kw_only=True):
    """What a notification says now, once for all who have it. `sealed` None: it was redacted.

    `job` brought it to its users; `recall` takes it back. `reach` is of broadcasts: `EVERYONE`, or a segment's name.
    """

    id: NotificationId
    inbox: InboxId
    category: int
    version: int
    sealed: bytes | None
    created_ms: int
    job: str
    count: int
    sender: str | None = None
    label: str | None = None
    host_system_id: str | None = None
    expires_ms: int | None = None
    redacted_ms: int | None = None
    recall: str | None = None
    reach: str | None = None
    is_tracked: bool = False


class KeyOrigin(StrEnum):
    """What a key is: of a request, or the name of the notification in the sender's own system."""

    KEY = "i"
    HOST = "h"


class KeyClaim(Struct, frozen=True, kw_only=True):
    """What was sent under a key: a try that comes later goes on with these ids."""

    notification: NotificationId
    job: str
    fingerprint: bytes
    at_ms: int
