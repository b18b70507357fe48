"""Ports of a trace. All methods only read, and every call is bounded."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Chat, Membership
from tidings.connections.model import GatewayId, Route
from tidings.delivery.model import ChatRow
from tidings.kernel.fences import PartitionProgress
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings.push.model import PushResult
from tidings.trace.model import FoundEvent

type RowsReader = Callable[
    [ChatKey, Sequence[UserId]], Awaitable[Mapping[UserId, tuple[ChatRow, int | None]]]
]
"""Read the rows of users, each with the time at which one of its watermarks last moved."""
type QueueReader = Callable[[ChatKey, Sequence[UserId], Entry], Awaitable[Mapping[UserId, int | None]]]
"""Return the users whose offline queue has the message, with the time since when."""
type MembershipReader = Callable[
    [TenantId, UserId, ChatId | None, int], Awaitable[Sequence[tuple[ChatId, Membership]]]
]
"""List the chats that a user is or was in, by id: after an id, up to a limit."""
type PushesReader = Callable[[ChatKey, int], Awaitable[Sequence[PushResult]]]
"""Read what happened to the push notifications of a message."""
type ChatsReader = Callable[[TenantId, Sequence[ChatId]], Awaitable[Mapping[ChatId, Chat]]]


class LogTimeline(Protocol):
    """A chat's log without content, eventually consistent."""

    async def committed_at_ms(self, chat: ChatKey, sequence: int) -> int | None: ...

    async def metadata(self, chat: ChatKey, after: int, up_to: int, limit: int) -> Sequence[Entry]:
        """Read the newest entries of a range, newest first."""
        ...


class RedisState(Protocol):
    """Checkpoints, routes and presence. Raises `UnavailableError`."""

    async def checkpoint(self, chat: ChatKey) -> int | None: ...

    async def routes(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Sequence[Route]]: ...

    async def last_seen(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, int]:
        """Return when users without a connected device last had one, in ms. Leaves out users not known."""
        ...

    async def subscribed(self, gateways: Collection[GatewayId]) -> set[GatewayId]:
        """Return the gateways that are subscribed to their channel, which shows that their process runs."""
        ...


class EventFinder(Protocol):
    """The topic of committed events. Raises `UnavailableError`."""

    async def progress(self, chat: ChatKey) -> PartitionProgress:
        """Return end and committed offset of the chat's partition."""
        ...

    async def find(
        self, chat: ChatKey, sequence: int, partition: int, since_ms: int
    ) -> tuple[FoundEvent | None, int]:
        """Find the first event since a time with the entry. Also returns how many events were searched."""
        ...
