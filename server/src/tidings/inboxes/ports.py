"""What inboxes ask of the world. Each method says what it guarantees."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, StrEnum
from typing import NamedTuple, Protocol

from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.inboxes.config import Inbox, InboxDefaults
from tidings.inboxes.model import (
    BroadcastState,
    InboxChange,
    InboxId,
    InboxKey,
    KeyClaim,
    KeyOrigin,
    NotificationContent,
    NotificationId,
    NotificationRow,
    StoredInbox,
    UnreadCounts,
)
from tidings.jobs.model import ChunkResult, Job, JobId
from tidings.kernel.ids import ChatKey, TenantId, UserId


class GiveResult(Enum):
    """What became of a delivery. `THERE`: there is a row of this notification already, whatever became of it since."""

    GIVEN = "given"
    THERE = "there"


class InboxOperation(StrEnum):
    """Why rows or counts change: each is an access pattern of its own."""

    MARK = "mark"
    SETTLE = "settle"
    REDACT = "redact"


class RowPage(NamedTuple):
    """Newest first. `has_more`: there are older ones."""

    rows: Sequence[NotificationRow]
    has_more: bool


class InboxRepository(Protocol):
    """Rows and counts of users. Reads are strong. Raises `overloaded` or `outcome_unknown` while it can't be written."""

    async def add(self, inbox_key: InboxKey, row: NotificationRow) -> GiveResult | UnreadCounts:
        """Row and count at once, if there is no row of this notification and the row is later than all that was.

        Else nothing is written: it is there, or the counts say what is later. May be repeated at will.
        """
        ...

    async def stored(self, inbox_key: InboxKey, expiring: int) -> StoredInbox:
        """With so many of those that expire."""
        ...

    async def rows(
        self, inbox_key: InboxKey, ids: Collection[NotificationId]
    ) -> Mapping[NotificationId, NotificationRow]: ...

    async def page(self, inbox_key: InboxKey, below: NotificationId | None, limit: int) -> RowPage:
        """The order is that in which they were sent."""
        ...

    async def sent_before(self, inbox_key: InboxKey, at_ms: int) -> Sequence[NotificationRow]:
        """All of them."""
        ...

    async def join(self, inbox_key: InboxKey, wide: BroadcastState) -> bool:
        """The state of somebody who has none. False: he has one by now; after doubt that may be this one."""
        ...

    async def commit(self, inbox_key: InboxKey, operation: InboxOperation, change: InboxChange) -> bool:
        """All of it, or False: somebody changed the inbox since it was read. After doubt it is False, too."""
        ...

    async def delete_expired(self, inbox_key: InboxKey, ids: Sequence[NotificationId]) -> None:
        """Delete rows that can't come again: they were sent before `kept_from_ms`."""
        ...


class ContentReader(Protocol):
    async def of(
        self, tenant: TenantId, ids: Collection[NotificationId]
    ) -> Mapping[NotificationId, NotificationContent]:
        """For people to look at: may be a moment behind."""
        ...


class ContentStore(ContentReader, Protocol):
    """What notifications say. Put before anything points to it; a version that stands is never changed."""

    async def put(self, tenant: TenantId, content: NotificationContent) -> None:
        """The same again changes nothing: what stands stays."""
        ...

    async def find(self, tenant: TenantId, notification: NotificationId) -> NotificationContent | None:
        """Strong."""
        ...

    async def amend(self, tenant: TenantId, content: NotificationContent) -> bool:
        """`content.version` follows the one that stands; False if it does not, or if that was redacted."""
        ...

    async def redact(self, tenant: TenantId, content: NotificationContent, at_ms: int, recall: str) -> bool:
        """Empties every version. False if there is a newer one than `content`."""
        ...


class KeyClaims(Protocol):
    async def claim(
        self, tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str, claim: KeyClaim
    ) -> KeyClaim | None:
        """None: it is ours now. Else what was sent under it first. May be repeated at will."""
        ...

    async def claimed(self, tenant: TenantId, inbox: InboxId, origin: KeyOrigin, key: str) -> KeyClaim | None:
        """Strong."""
        ...


class InboxStore(Protocol):
    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        """May be a moment behind; what is changed on it is held against its version."""
        ...

    async def listed(self, tenant: TenantId) -> Sequence[Inbox]: ...

    async def write(self, tenant: TenantId, inbox: Inbox) -> bool:
        """False: what stands is not the version before it."""
        ...


class DefaultsStore(Protocol):
    async def read(self, tenant: TenantId) -> InboxDefaults | None:
        """Strong."""
        ...

    async def write(self, tenant: TenantId, defaults: InboxDefaults) -> bool:
        """False: what stands is not the version before it."""
        ...


class UserDirectory(Protocol):
    async def known(self, tenant: TenantId, users: Sequence[UserId]) -> Collection[UserId]:
        """Those of them who have a profile. Strong."""
        ...


class ConfigInvalidation(Protocol):
    async def changed(self, tenant: TenantId, inbox: InboxId, /) -> None:
        """Whoever keeps what this inbox was reads it anew. May get lost, never raises."""
        ...


class NoConfigInvalidation:
    """For who is alone, or can wait for a few seconds."""

    async def changed(self, tenant: TenantId, inbox: InboxId, /) -> None:
        pass


class JobStarter(Protocol):
    """The work that sends and recalls are. Of `jobs`, joined by who wires."""

    async def put_chunks(
        self, tenant: TenantId, job: JobId, chunks: Sequence[Sequence[UserId]], kept_days: int | None, /
    ) -> None:
        """The same again changes nothing. They stay so long at least; None: for ever."""
        ...

    async def start(self, job: Job, /) -> bool:
        """False: it was started before, by an earlier try."""
        ...


class ChunkStore(Protocol):
    """Chunks as a worker does them. Strong."""

    async def read(self, tenant: TenantId, job: JobId, /) -> Job | None: ...

    async def chunk(self, tenant: TenantId, job: JobId, chunk: int, /) -> Sequence[UserId]: ...

    async def is_done(self, tenant: TenantId, job: JobId, chunk: int, /) -> bool: ...

    async def mark_done(self, tenant: TenantId, job: JobId, done: ChunkResult, /) -> None: ...


class NotificationRowReader(Protocol):
    async def rows_of(
        self, tenant: TenantId, inbox: InboxId, notification: NotificationId, users: Sequence[UserId]
    ) -> Mapping[UserId, NotificationRow]:
        """The rows that these users have of one notification."""
        ...


class OpeningKeys(Protocol):
    """Raises `decryption_failed` for what was not sealed for this place."""

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes: ...


class SealingKeys(Protocol):
    def fingerprint(self, said: bytes, /) -> bytes: ...

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes: ...


class InboxKeys(Protocol):
    """Raises `keys_unavailable` while keys can't be had and none are at hand."""

    async def of(self, tenant: TenantId, /) -> SealingKeys: ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> OpeningKeys: ...


class Retention(Protocol):
    async def retention_days(self, tenant: TenantId, inbox: InboxId, /) -> int | None:
        """None: for ever."""
        ...


class InboxEvent(StrEnum):
    """What happened to a user's inbox."""

    GIVEN = "given"
    COUNTED = "counted"
    AMENDED = "amended"
    REDACTED = "redacted"


class InboxChangeNotifier(Protocol):
    """Told after the commit, never awaited: devices hear of it if they can, and read the counts anew if they did not."""

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None: ...


class RouteLookup(Protocol):
    """Where devices are connected."""

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]: ...


class BusPublisher(Protocol):
    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        """Raises `RegistryUnavailableError`."""
        ...


class NoInboxChangeNotifier:
    """For processes without devices."""

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        pass


class BroadcastAdvanceNotifier(Protocol):
    """Told after the commit, as `InboxChangeNotifier`, of what concerns all who look at an inbox."""

    def moved(self, log: BroadcastLogId, sequence: int, /) -> None: ...

    def amended(self, log: BroadcastLogId, notification: str, /) -> None: ...


class NoBroadcastLogNotifier:
    def moved(self, log: BroadcastLogId, sequence: int, /) -> None:
        pass

    def amended(self, log: BroadcastLogId, notification: str, /) -> None:
        pass
