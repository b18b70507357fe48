"""Notifications in a user's inbox, and its counts.

Each inbox of a user has a clock of its own, `UnreadCounts.latest_ms`. Every delivery, mark and settlement moves it
forward, so the order of operations does not depend on the clocks of processes.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, NewType

from msgspec import Struct, field

from tidings.inboxes.broadcasts.model import NO_BROADCASTS, UserBroadcasts
from tidings.inboxes.preferences import NO_PREFERENCES, Exclusion, UserPreferences
from tidings.jobs.model import Job
from tidings.kernel.ids import TenantId, UserId, ulid_ms

NotificationId = NewType("NotificationId", str)
InboxId = NewType("InboxId", str)

UNCATEGORISED = 0
"""The code of notifications without a category. They count in the total only."""


class ConfigPage[T](NamedTuple):
    """A page of a tenant's inboxes or segments. `last` is the name after which the next page begins, or None."""

    items: tuple[T, ...]
    last: str | None


class InboxKey(NamedTuple):
    """One inbox of one user. Its items are in one partition."""

    tenant: TenantId
    user: UserId
    inbox: InboxId


class NotificationRow(Struct, frozen=True, kw_only=True, gc=False):
    """A reference to a notification, with the user's state.

    `delivered_ms` None: redacted before the delivery, or `excluded` from this inbox. An excluded row is neither shown
    nor counted. It makes the decision final for retries, and explains it.

    The first row of a digest also stands for later notifications: `gathered` is how many it shows, its own included,
    and `newest` is the one whose content it shows. `withdrawn_ms`: its own notification was recalled, others remain.
    `digest_of`: this row is shown by the first row of a digest, with this id.
    """

    id: NotificationId
    category: int
    delivered_ms: int | None
    host_system_id: str | None = None
    read_ms: int | None = None
    reopened_ms: int | None = None
    archived_ms: int | None = None
    redacted_ms: int | None = None
    expires_ms: int | None = None
    excluded: Exclusion | None = None
    gathered: int = 0
    newest: NotificationId | None = None
    withdrawn_ms: int | None = None
    digest_of: NotificationId | None = None

    @property
    def content_id(self) -> NotificationId:
        """The notification whose content the row shows."""
        return self.newest or self.id

    @property
    def sent_ms(self) -> int:
        return ulid_ms(self.id)

    @property
    def since_ms(self) -> int:
        """Since when it is unread, if it is."""
        return self.reopened_ms or self.delivered_ms or 0


class ExpiryEntry(Struct, frozen=True, kw_only=True, gc=False):
    """Exists while an unread notification with an expiry is counted. Below the read watermarks it does not count."""

    id: NotificationId
    at_ms: int
    category: int
    since_ms: int
    delivered_ms: int


class UnreadCounts(Struct, frozen=True, kw_only=True):
    """Unread notifications, in total and by category code. Unseen: unread and delivered since the user last viewed it.

    Every change of a row or of the counts increments `version`, the optimistic lock of the partition.
    """

    total: int = 0
    by_category: Mapping[int, int] = field(default_factory=dict)
    unseen: int = 0
    read_before_ms: int = 0
    category_read_before_ms: Mapping[int, int] = field(default_factory=dict)
    seen_before_ms: int = 0
    retained_from_ms: int = 0
    """Notifications that were sent before are deleted permanently."""
    latest_ms: int = 0
    throttled: Mapping[int, int] = field(default_factory=dict)
    """For each throttled category, `THROTTLE_BASE` times the number of its last window, plus the deliveries in it."""
    version: int = 0


THROTTLE_BASE = 10_000


class ThrottleSlot(NamedTuple):
    """One delivery in a window: the values of `UnreadCounts.throttled` before and after it. 0: there was none."""

    before: int
    after: int


class DigestKey(NamedTuple):
    """Notifications of a user that are gathered. Without a key, they are all notifications of the category."""

    category: int
    key: str


class OpenDigest(NamedTuple):
    """The last digest of a key. It takes further notifications until `until_ms`, while its first row is unread."""

    key: DigestKey
    first: NotificationId
    until_ms: int


class BroadcastState(Struct, frozen=True, kw_only=True):
    """A user's state of broadcasts, by sequence. `unread`: marked as unread again, and when.

    It is an item of its own with its own version, so that deliveries of direct notifications do not conflict with it.
    """

    joined: int = 0
    """Broadcasts up to this sequence were released before the user was created."""
    read_before: int = 0
    category_read_before: Mapping[int, int] = field(default_factory=dict)
    seen_before: int = 0
    read: frozenset[int] = frozenset()
    unread: Mapping[int, int] = field(default_factory=dict)
    archived: frozenset[int] = frozenset()
    updated_ms: int = 0
    version: int = 0


class BroadcastCounts(NamedTuple):
    """Unread broadcasts. `next_ms`: when a counted one expires."""

    total: int = 0
    by_category: Mapping[int, int] = {}
    unseen: int = 0
    next_ms: int | None = None


class StoredInbox(NamedTuple):
    """The result of one Query: counts, preferences, and expiry entries from the earliest on. `is_cut`: there are more."""

    counts: UnreadCounts
    expiring: tuple[ExpiryEntry, ...]
    is_cut: bool = False
    broadcast_state: BroadcastState | None = None
    preferences: UserPreferences = NO_PREFERENCES


class InboxChange(Struct, frozen=True, kw_only=True):
    """A change that is written atomically, on condition that the counts still have `version`.

    Without `counts`, only `broadcast_state` changes, on condition that the stored one is the version before it.
    `new_rows` are written on condition that the notifications have no row.
    """

    version: int = 0
    counts: UnreadCounts | None = None
    broadcast_state: BroadcastState | None = None
    rows: tuple[NotificationRow, ...] = ()
    new_rows: tuple[NotificationRow, ...] = ()
    digest: OpenDigest | None = None
    expiring: tuple[ExpiryEntry, ...] = ()
    dropped: tuple[ExpiryEntry, ...] = ()


class InboxSnapshot(Struct, frozen=True, kw_only=True):
    """An inbox at `now_ms`, without expired notifications and those beyond the retention.

    Direct notifications: `counts`, `dropped` (expiry entries that the next change deletes) and `next_ms` (when the next
    one expires). Broadcasts: `shown`, `broadcast_state` and `tally`. The properties combine both.
    """

    owner: InboxKey
    stored: UnreadCounts
    counts: UnreadCounts
    now_ms: int
    retain_from_ms: int
    dropped: tuple[ExpiryEntry, ...] = ()
    next_ms: int | None = None
    shown: UserBroadcasts = NO_BROADCASTS
    broadcast_state: BroadcastState = BroadcastState()
    tally: BroadcastCounts = BroadcastCounts()
    preferences: UserPreferences = NO_PREFERENCES

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
"""The value of `reach` for all users. No segment has this name."""


class NotificationContent(Struct, frozen=True, kw_only=True):
    """The current content of a notification, stored once for all its users. `sealed` None: it was redacted.

    `job` delivers it, `recall` withdraws it. `reach` is set for broadcasts: `EVERYONE`, or a segment's name.
    `is_critical`: users' preferences do not apply. `digest_key`: it joins others with this key, if its category has a digest.
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
    is_critical: bool = False
    digest_key: str | None = None


class DeliveredChunk(NamedTuple):
    """Users of a job's chunk that a notification reached, and who have the channel `webhook`."""

    job: Job
    chunk: int
    users: tuple[UserId, ...]


class KeyOrigin(StrEnum):
    """The idempotency key of a request, or the name of the notification in the sender's own system."""

    KEY = "i"
    HOST = "h"


class KeyClaim(Struct, frozen=True, kw_only=True):
    """The send that used a key. A later attempt continues with these ids."""

    notification: NotificationId
    job: str
    fingerprint: bytes
    at_ms: int
