"""What signs ask of the world. Whatever stands in Redis raises `RoutesAwayError` while nobody answers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidings.chats.model import Chat, Membership
from tidings.delivery.model import Row
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.routing.model import GatewayId, Route


class Line(Protocol):
    """Nothing is kept: who does not listen does not get it."""

    async def to_gateway(self, gateway: GatewayId, payload: bytes) -> bool: ...

    async def to_signs(self, chat: ChatKey, payload: bytes) -> int: ...

    async def to_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int: ...


class Routes(Protocol):
    async def of(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Sequence[Route]]:
        """Users without a route are left out."""
        ...


class Chats(Protocol):
    """Strong."""

    async def chat(self, chat: ChatKey) -> Chat | None: ...

    async def membership(self, chat: ChatKey, user: UserId) -> Membership | None: ...

    async def members(self, chat: ChatKey) -> Sequence[Membership]:
        """Who was ever in it, and who blocks whom."""
        ...


class Watermarks(Protocol):
    async def rows_now(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Row]:
        """Strong: what was told before the call is in it."""
        ...
