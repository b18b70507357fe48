"""Ports of inboxes. Each method states what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, StrEnum
from typing import NamedTuple, Protocol

from tidings.inboxes.config import Inbox, InboxDefaults
from tidings.inboxes.model import (
    BroadcastState,
    ConfigPage,
    DigestKey,
    InboxChange,
    InboxId,
    InboxKey,
    KeyClaim,
    KeyOrigin,
    NotificationContent,
    NotificationId,
    NotificationRow,
    OpenDigest,
    StoredInbox,
    ThrottleSlot,
    UnreadCounts,
)
from tidings.inboxes.preferences import UserPreferences
from tidings.kernel.ids import TenantId, UserId


class DeliveryOutcome(Enum):
    """`EXISTS`: the inbox already has a row of this notification, in any state.

    `LATE`: the notification has expired, or is older than the retention of the inbox.
    `EXCLUDED`: the user does not receive it in this inbox. `GATHERED`: it joined a digest.
    """

    DELIVERED = "delivered"
    EXISTS = "exists"
    LATE = "late"
    EXCLUDED = "excluded"
    GATHERED = "gathered"


class InboxOperation(StrEnum):
    """Why rows or counts change. Each operation is an access pattern of its own."""

    MARK = "mark"
    SETTLE = "settle"
    REDACT = "redact"
    GATHER = "gather"


class RowPage(NamedTuple):
    """Newest first. `has_more`: older rows exist."""

    rows: Sequence[NotificationRow]
    has_more: bool


class InboxRepository(Protocol):
    """Rows and counts of users. Reads are strongly consistent.

    Raises `overloaded` if nothing was written, and `outcome_unknown` if the write may have been applied.
    """

    async def add(
        self, inbox_key: InboxKey, row: NotificationRow, slot: ThrottleSlot | None = None
    ) -> DeliveryOutcome | UnreadCounts:
        """Write the row and count it, atomically. Idempotent.

        Writes nothing if a row of this notification exists, if `row.delivered_ms` is not later than the inbox's own
        time, or if another delivery took the `slot`. In the last two cases it returns the stored counts.
        """
        ...

    async def exclude(self, inbox_key: InboxKey, row: NotificationRow) -> DeliveryOutcome:
        """Write an excluded row, which is not counted, on condition that the notification has no row. Idempotent."""
        ...

    async def stored(self, inbox_key: InboxKey, expiring: int) -> StoredInbox:
        """Read the counts, broadcast state, preferences and first `expiring` expiry entries, in one Query."""
        ...

    async def digest(self, inbox_key: InboxKey, key: DigestKey) -> OpenDigest | None:
        """Read the last digest of a key. Its window can have ended."""
        ...

    async def rows(
        self, inbox_key: InboxKey, ids: Collection[NotificationId]
    ) -> Mapping[NotificationId, NotificationRow]: ...

    async def rows_of(
        self, tenant: TenantId, inbox: InboxId, notification: NotificationId, users: Sequence[UserId]
    ) -> Mapping[UserId, NotificationRow]:
        """Read the rows that these users have of one notification."""
        ...

    async def page(self, inbox_key: InboxKey, below: NotificationId | None, limit: int) -> RowPage:
        """Read rows in the order in which they were sent, newest first."""
        ...

    async def sent_before(self, inbox_key: InboxKey, at_ms: int) -> Sequence[NotificationRow]:
        """Read all rows that were sent before `at_ms`."""
        ...

    async def join(self, inbox_key: InboxKey, state: BroadcastState) -> bool:
        """Create the broadcast state of a user. False: one exists, perhaps from an earlier attempt of this call."""
        ...

    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        """Write the change atomically.

        False: the inbox changed since it was read or a new row exists, perhaps by an earlier attempt of this call.
        """
        ...

    async def delete_expired(self, inbox_key: InboxKey, ids: Sequence[NotificationId]) -> None:
        """Delete rows that were sent before `retained_from_ms`, so that they cannot be delivered again."""
        ...


class PreferenceStore(Protocol):
    async def of(
        self, tenant: TenantId, inbox: InboxId, users: Sequence[UserId]
    ) -> Mapping[UserId, UserPreferences]:
        """Read the preferences of users, strongly consistent. Users without choices are missing."""
        ...

    async def write(self, inbox_key: InboxKey, preferences: UserPreferences) -> bool:
        """Write preferences. False: the stored version is not the one before."""
        ...


class ContentStore(Protocol):
    """Contents of notifications, and the keys under which they were sent.

    A content is written before any row refers to it. A stored version never changes.
    """

    async def put(self, tenant: TenantId, content: NotificationContent) -> None:
        """Write a new content. Idempotent: an existing one is not changed."""
        ...

    async def find(self, tenant: TenantId, notification: NotificationId) -> NotificationContent | None:
        """Read one content, strongly consistent."""
        ...

    async def of(
        self, tenant: TenantId, ids: Collection[NotificationId]
    ) -> Mapping[NotificationId, NotificationContent]:
        """Read contents to show them. Eventually consistent."""
        ...

    async def amend(self, tenant: TenantId, content: NotificationContent) -> bool:
        """Write the next version. False: the stored version is not `content.version - 1`, or was redacted."""
        ...

    async def redact(self, tenant: TenantId, content: NotificationContent, at_ms: int, recall: str) -> bool:
        """Delete the text of all versions. False: the stored version is not that of `content`."""
        ...

    async def claim(
        self, tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str, claim: KeyClaim
    ) -> KeyClaim | None:
        """Claim a key. None: the claim succeeded. Otherwise returns the earlier claim. Idempotent."""
        ...

    async def claimed(self, tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str) -> KeyClaim | None:
        """Read a claim, strongly consistent."""
        ...


class InboxStore(Protocol):
    """Inbox configurations of tenants. A write returns False if the stored version is not the one before it."""

    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        """Read one inbox, eventually consistent. A change is checked against its version."""
        ...

    async def listed(self, tenant: TenantId, limit: int, after: InboxId | None = None) -> ConfigPage[Inbox]:
        """Return a page of the inboxes by id."""
        ...

    async def write(self, tenant: TenantId, inbox: Inbox) -> bool: ...

    async def read_defaults(self, tenant: TenantId) -> InboxDefaults | None:
        """Read the tenant's defaults, strongly consistent."""
        ...

    async def write_defaults(self, tenant: TenantId, defaults: InboxDefaults) -> bool: ...


class ErasedInboxItems(NamedTuple):
    """`after`: where the next page starts; None after the last one."""

    notifications: int
    after: str | None


class InboxEraser(Protocol):
    async def delete_page(self, tenant: TenantId, user: UserId, after: str, /) -> ErasedInboxItems:
        """Delete items of an erased user in one inbox: notifications, counts, preferences, digests and mails.

        `after`: that of the page before, or empty. Idempotent.
        """
        ...


class InboxEvent(StrEnum):
    """What happened to a user's inbox. `FILTERED`: preferences have added or removed broadcasts."""

    DELIVERED = "delivered"
    COUNTED = "counted"
    AMENDED = "amended"
    REDACTED = "redacted"
    FILTERED = "filtered"


class InboxNotifier(Protocol):
    """Notifies devices after a commit. Calls return at once and never fail.

    A notification can be lost. A device then reads the current counts at its next request.
    """

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        """Report a change of one user's inbox."""
        ...


class NoInboxNotifier:
    """Notifies no device."""

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        pass
