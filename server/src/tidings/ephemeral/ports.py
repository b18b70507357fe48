"""Ports of receipts and presence. All reads of DynamoDB are strongly consistent."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Chat, Membership
from tidings.delivery.model import ChatRow
from tidings.ephemeral.model import PresenceRecord
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, TenantId, UserId


class ChatReader(Protocol):
    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        """Read everyone who is or was a member."""
        ...


class WatermarkReader(Protocol):
    async def rows_now(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        """Read chat rows. They include every receipt that was published before the call."""
        ...


class PresenceStore(Protocol):
    """Presence in Redis. Raises `UnavailableError`."""

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        """Set the away flag for the route with this epoch. Return False if nothing changed."""
        ...

    async def read(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, PresenceRecord]:
        """Read the presence of users. Leaves out users whose shard does not answer; raises if no shard answers."""
        ...


class VisibilityReader(Protocol):
    async def hidden(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Return the users who hide their presence from everyone."""
        ...

    async def blockers(self, tenant: TenantId, users: Collection[UserId], whom: UserId) -> set[UserId]:
        """Return the users who block `whom`."""
        ...

    async def chats_of(self, tenant: TenantId, user: UserId) -> set[ChatId]:
        """Return the chats in which the user is a member now."""
        ...
