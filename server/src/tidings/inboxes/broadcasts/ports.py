"""Ports of broadcasts. Each method states what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tidings.inboxes.broadcasts.model import (
    BroadcastEntry,
    BroadcastLogId,
    BroadcastLogView,
    Profile,
    Segment,
)
from tidings.inboxes.model import ConfigPage, NotificationId
from tidings.kernel.ids import TenantId, UserId


class BroadcastLog(Protocol):
    """Reads are strongly consistent. Raises `overloaded` while the log cannot be read."""

    async def after(self, log: BroadcastLogId, sequence: int) -> Sequence[BroadcastEntry]:
        """Read all entries after `sequence`, in order."""
        ...

    async def since(self, log: BroadcastLogId, at_ms: int) -> Sequence[BroadcastEntry]:
        """Read the end of the log, in order: all entries from `at_ms` on, at least the last entry, perhaps more."""
        ...

    async def put(self, log: BroadcastLogId, entry: BroadcastEntry) -> BroadcastEntry | None:
        """Write the entry at its sequence. None: it was written.

        Otherwise returns the stored entry, which may be this one after an unanswered attempt: compare the ids.
        """
        ...


class Snapshots(Protocol):
    """Log views that all processes share. They can be lost at any time. Never raises."""

    async def read(self, log: BroadcastLogId) -> BroadcastLogView | None: ...

    def write(self, log: BroadcastLogId, view: BroadcastLogView) -> None:
        """Write in the background."""
        ...


class SegmentStore(Protocol):
    async def read(self, tenant: TenantId, name: str) -> Segment | None:
        """Read a segment, strongly consistent."""
        ...

    async def listed(self, tenant: TenantId, limit: int, after: str | None = None) -> ConfigPage[Segment]:
        """Return a page of the segments by name."""
        ...

    async def write(self, tenant: TenantId, segment: Segment) -> bool:
        """Write the next version. False: the stored version is not the one before it."""
        ...


class ProfilePage(NamedTuple):
    profiles: Sequence[Profile]
    below: UserId | None


class ProfileStore(Protocol):
    async def read(self, tenant: TenantId, user: UserId) -> Profile | None:
        """Read a profile, strongly consistent."""
        ...

    async def known(self, tenant: TenantId, users: Sequence[UserId]) -> Collection[UserId]:
        """Return the users that have a profile, strongly consistent."""
        ...

    async def set(
        self,
        tenant: TenantId,
        user: UserId,
        attributes: Mapping[str, Any],
        created_ms: int | None,
        now_ms: int,
    ) -> None:
        """Replace all attributes. Lists and an existing `created_ms` are not changed."""
        ...

    async def enlist(
        self, tenant: TenantId, users: Collection[UserId], name: str, version: int, now_ms: int
    ) -> None:
        """Add users to a version of a list. Idempotent."""
        ...

    async def bucket(self, tenant: TenantId, bucket: int, below: UserId | None = None) -> ProfilePage:
        """Read a page of one partition of the directory, eventually consistent."""
        ...


class ReadRecord(NamedTuple):
    user: UserId
    at_ms: int


class ReaderPage(NamedTuple):
    """In the order of user ids. `below` is the cursor of the next page."""

    readers: Sequence[ReadRecord]
    below: UserId | None


class ReadTracker(Protocol):
    """Records which users have read the broadcasts that were sent with read tracking."""

    async def note(
        self, tenant: TenantId, user: UserId, notifications: Collection[NotificationId], at_ms: int
    ) -> None:
        """Record that a user has read these broadcasts. Safe to repeat."""
        ...

    async def page(
        self, tenant: TenantId, notification: NotificationId, limit: int, below: UserId | None = None
    ) -> ReaderPage: ...
