"""What broadcasts ask of the world. Each method says what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tidings.broadcasts.model import Entry, LogId, Profile, Segment, View
from tidings.kernel.ids import TenantId, UserId


class Log(Protocol):
    """Reads are strong: what was answered as appended is in them. Raises `overloaded` while it can't be read."""

    async def after(self, log: LogId, sequence: int) -> Sequence[Entry]:
        """All that follow, in order."""
        ...

    async def since(self, log: LogId, at_ms: int) -> Sequence[Entry]:
        """The end of the log, in order: everything from then on, the last entry at least, perhaps more."""
        ...

    async def put(self, log: LogId, entry: Entry) -> Entry | None:
        """None: it stands at its place. Else what stands there; after doubt that may be this very entry."""
        ...


class Snapshots(Protocol):
    """Views kept where all processes find them. May be lost at any time; never fails."""

    async def read(self, log: LogId) -> View | None: ...

    def write(self, log: LogId, view: View) -> None:
        """Soon, without an answer."""
        ...


class LogNews(Protocol):
    """Word to processes whose devices look at an inbox. May get lost; never fails and is never waited for."""

    def moved(self, log: LogId, sequence: int, /) -> None: ...


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
