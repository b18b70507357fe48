"""The devices that are connected to this process, and the way to them. A device is here once: the newest counts."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import batched
from typing import Protocol, final

from tidings.connections.model import ConnectionRegistry, GatewayId, HeldRoute
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.stats import TrafficStats
from tidings.gateway.transport.ports import Socket
from tidings.kernel.fair_shares import FairShares
from tidings.kernel.ids import ChatId, DeviceKey, TenantId, UserId
from tidings_wire.close_codes import CloseCode

type SendToAll = Callable[[Iterable[Socket], bytes], None]


class HasSocket(Protocol):
    """A connection that is let in."""

    @property
    def socket(self) -> Socket: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    """Devices that one user, and one tenant, may have connected to this process."""

    devices_per_user: int = 20
    devices_per_tenant: int = 50_000


@final
class Hub[C: HasSocket]:
    """`send_all` is the listener's."""

    def __init__(self, send_all: SendToAll, traffic: TrafficStats, options: HubOptions | None = None) -> None:
        self._send_all = send_all
        self._traffic = traffic
        self._options = options or HubOptions()
        self._here: dict[DeviceKey, C] = {}
        self._of_user: dict[tuple[TenantId, UserId], list[DeviceKey]] = {}
        self._of_tenant: FairShares[TenantId] = FairShares(self._options.devices_per_tenant)

    def has_room_for(self, key: DeviceKey) -> bool:
        """Whether the tenant may have one more device. One that is here already takes its own place."""
        return key in self._here or self._of_tenant.held(key.tenant) < self._of_tenant.each

    def enter(self, key: DeviceKey, connected: C) -> C | None:
        """Who was here before as this device: he is to be told that he was replaced."""
        before = self._here.get(key)
        self._here[key] = connected
        if before is None:
            self._of_tenant.count(key.tenant)
        else:
            self._of_user[key.tenant, key.user].remove(key)
        self._of_user.setdefault((key.tenant, key.user), []).append(key)
        return before if before is not connected else None

    def surplus(self, key: DeviceKey) -> C | None:
        """Return the user's device that has been connected longest, if the user has too many."""
        keys = self._of_user.get((key.tenant, key.user), [])
        return self._here[keys[0]] if len(keys) > self._options.devices_per_user else None

    def leave(self, key: DeviceKey, connected: C) -> None:
        """Only for itself: one that was replaced and ends later must not take the newer with it."""
        if self._here.get(key) is connected:
            del self._here[key]
            self._of_tenant.release(key.tenant)
            keys = self._of_user[key.tenant, key.user]
            keys.remove(key)
            if not keys:
                del self._of_user[key.tenant, key.user]

    def get(self, key: DeviceKey) -> C | None:
        return self._here.get(key)

    def send(self, frame: bytes, sockets: Collection[Socket]) -> None:
        """One encoded frame to all of them, shared."""
        self._send_all(sockets, frame)
        self._traffic.frames_out += len(sockets)
        self._traffic.bytes_out += len(sockets) * len(frame)

    def __iter__(self) -> Iterator[C]:
        """Everybody who is here now; some may leave meanwhile."""
        return iter(list(self._here.values()))

    def __contains__(self, key: DeviceKey) -> bool:
        return key in self._here

    def __len__(self) -> int:
        return len(self._here)


_MAX_CONCURRENT_RENEWED = 2_000


@final
class LeaseRenewer:
    """`again`: has a device resume; one that has no route gets one first."""

    def __init__(
        self,
        hub: Hub[ConnectedDevice],
        routes: ConnectionRegistry,
        gateway: GatewayId,
        again: Callable[[ConnectedDevice], None],
        *,
        every_s: float,
    ) -> None:
        self._hub = hub
        self._routes = routes
        self._gateway = gateway
        self._on_lost = again
        self._every_s = every_s
        self.unheard: Callable[[ConnectedDevice, ChatId], None] = lambda _, __: None
        """Told at each heartbeat of a large chat whose channel a device still can't hear."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.renew_all()

    async def renew_all(self) -> None:
        devices = list(self._hub)
        for device in devices:
            if not device.is_registered and device.is_live:
                self._on_lost(device)
            for chat in device.unheard:
                self.unheard(device, chat)
        held = [HeldRoute(device.key, device.epoch) for device in devices if device.is_registered]
        for some in batched(held, _MAX_CONCURRENT_RENEWED):
            await self._renew(some)

    async def _renew(self, held: tuple[HeldRoute, ...]) -> None:
        """Renew what can be renewed. A route whose shard does not answer stays as it is until the next heartbeat."""
        renewed = await self._routes.renew(self._gateway, held)
        epochs = dict(held)
        for key in renewed.lost:
            if (device := self._same(key, epochs[key])) is not None:
                device.is_registered = False
                self._on_lost(device)
        for key in renewed.elsewhere:
            # which of the two sockets the device rests on is not known here: it comes back on the one that counts
            if (device := self._same(key, epochs[key])) is not None:
                device.connected.close(CloseCode.TRY_LATER)

    def _same(self, key: DeviceKey, epoch: int) -> ConnectedDevice | None:
        """Who has registered anew since he was asked about is another matter."""
        device = self._hub.get(key)
        return device if device is not None and device.is_registered and device.epoch == epoch else None
