"""What signs ask of the world. Whatever stands in Redis raises `UnavailableError` while nobody answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Chat, Membership
from tidings.connections.model import GatewayId, LookupResult, Route
from tidings.delivery.model import ChatRow
from tidings.ephemeral.model import PresenceRecord
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, TenantId, UserId


class BusPublisher(Protocol):
    """Nothing is kept: who does not listen does not get it."""

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool: ...

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int: ...

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int: ...


class RouteLookup(Protocol):
    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        """Look up routes. Users without a route are left out; those of a shard that does not answer are unknown."""
        ...


class ChatReader(Protocol):
    """Strong."""

    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        """Who was ever in it, and who blocks whom."""
        ...


class WatermarkReader(Protocol):
    async def rows_now(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        """Strong: what was told before the call is in it."""
        ...


class PresenceStore(Protocol):
    """Beside the routes. A user is there while the lease of one of his routes runs."""

    async def set_away(self, device: DeviceKey, epoch: int, *, is_away: bool) -> bool:
        """Of this very route. False: nothing has changed by it."""
        ...

    async def read(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, PresenceRecord]:
        """Look at each of them. Users whose shard does not answer are left out; raises if that is all of them."""
        ...


class VisibilityReader(Protocol):
    """Who may see whom. Strong."""

    async def hidden(self, tenant: TenantId, users: Collection[UserId]) -> set[UserId]:
        """Those who want nobody to see when they are there."""
        ...

    async def blockers(self, tenant: TenantId, users: Collection[UserId], whom: UserId) -> set[UserId]:
        """Those of them who block him."""
        ...

    async def chats_of(self, tenant: TenantId, user: UserId) -> set[ChatId]:
        """In which he is a member now."""
        ...
