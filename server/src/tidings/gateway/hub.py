"""The devices that are connected to this process, and the renewal of their routes."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import batched
from typing import final

from tidings.connections.model import ConnectionRegistry, GatewayId, HeldRoute
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.stats import TrafficStats
from tidings.gateway.transport.ports import Socket
from tidings.kernel.errors import UnavailableError
from tidings.kernel.fair_shares import FairShares
from tidings.kernel.ids import ChatId, DeviceKey, TenantId, UserId
from tidings_wire.close_codes import CloseCode

type SendToAll = Callable[[Iterable[Socket], bytes], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    """Maximum number of devices that one user, and one tenant, may connect to this process."""

    devices_per_user: int = 20
    devices_per_tenant: int = 50_000


@final
class Hub[C]:
    """Connected devices by key. A key has one connection: the newest.

    `send_all` is that of the listener's WebSocket library.
    """

    def __init__(self, send_all: SendToAll, traffic: TrafficStats, options: HubOptions | None = None) -> None:
        self._send_all = send_all
        self._traffic = traffic
        self._options = options or HubOptions()
        self._devices: dict[DeviceKey, C] = {}
        self._of_user: dict[tuple[TenantId, UserId], list[DeviceKey]] = {}
        self._of_tenant: FairShares[TenantId] = FairShares(self._options.devices_per_tenant)

    def has_room_for(self, key: DeviceKey) -> bool:
        """Return whether the tenant may connect this device. A connected device may always connect again."""
        return key in self._devices or self._of_tenant.held(key.tenant) < self._of_tenant.each

    def enter(self, key: DeviceKey, connected: C) -> C | None:
        """Add a device. Return its previous connection, which the caller must close as replaced."""
        before = self._devices.get(key)
        self._devices[key] = connected
        if before is None:
            self._of_tenant.count(key.tenant)
        else:
            self._of_user[key.tenant, key.user].remove(key)
        self._of_user.setdefault((key.tenant, key.user), []).append(key)
        return before if before is not connected else None

    def surplus(self, key: DeviceKey) -> C | None:
        """Return the user's device that has been connected longest, if the user has too many."""
        keys = self._of_user.get((key.tenant, key.user), [])
        return self._devices[keys[0]] if len(keys) > self._options.devices_per_user else None

    def leave(self, key: DeviceKey, connected: C) -> None:
        """Remove a device, if `connected` is its current connection."""
        # Race: a new connection of the device replaces the old one, and the old one closes afterwards. It must not
        # remove the new one.
        if self._devices.get(key) is connected:
            del self._devices[key]
            self._of_tenant.release(key.tenant)
            keys = self._of_user[key.tenant, key.user]
            keys.remove(key)
            if not keys:
                del self._of_user[key.tenant, key.user]

    def get(self, key: DeviceKey) -> C | None:
        return self._devices.get(key)

    def send(self, frame: bytes, sockets: Collection[Socket]) -> None:
        """Send one encoded frame to several sockets. All share the same bytes."""
        self._send_all(sockets, frame)
        self._traffic.frames_out += len(sockets)
        self._traffic.bytes_out += len(sockets) * len(frame)

    def __iter__(self) -> Iterator[C]:
        """Iterate over a copy: devices may leave meanwhile."""
        return iter(list(self._devices.values()))

    def __contains__(self, key: DeviceKey) -> bool:
        return key in self._devices

    def __len__(self) -> int:
        return len(self._devices)


_MAX_RENEWED_AT_ONCE = 2_000


@final
class LeaseRenewer:
    """Renew the leases of all routes of this gateway.

    on_lost: called for a live device without a route. It must resume, which registers a route first.
    on_unconfirmed: called at each renewal for a large chat whose channel is not confirmed for a device.
    """

    def __init__(
        self,
        hub: Hub[ConnectedDevice],
        routes: ConnectionRegistry,
        gateway: GatewayId,
        *,
        every_s: float,
        on_lost: Callable[[ConnectedDevice], None],
        on_unconfirmed: Callable[[ConnectedDevice, ChatId], None],
    ) -> None:
        self._hub = hub
        self._routes = routes
        self._gateway = gateway
        self._every_s = every_s
        self._on_lost = on_lost
        self._on_unconfirmed = on_unconfirmed

    async def run(self) -> None:
        while True:
            # The registration of this process is renewed first: if it expires, users of this gateway count as lost.
            with suppress(UnavailableError):
                await self._routes.keep_alive(self._gateway)
            await asyncio.sleep(self._every_s)
            await self.renew_all()

    async def renew_all(self) -> None:
        devices = list(self._hub)
        for device in devices:
            # The registry was unavailable during the resume, so the device is live without a route.
            if not device.is_registered and device.is_live:
                self._on_lost(device)
            for chat in device.unconfirmed_channels:
                self._on_unconfirmed(device, chat)
        held = [HeldRoute(device.key, device.epoch) for device in devices if device.is_registered]
        for some in batched(held, _MAX_RENEWED_AT_ONCE):
            await self._renew(some)

    async def _renew(self, held: tuple[HeldRoute, ...]) -> None:
        """Renew these routes. A route whose Redis shard does not answer stays as it is until the next renewal."""
        renewed = await self._routes.renew(self._gateway, held)
        epochs = dict(held)
        # Race: a worker looks up routes while this one is missing, and does not push to the device. A new route alone
        # would leave a gap, so the device registers again and then resumes.
        for key in renewed.lost:
            if (device := self._if_unchanged(key, epochs[key])) is not None:
                device.is_registered = False
                self._on_lost(device)
        for key in renewed.elsewhere:
            # Another gateway has a newer route of the device. This gateway cannot know which of the two sockets the
            # client still uses, so the client must reconnect with the one that it keeps.
            if (device := self._if_unchanged(key, epochs[key])) is not None:
                device.connected.close(CloseCode.TRY_AGAIN_LATER)

    def _if_unchanged(self, key: DeviceKey, epoch: int) -> ConnectedDevice | None:
        # Race: the device registers again while Redis answers the renewal. The answer is about its old route.
        device = self._hub.get(key)
        return device if device is not None and device.is_registered and device.epoch == epoch else None
