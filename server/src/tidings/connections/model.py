"""Routes and the registry of connected devices."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NewType, Protocol

from tidings.kernel.ids import DeviceId, DeviceKey, TenantId, UserId

GatewayId = NewType("GatewayId", str)
"""New at each start of a gateway process, so that messages to the previous process never reach the next one."""


class LookupResult[K, V](NamedTuple):
    """Result of looking up many keys. Each shard of Redis answers or fails separately.

    `found` has the keys that exist. `unknown` has the keys whose shard did not answer: they may or may not exist.
    `failure` is the first error as text, empty if every shard answered.
    """

    found: Mapping[K, V]
    unknown: frozenset[K] = frozenset()
    failure: str = ""


class Route(NamedTuple):
    """`epoch`: of two routes of a device, the higher is the newer. It comes from the clock of Redis."""

    device: DeviceId
    gateway: GatewayId
    epoch: int


class RegistrationResult(NamedTuple):
    """`replaced_route`: the previous route of the device. The caller closes its socket, after everything else."""

    epoch: int
    replaced_route: Route | None


class HeldRoute(NamedTuple):
    """A route that a gateway registered and assumes to be valid."""

    device: DeviceKey
    epoch: int


class RenewalResult(NamedTuple):
    """Devices whose route was not renewed.

    `lost`: the route is missing, or its lease had expired. Register the device again, then resume it.
    `elsewhere`: the device has a newer route, so the socket of this one is outdated.
    `unknown`: the shard did not answer, so the lease may or may not be renewed. The next heartbeat shows it.
    """

    lost: Sequence[DeviceKey]
    elsewhere: Sequence[DeviceKey]
    unknown: Sequence[DeviceKey] = ()


class RouteLookup(Protocol):
    """Routes, for processes that push to devices."""

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        """Look up routes with a valid lease. Users without a route are left out of `found`. Never raises."""
        ...

    async def remove(
        self, device: DeviceKey, gateway: GatewayId, epoch: int, *, is_closed: bool = False
    ) -> bool:
        """Delete the route if gateway and epoch match. Return False if it was another one or did not exist.

        `is_closed`: the gateway itself says that the socket is closed. Otherwise the gateway has vanished, and its
        device is expected to reconnect. Raises `UnavailableError`; the route may have been deleted.
        """
        ...


class ConnectionRegistry(RouteLookup, Protocol):
    """Routes, for gateways. `register` and `reregister` raise `UnavailableError`; they may have been applied."""

    async def register(self, device: DeviceKey, gateway: GatewayId) -> RegistrationResult:
        """Register a new socket, with a higher epoch than every earlier route of the device."""
        ...

    async def reregister(self, device: DeviceKey, gateway: GatewayId, had: int) -> RegistrationResult | None:
        """Register a socket again whose route had the epoch `had`. None: another socket has the route and keeps it."""
        ...

    async def renew(self, gateway: GatewayId, held: Sequence[HeldRoute]) -> RenewalResult:
        """Extend the leases. A failure of one does not affect the others."""
        ...

    async def keep_alive(self, gateway: GatewayId) -> None:
        """Record that the gateway runs. Without a renewal its devices count as lost. Raises `UnavailableError`."""
        ...

    async def sign_off(self, gateway: GatewayId) -> None:
        """Forget a gateway that has stopped after its last device left. Raises `UnavailableError`."""
        ...


class VanishedGateways(Protocol):
    """Gateways that stopped without `sign_off`, and the users who were connected to them. Raises `UnavailableError`."""

    async def claim(self) -> Sequence[GatewayId]:
        """Return gateways whose registration has expired. No other process receives them within a minute."""
        ...

    async def users(self, gateway: GatewayId) -> Sequence[tuple[TenantId, UserId]]:
        """Return the users with a device that was connected to this gateway."""
        ...

    async def sign_off(self, gateway: GatewayId) -> None:
        """Forget the gateway, after its users were handled."""
        ...


class OfflineStatus(Protocol):
    async def offline_after_ms(self, tenant: TenantId, user: UserId) -> int | None:
        """Return how long to wait until the user counts as offline; 0: now. None: a device is connected.

        A user whose last socket was closed is offline at once. A user whose gateway vanished has 30 seconds to
        reconnect. Raises `UnavailableError`.
        """
        ...
