"""Ports of chats: the rows of chats and memberships, and the log that every change is appended to."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Chat, Entrance, Invite, MemberPage, Membership, MemberStatus
from tidings.kernel.ids import ChatId, ChatKey, ErasedUser, TenantId, UserId
from tidings.messages.model import Appended, Draft, LogCreated, Proposal, SideWrites, SideWritesFactory

type ReadMaxMembers = Callable[[TenantId], Awaitable[int]]
"""Returns the maximum number of members of a group of this tenant. Raises `keys_unavailable`."""


class ChatAppender(Protocol):
    """The log of a chat. Every change of members, roles, blocks or name is an entry."""

    async def begin(self, chat: ChatKey, draft: Draft, side_writes: SideWrites) -> LogCreated:
        """Write the first entry together with the chat's rows. Idempotent."""
        ...

    async def append(
        self, chat: ChatKey, proposal: Proposal[MemberStatus], side_writes_at: SideWritesFactory | None = None
    ) -> Appended:
        """Append an entry and its side writes, atomically. A retry returns the first result."""
        ...


class MembershipReader(Protocol):
    """Reads of chats and members. Strongly consistent, or cached where the answer cannot change."""

    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        """Return all present and former members with their intervals."""
        ...


class ChatStore(MembershipReader, Protocol):
    """The rows of chats and memberships. Reads are strongly consistent where nothing else is stated.

    The methods that return `SideWrites` do not write. Their transaction fails if a row has changed since it was read.
    """

    async def memberships(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Membership]: ...

    async def erased(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Return the users among these who were erased, and the pseudonyms of erased users. Eventually consistent."""
        ...

    async def find_chat(self, chat: ChatKey) -> Chat | None:
        """Return a chat for display: may be a second old, but a chat that was created before is found."""
        ...

    async def names(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, Chat]:
        """Return names and sizes for display. Eventually consistent."""
        ...

    async def member_page(self, chat: ChatKey, after: UserId | None, limit: int) -> MemberPage[Membership]:
        """Return present and former members by user id."""
        ...

    async def blocks(
        self, tenant: TenantId, user: UserId, after: UserId | None, limit: int
    ) -> MemberPage[UserId]:
        """Return the users that this user blocks, by user id."""
        ...

    async def block_stranger(self, chat: ChatKey, user: UserId, other: UserId, *, is_blocked: bool) -> bool:
        """Set or remove a block between users without a direct chat. False: they have one, so use its log."""
        ...

    def creation(self, chat: Chat, members: Sequence[Membership]) -> SideWrites: ...

    def direct_creation(self, chat: Chat, members: Sequence[Membership]) -> SideWrites:
        """Create a direct chat. Fails if one of the two users blocks the other."""
        ...

    def admission(
        self,
        chat: Chat,
        seen: Mapping[UserId, Membership],
        after: Iterable[Membership],
        entrance: Entrance | None = None,
    ) -> SideWrites:
        """Add members and raise the chat's member count. With `entrance`, on condition that it is still valid."""
        ...

    def removal(self, chat: Chat, seen: Membership, after: Membership) -> SideWrites: ...

    def roles(
        self, chat: Chat, changes: Iterable[tuple[Membership, Membership]], sequence: int
    ) -> SideWrites:
        """Change roles and store the sequence of the entry that grants them."""
        ...

    def renaming(self, chat: Chat, name: str) -> SideWrites: ...

    def ruling(self, chat: Chat, after: Chat) -> SideWrites:
        """Store the chat's rules for display and for joins."""
        ...

    def restriction(self, chat: ChatKey, seen: Membership | None, after: Membership) -> SideWrites:
        """Mute or unmute a member; ban or unban a user who is not a member."""
        ...

    def blocking(self, chat: ChatKey, user: UserId, other: UserId, *, unblocked_at: int | None) -> SideWrites:
        """Block the other user; with `unblocked_at`, the entry at that sequence removes the block."""
        ...


class MembershipEraser(MembershipReader, Protocol):
    """Replaces an erased user in the rows of chats."""

    async def chats_of(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> Sequence[tuple[ChatId, Membership]]:
        """Return chats that the user is or was a member of, by id. Reads an index: the last seconds may be missing."""
        ...

    async def move(self, chat: ChatKey, erased: ErasedUser) -> bool:
        """Move the membership to the pseudonym; atomic, idempotent. False: the user has none, or it was moved before.

        Raises `write_conflict` if the membership has changed meanwhile; nothing was written then.
        """
        ...


class InviteStore(Protocol):
    """Links of chats, and invites by user."""

    async def set_link(self, chat: ChatKey, digest: bytes | None) -> None: ...

    async def put(self, chat: ChatKey, users: Sequence[UserId], invite: Invite) -> None: ...

    async def has(self, chat: ChatKey, user: UserId) -> bool:
        """Strongly consistent."""
        ...

    async def delete(self, chat: ChatKey, user: UserId) -> None:
        """Idempotent."""
        ...

    async def page(
        self, tenant: TenantId, user: UserId, after: ChatId | None, limit: int
    ) -> tuple[Sequence[Invite], ChatId | None]:
        """Return invites by chat id, and the last chat of the page unless it is the last page."""
        ...
