"""The devices that are connected to this process, and the way to them. A device is here once: the newest counts."""

from collections.abc import Callable, Iterable
from typing import Protocol, final

from tidings.gateway.socket.ports import Socket
from tidings.gateway.traffic import Traffic
from tidings.kernel.ids import DeviceKey

type SendAll = Callable[[Iterable[Socket], bytes], None]


class Connected(Protocol):
    """A connection that is let in."""

    @property
    def socket(self) -> Socket: ...


@final
class Hub[C: Connected]:
    """`send_all` is the listener's."""

    def __init__(self, send_all: SendAll, traffic: Traffic) -> None:
        self._send_all = send_all
        self._traffic = traffic
        self._here: dict[DeviceKey, C] = {}

    def enter(self, key: DeviceKey, connected: C) -> C | None:
        """Who was here before as this device: he is to be told that he was replaced."""
        before = self._here.get(key)
        self._here[key] = connected
        return before if before is not connected else None

    def leave(self, key: DeviceKey, connected: C) -> None:
        """Only for itself: one that was replaced and ends later must not take the newer with it."""
        if self._here.get(key) is connected:
            del self._here[key]

    def push(self, frame: bytes, devices: Iterable[DeviceKey]) -> list[DeviceKey]:
        """One encoded frame to all of them that are here, shared; returns those that are not."""
        sockets, away = [], []
        for key in devices:
            connected = self._here.get(key)
            if connected is None:
                away.append(key)
            else:
                sockets.append(connected.socket)
        self._send_all(sockets, frame)
        self._traffic.frames_out += len(sockets)
        self._traffic.bytes_out += len(sockets) * len(frame)
        return away

    def __contains__(self, key: DeviceKey) -> bool:
        return key in self._here

    def __len__(self) -> int:
        return len(self._here)
