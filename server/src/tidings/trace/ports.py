"""What is asked to find a message. Everything here only reads, and each call is bounded."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from tidings.chats.model import Chat, MemberPage, Membership
from tidings.connections.model import GatewayId, Route
from tidings.delivery.model import ChatRow, RowUpdate
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings.trace.model import FoundEvent


class TraceLogReader(Protocol):
    async def one(self, chat: ChatKey, sequence: int) -> Entry | None: ...

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]: ...


class LogTimeline(Protocol):
    """A chat's log without content. Reads may lag behind the newest commits by a moment."""

    async def committed_at_ms(self, chat: ChatKey, sequence: int) -> int | None: ...

    async def metadata(self, chat: ChatKey, after: int, up_to: int, limit: int) -> Sequence[Entry]:
        """Read the newest entries of a range, newest first."""
        ...


class UserMemberships(Protocol):
    async def chats_of(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> Sequence[tuple[ChatId, Membership]]:
        """List the chats that the user ever was in, by id."""
        ...


class ChatNames(Protocol):
    async def names(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, Chat]: ...


class TraceChatReader(Protocol):
    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey, after: UserId | None, limit: int) -> MemberPage[Membership]:
        """Everybody who ever was in the chat, by user."""
        ...


class TraceRowReader(Protocol):
    async def rows_and_times(
        self, chat: ChatKey, users: Sequence[UserId]
    ) -> Mapping[UserId, tuple[ChatRow, int | None]]:
        """With the time at which a watermark of the row last moved."""
        ...


class HeadReader(Protocol):
    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]: ...


class TraceQueueReader(Protocol):
    async def queued_for(
        self, chat: ChatKey, users: Sequence[UserId], message: Entry
    ) -> Mapping[UserId, int | None]:
        """In whose queues this very message stands, and since when."""
        ...


class RedisState(Protocol):
    """Redis. Raises `UnavailableError`."""

    async def mark(self, chat: ChatKey) -> int | None: ...

    async def routes(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Sequence[Route]]: ...

    async def last_seen(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, int]:
        """Return when users without a connected device last had one, in ms. Leave out users not known."""
        ...

    async def listening(self, gateways: Collection[GatewayId]) -> set[GatewayId]:
        """Those at whose channels somebody listens."""
        ...


class PartitionRange(NamedTuple):
    """Of a chat's partition: where its log ends, and up to where delivery has come."""

    partition: int
    end: int
    committed: int


class EventFinder(Protocol):
    """Kafka. Raises `UnavailableError`."""

    async def stretch(self, chat: ChatKey) -> PartitionRange: ...

    async def find(
        self, chat: ChatKey, sequence: int, partition: int, since_ms: int
    ) -> tuple[FoundEvent | None, int]:
        """The first event since then that carries the entry; and how many were looked at, a bounded number."""
        ...
