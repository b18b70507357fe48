"""Ports of search: the index, the log that the indexer follows, and the chats of a user."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry, ExpiredRange, Interval
from tidings.search.model import (
    Candidate,
    CandidateRequest,
    IndexChange,
    MessageText,
    ReadableChats,
    ReadableMessage,
)


class SearchReader(Protocol):
    """The index, for searches."""

    async def find(self, request: CandidateRequest) -> Sequence[Candidate]:
        """Return candidates, the highest order first: `limit` of them, or fewer at the end.

        Messages outside the intervals of the request change neither the answer nor the number of requests to the engine.
        If further candidates have the order of the last one, they are returned too, so that the next page can start
        below it. Only documents of the tenant are returned. The answer may lack the changes of the last second.
        Raises `overloaded`.
        """
        ...


class SearchIndex(SearchReader, Protocol):
    """The index, for the indexer. Every method may be repeated. Raises `overloaded` or `outcome_unknown`."""

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        """Add, replace and remove documents. Durable when it returns. Of changes to one message, the last one counts."""
        ...

    async def refresh(self) -> None:
        """Make all changes visible to searches that start later."""
        ...

    async def tenants(self) -> Sequence[TenantId]:
        """Return the tenants that have documents."""
        ...

    async def delete_tenant(self, tenant: TenantId) -> None: ...

    async def delete_chat(self, chat: ChatKey) -> None: ...

    async def delete_user(self, tenant: TenantId, user: UserId) -> None:
        """Delete the documents of all messages that a user has sent."""
        ...

    async def delete_expired(self, now_ms: int) -> None: ...

    async def has_chat(self, chat: ChatKey) -> bool:
        """Return whether a message of the chat is in the index. The answer may lack the changes of the last second."""
        ...

    async def has_user(self, tenant: TenantId, user: UserId) -> bool:
        """Return whether a message of the user is in the index. Sees all changes that were applied before."""
        ...

    async def purge(self) -> None:
        """Remove what was deleted before the call from the files of the index. Searches continue meanwhile.

        When it returns, no file has words that only deleted or replaced documents had.
        """
        ...

    async def purged_ms(self) -> int:
        """Return when the last purge started. 0: there was none."""
        ...


class ExpiredMessages(Protocol):
    """Notes about expired messages that must leave the index."""

    async def unindexed(self, tenant: TenantId, /) -> Sequence[ExpiredRange]: ...

    async def delete_unindexed(self, done: ExpiredRange, /) -> None:
        """Delete a note, unless more messages have expired since it was read. Idempotent."""
        ...


class MessageTexts(Protocol):
    """Messages with decrypted text, without a permission check."""

    async def show(self, chat: ChatKey, entries: Sequence[Entry], /) -> Sequence[MessageText]:
        """Return entries with the text that they have as given."""
        ...

    async def now(self, chat: ChatKey, sequences: Collection[int], /) -> Mapping[int, MessageText]:
        """Return the present state of entries, by sequence. Strongly consistent."""
        ...


class ReadableMessages[S](Protocol):
    async def intervals_at(self, chat: ChatKey, user: UserId, sequence: int, /) -> Sequence[Interval]:
        """Return a user's intervals, complete up to an entry of the log. Empty for a stranger."""
        ...

    async def readable(
        self, chat: ChatKey, sequences: Collection[int], /
    ) -> Mapping[int, ReadableMessage[S]]:
        """Return the present state of messages, by sequence, without a permission check."""
        ...


class ReadableChatLookup(Protocol):
    async def find(self, tenant: TenantId, user: UserId, chat: ChatId | None, /) -> ReadableChats:
        """Return what a user may read of one chat, or of all their chats if `chat` is None.

        The answer can be some seconds old. It narrows a search and permits nothing.
        """
        ...

    def forget(self, tenant: TenantId, user: UserId, chat: ChatId, /) -> None:
        """Read the intervals again at the next call: those of the chat have changed."""
        ...


class UserChats(Protocol):
    async def chats_of(self, tenant: TenantId, user: UserId, /) -> Collection[ChatId]:
        """Return all chats that a user is or was a member of."""
        ...


class TenantUsers(Protocol):
    parts: int
    """The number of parts of a tenant's directory of users."""

    async def users_in(self, tenant: TenantId, part: int, /) -> Sequence[UserId]:
        """Return all users in a part of the directory."""
        ...
