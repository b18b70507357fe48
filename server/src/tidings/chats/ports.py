"""What managing chats asks of the world."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Chat, MemberPage, Membership, MemberStatus
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Appended, Draft, LogCreated, Proposal, SideWrites, SideWritesFactory


class ChatAppender(Protocol):
    """The log of a chat: whatever changes who may read or write is an entry of it."""

    async def begin(self, chat: ChatKey, draft: Draft, side_writes: SideWrites) -> LogCreated: ...

    async def append(
        self, chat: ChatKey, proposal: Proposal[MemberStatus], beside_at: SideWritesFactory | None = None
    ) -> Appended: ...


class ChatStore(Protocol):
    """The rows of chats and memberships. Reads are strong.

    What is made for a log's transaction holds only if the rows are still as they were read: else nothing is written.
    """

    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def memberships(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Membership]: ...

    async def block_stranger(self, chat: ChatKey, user: UserId, other: UserId, *, is_blocked: bool) -> bool:
        """False: they have a direct chat (by now), so the block must go through its log."""
        ...

    def creation(self, chat: Chat, members: Sequence[Membership]) -> SideWrites: ...

    def direct_creation(self, chat: Chat, members: Sequence[Membership]) -> SideWrites:
        """Holds only if neither of the two blocks the other."""
        ...

    def admission(
        self, chat: Chat, seen: Mapping[UserId, Membership], after: Iterable[Membership]
    ) -> SideWrites:
        """Members come in; the chat's number of members rises with them."""
        ...

    def removal(self, chat: Chat, seen: Membership, after: Membership) -> SideWrites: ...

    def roles(
        self, chat: Chat, changes: Iterable[tuple[Membership, Membership]], sequence: int
    ) -> SideWrites:
        """The rows keep the sequence of the entry that gave the role."""
        ...

    def renaming(self, chat: Chat, name: str) -> SideWrites: ...

    def blocking(self, chat: ChatKey, user: UserId, other: UserId, *, unblocked_at: int | None) -> SideWrites:
        """The user blocks the other; with `unblocked_at`, the entry at that sequence lifts the block."""
        ...


class ChatReader(Protocol):
    """Chats for those who look at them."""

    async def chat(self, chat: ChatKey) -> Chat | None:
        """May be a moment behind, but finds what was made before the call."""
        ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None:
        """Strong."""
        ...

    async def members(self, chat: ChatKey, after: UserId | None, limit: int) -> MemberPage[Membership]:
        """Rows by user id, of those who left too; strong."""
        ...

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]: ...
