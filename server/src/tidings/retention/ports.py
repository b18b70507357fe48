"""Ports of retention: limits and holds of chats, and what has content of expired messages besides the log."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Membership
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings.retention.model import ChatRetention


class ChatLimits(Protocol):
    """The limit and the legal hold of each chat."""

    async def read(self, chat: ChatKey, /) -> ChatRetention | None:
        """Strongly consistent. None: the chat does not exist."""
        ...

    async def set_days(self, chat: ChatKey, days: int | None, /) -> bool:
        """Set or remove the limit of a chat, and list it for sweeps; atomic, idempotent. False: it does not exist."""
        ...

    async def set_hold(self, chat: ChatKey, /, *, is_held: bool) -> bool:
        """Set or release the hold of a chat; idempotent. False: it does not exist.

        Once it has returned, no message of a held chat is emptied.
        """
        ...


class RetentionStore(ChatLimits, Protocol):
    """All methods are idempotent."""

    async def read_many(
        self, tenant: TenantId, chats: Collection[ChatId], /
    ) -> Mapping[ChatId, ChatRetention]:
        """Return the chats that exist. Eventually consistent."""
        ...

    async def list_limited(self, tenant: TenantId, /) -> Sequence[ChatId]:
        """Return the chats with a limit of their own."""
        ...

    async def note_unindexed(self, chat: ChatKey, first: int, last: int, /) -> None:
        """Have the search process remove expired messages from the index."""
        ...

    async def advance(self, chat: ChatKey, up_to: int, oldest_ms: int | None, /) -> None:
        """Record how far the log has expired. It never moves backward."""
        ...

    async def advance_archive(self, chat: ChatKey, up_to: int, oldest_ms: int | None, /) -> None:
        """Record how far the log is archived. It never moves backward."""
        ...


class TenantUserDirectory(Protocol):
    parts: int

    async def users_in(self, tenant: TenantId, part: int, /) -> Sequence[UserId]:
        """Return all users in a part of the directory."""
        ...


class ChatRows(Protocol):
    async def chats_of(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> Sequence[tuple[ChatId, Membership]]:
        """Return chats that the user is or was a member of, by id."""
        ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]: ...


type ListTenants = Callable[[], Awaitable[Sequence[TenantId]]]
type WithdrawMessage = Callable[[ChatKey, Sequence[UserId], Entry], Awaitable[None]]
"""Deletes a message from the offline queues of users. Idempotent."""
type DeleteUploads = Callable[[TenantId, Sequence[str]], None]
"""Has the media worker delete uploads that are marked. Never waits; the media sweeper finds what it misses."""


class LeaseLostError(Exception):
    """Another process sweeps."""
