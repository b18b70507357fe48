"""Routes, and what goes over the line between those who deliver and the gateways.

Entries go sealed, as they are stored: a gateway opens them for its devices, nobody on the way can.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NewType, Protocol

from tidings.kernel.ids import ChatKey, DeviceId, DeviceKey, TenantId, UserId

GatewayId = NewType("GatewayId", str)
"""New at each start of a process, so that what was meant for the one before can't reach it."""


class LookupResult[K, V](NamedTuple):
    """What a look-up of many keys found out, key by key. Each shard of Redis answers or fails by itself.

    `found` holds the keys that exist. `unknown` holds the keys whose shard did not answer: nothing is known about them,
    which is not the same as "not there". `failure` is the first failure in words, empty if every key was answered.
    """

    found: Mapping[K, V]
    unknown: frozenset[K] = frozenset()
    failure: str = ""


class Route(NamedTuple):
    """`epoch`: of two routes of a device the higher is the newer. It comes from Redis' time, never from ours."""

    device: DeviceId
    gateway: GatewayId
    epoch: int


class RegistrationResult(NamedTuple):
    """`replaced_route`: the route that was replaced. Its socket is to be closed, last of all."""

    epoch: int
    replaced_route: Route | None


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
