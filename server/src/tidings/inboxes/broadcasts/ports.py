"""What broadcasts ask of the world. Each method says what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tidings.inboxes.broadcasts.model import (
    NOTHING,
    BroadcastDraft,
    BroadcastEntry,
    BroadcastLogId,
    BroadcastLogView,
    Profile,
    RolloutStatus,
    Segment,
    UserBroadcasts,
)
from tidings.inboxes.model import NotificationId
from tidings.kernel.ids import TenantId, UserId


class BroadcastLog(Protocol):
    """Reads are strong: what was answered as appended is in them. Raises `overloaded` while it can't be read."""

    async def after(self, log: BroadcastLogId, sequence: int) -> Sequence[BroadcastEntry]:
        """All that follow, in order."""
        ...

    async def since(self, log: BroadcastLogId, at_ms: int) -> Sequence[BroadcastEntry]:
        """The end of the log, in order: everything from then on, the last entry at least, perhaps more."""
        ...

    async def put(self, log: BroadcastLogId, entry: BroadcastEntry) -> BroadcastEntry | None:
        """None: it stands at its place. Else what stands there; after doubt that may be this very entry."""
        ...


class Snapshots(Protocol):
    """Views kept where all processes find them. May be lost at any time; never fails."""

    async def read(self, log: BroadcastLogId) -> BroadcastLogView | None: ...

    def write(self, log: BroadcastLogId, view: BroadcastLogView) -> None:
        """Soon, without an answer."""
        ...


class BroadcastLogNotifier(Protocol):
    """Word to processes whose devices look at an inbox. May get lost; never fails and is never waited for."""

    def moved(self, log: BroadcastLogId, sequence: int, /) -> None: ...


class SegmentStore(Protocol):
    async def read(self, tenant: TenantId, name: str) -> Segment | None:
        """Strong."""
        ...

    async def listed(self, tenant: TenantId) -> Sequence[Segment]: ...

    async def write(self, tenant: TenantId, segment: Segment) -> bool:
        """False: what stands is not the version before it."""
        ...


class ProfilePage(NamedTuple):
    profiles: Sequence[Profile]
    below: UserId | None


class ProfileStore(Protocol):
    async def read(self, tenant: TenantId, user: UserId) -> Profile | None:
        """Strong."""
        ...

    async def set(
        self,
        tenant: TenantId,
        user: UserId,
        attributes: Mapping[str, Any],
        created_ms: int | None,
        now_ms: int,
    ) -> None:
        """All attributes anew; lists stay. `created_ms` holds if the user had none before."""
        ...

    async def enlist(
        self, tenant: TenantId, users: Collection[UserId], name: str, version: int, now_ms: int
    ) -> None:
        """Into a version of a list. The same again changes nothing."""
        ...

    async def bucket(self, tenant: TenantId, bucket: int, below: UserId | None = None) -> ProfilePage:
        """A page of one part of the directory. May be a moment behind."""
        ...


class ReadRecord(NamedTuple):
    user: UserId
    at_ms: int


class ReaderPage(NamedTuple):
    """In the order of their names. `below` goes into the next."""

    readers: Sequence[ReadRecord]
    below: UserId | None


class ReadTracker(Protocol):
    """Who has read which broadcasts, for those that were sent to be tracked."""

    async def note(
        self, tenant: TenantId, user: UserId, notifications: Collection[NotificationId], at_ms: int
    ) -> None:
        """The same again is no harm."""
        ...

    async def page(
        self, tenant: TenantId, notification: NotificationId, limit: int, below: UserId | None = None
    ) -> ReaderPage: ...


class BroadcastReader(Protocol):
    async def of(
        self, log: BroadcastLogId, user: UserId, /, *, is_joined: bool, at_least: int = 0
    ) -> UserBroadcasts:
        """What a user gets of them, at most a second old. Raises `position_ahead` for what is not there yet.

        `joined` is for who has not: where his time begins.
        """
        ...


class BroadcastRollouts(Protocol):
    """The log of an inbox, as who sends uses it. Each is one entry at most; all may be repeated at will."""

    async def step(self, log: BroadcastLogId, draft: BroadcastDraft, up_to: int, /) -> RolloutStatus:
        """Shown to so many parts of its users, unless it is over."""
        ...

    async def halt(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Raises `no_change` if it is not live."""
        ...

    async def redact(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Hidden, if it is shown to anybody."""
        ...

    async def status(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """With everything that was appended before."""
        ...


class SegmentChecker(Protocol):
    async def check(self, tenant: TenantId, segment: str, /) -> None:
        """Raises `segment_not_found`."""
        ...


class NoBroadcastReader:
    """For who has to do with direct notifications alone."""

    async def of(
        self,
        _: BroadcastLogId,
        __: UserId,
        /,
        *,
        is_joined: bool,  # noqa: ARG002
        at_least: int = 0,  # noqa: ARG002
    ) -> UserBroadcasts:
        return NOTHING


class BroadcastBus(Protocol):
    async def publish_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        """Raises `RegistryUnavailableError`."""
        ...
