"""Split from `tidings.connections.model`."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tidings.connections.model import GatewayId
from tidings.kernel.ids import ChatKey, TenantId, UserId


class BusPublisher(Protocol):
    """From those who deliver to the gateways. Nothing is kept: who does not listen does not get it."""

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        """False: nobody listens, so the gateway is gone and so are its routes."""
        ...

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        """On a large chat's channel. How many gateways listened."""
        ...

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        """To whoever has the chat on a screen; most of the time that is nobody."""
        ...

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        """To whoever watches the user."""
        ...


class Subscribed(NamedTuple):
    """Everything that is published from now on is heard. `was_lost`: what was published before may have been missed."""

    was_lost: bool


class SubscriptionLost(NamedTuple):
    """Nothing is heard from now on, until `Subscribed`."""

    reason: str


type BusEvent = bytes | Subscribed | SubscriptionLost
type BusHandler = Callable[[BusEvent], None]
"""Takes what comes at once, one by one and without blocking."""


class Subscription(Protocol):
    def close(self) -> None:
        """Nothing is heard after this."""
        ...


class BusSubscriber(Protocol):
    """A gateway's side of the line."""

    def subscribe_gateway(self, gateway: GatewayId, handler: BusHandler) -> Subscription:
        """Comes back by itself after a loss, and says so. Does not wait: `Subscribed` is told when it stands."""
        ...

    async def subscribe_chat(self, chat: ChatKey, handler: BusHandler) -> Subscription:
        """Returns after the confirmation: everything that is published from then on is heard. Once for each chat."""
        ...

    def subscribe_ephemeral(self, chat: ChatKey, handler: BusHandler) -> Subscription:
        """A chat's signs: receipts, typing. As `subscribe_gateway`: does not wait, and comes back by itself."""
        ...

    def subscribe_presence(self, tenant: TenantId, user: UserId, handler: BusHandler) -> Subscription:
        """That somebody came, went or changed. As `subscribe_ephemeral`."""
        ...


class BroadcastSubscriber(Protocol):
    def subscribe_broadcasts(self, tenant: TenantId, inbox: str, handler: BusHandler) -> Subscription:
        """That the log of an inbox's broadcasts has moved. As `at_signs`."""
        ...
