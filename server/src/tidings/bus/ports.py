"""Ports of the bus. Messages are not stored: a gateway that is not subscribed does not receive them.

Every `publish_…` raises `UnavailableError` if Redis does not answer.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tidings.connections.model import GatewayId
from tidings.kernel.ids import ChatKey, TenantId, UserId


class BusPublisher(Protocol):
    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        """Publish to one gateway. Return False if it is not subscribed: its process has ended, and its routes are stale."""
        ...

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        """Publish on the channel of a large chat. Return the number of gateways that received it."""
        ...

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        """Publish receipts or typing to the gateways whose devices watch the chat; often there are none."""
        ...

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        """Publish a presence hint to the gateways whose devices watch the user."""
        ...


class Subscribed(NamedTuple):
    """Redis confirmed the subscription: later messages arrive. `was_lost`: messages before may have been missed."""

    was_lost: bool


class SubscriptionLost(NamedTuple):
    """No messages arrive until the next `Subscribed`."""

    reason: str


type BusEvent = bytes | Subscribed | SubscriptionLost
type BusHandler = Callable[[BusEvent], None]
"""Receives the events of a subscription in order. Must not block."""


class Subscription(Protocol):
    def close(self) -> None:
        """Unsubscribe. The handler is not called after this."""
        ...


class BusSubscriber(Protocol):
    """Subscribe a gateway to channels.

    Every subscription is restored automatically after a loss, which the handler sees as `SubscriptionLost` and
    `Subscribed`. Only `subscribe_chat` waits for the confirmation; the others return at once.
    """

    def subscribe_gateway(self, gateway: GatewayId, handler: BusHandler) -> Subscription: ...

    async def subscribe_chat(self, chat: ChatKey, handler: BusHandler) -> Subscription:
        """Subscribe to a large chat, at most once per chat. Returns when Redis has confirmed the subscription."""
        ...

    def subscribe_ephemeral(self, chat: ChatKey, handler: BusHandler) -> Subscription: ...

    def subscribe_presence(self, tenant: TenantId, user: UserId, handler: BusHandler) -> Subscription: ...


class BroadcastSubscriber(Protocol):
    def subscribe_broadcasts(self, tenant: TenantId, inbox: str, handler: BusHandler) -> Subscription:
        """Subscribe to changes of an inbox's broadcast log, with the guarantees of `BusSubscriber`."""
        ...
