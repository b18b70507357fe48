"""What delivery and gateways ask of the place where routes are. All of it may be lost at any time; nothing is promised
by it but speed. A call about one key raises `RegistryUnavailableError` while its shard does not answer. A call about many keys
never does: it answers key by key, and says for which of them nobody answered.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from tidings.kernel.ids import ChatKey, DeviceKey, TenantId, UserId
from tidings.routing.model import GatewayId, LookupResult, RegistrationResult, Route
from tidings.routing.model import RegistryUnavailableError as RegistryUnavailableError  # noqa: PLC0414 - every call here may raise it


class HeldRoute(NamedTuple):
    """A route that a gateway believes to have."""

    device: DeviceKey
    epoch: int


class RenewalResult(NamedTuple):
    """`lost`: no longer there, or not all the time: to be registered again, and then to resume.

    `elsewhere`: the device has come in again since; the socket that held this route is an old one.
    `unknown`: their shard did not answer. The lease may or may not have been lengthened; the next heartbeat tells.
    """

    lost: Sequence[DeviceKey]
    elsewhere: Sequence[DeviceKey]
    unknown: Sequence[DeviceKey] = ()


class ConnectionRegistry(Protocol):
    async def register(self, device: DeviceKey, gateway: GatewayId) -> RegistrationResult:
        """A new socket: the device is here from now on, with an epoch above all that it had, while a lease runs."""
        ...

    async def reregister(self, device: DeviceKey, gateway: GatewayId, had: int) -> RegistrationResult | None:
        """A socket that had a route before, of this epoch. None: another socket's route stands there, and it stays."""
        ...

    async def renew(self, gateway: GatewayId, held: Sequence[HeldRoute]) -> RenewalResult:
        """Lengthen the leases, each by itself: one that can't be lengthened holds up no other."""
        ...

    async def remove(self, device: DeviceKey, gateway: GatewayId, epoch: int) -> bool:
        """Compare and delete: only this very route. False: it was another or none."""
        ...

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        """Look up the routes of these users whose leases run. Users without a route are left out."""
        ...


class DeliveryCheckpoints(Protocol):
    """Up to where a chat was handled, without a hole."""

    async def advance(self, chat: ChatKey, first: int, last: int) -> int:
        """Everything from `first` to `last` was handled. Answers the mark as it is now.

        An answer below `last` says that something between the mark and `first` was not handled: nothing was changed.
        A chat without a mark is taken to be handled below `first`.
        """
        ...

    async def read(self, chats: Sequence[ChatKey]) -> LookupResult[ChatKey, int]:
        """Look up marks. Chats without one are left out."""
        ...


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
