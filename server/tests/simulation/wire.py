"""A socket between a device and a gateway: frames in order in both directions, each with a delay, until it is cut."""

from collections.abc import Callable
from typing import Protocol

from simulation.loop import Process
from simulation.network import Network

from tidings.gateway.transport.ports import MessageHandler, UpgradeRequest

UPGRADE = UpgradeRequest("/v1/socket", "192.0.2.1", None, None, "", None, None)
_CUT = 1006


class WireSubscriber(Protocol):
    """The device's side."""

    def on_frame(self, wire: "Wire", data: bytes, /) -> None: ...

    def on_end(self, wire: "Wire", /) -> None: ...


class Wire:
    """The gateway's side, a `Socket`. The two sides detect a cut at different times."""

    upgrade = UPGRADE
    received_at = 0.0
    buffered_bytes = 0

    def __init__(self, network: Network, device: Process, gateway: Process, ear: WireSubscriber) -> None:
        self._network, self._device, self._gateway, self._ear = network, device, gateway, ear
        self._receiver: MessageHandler | None = None
        self._down_at = self._up_at = 0.0
        self._is_said_closed = self._is_ended_here = self._is_ended_there = False

    def open(self, accept: "Callable[[Wire], MessageHandler]") -> None:
        """Let the gateway accept the connection before it receives the first frame."""

        def accepted(_: object) -> None:
            self._receiver = accept(self)

        self._up(accepted, None)

    def send(self, data: bytes) -> None:
        if not self._is_said_closed:
            self._down(self._ear.on_frame, self, data)

    def close(self, code: int, reason: str = "") -> None:
        del reason
        if not self._is_said_closed:
            self._is_said_closed = True
            self._down(self._end_there)
            self._gateway.call_soon(self._end_here, code)

    def abort(self) -> None:
        self.close(_CUT)

    def say(self, data: bytes) -> None:
        """Send a frame from the device."""
        self._up(self._hear, data)

    def hang_up(self) -> None:
        """Close from the device. The gateway learns of it later, or by its heartbeat."""
        self._is_ended_there = True
        self._up(self._end_here, _CUT)

    def cut(self) -> None:
        """Drop everything in flight. Each side detects the cut on its own."""
        self._is_said_closed = True
        self._ear_deaf_until_end()
        self._gateway.call_later(
            self._network.delay_s() + self._network.chance.random() * 8, self._end_here, _CUT
        )

    def _ear_deaf_until_end(self) -> None:
        self._is_ended_there, ear = True, self._ear
        self._device.call_later(self._network.delay_s() + self._network.chance.random(), ear.on_end, self)

    def _hear(self, data: bytes) -> None:
        if self._receiver is not None and not self._is_ended_here and not self._is_said_closed:
            self._receiver.on_message(data)

    def _end_here(self, code: int) -> None:
        if self._receiver is not None and not self._is_ended_here:
            self._is_ended_here = self._is_said_closed = True
            self._receiver.on_close(code)

    def _end_there(self) -> None:
        self._is_ended_there = True
        self._ear.on_end(self)

    def _down(self, do: Callable[..., None], *what: object) -> None:
        self._down_at = max(self._down_at, self._device.time() + self._network.delay_s())
        self._device.call_at(self._down_at, self._at_device, do, what)

    def _at_device(self, do: Callable[..., None], what: tuple[object, ...]) -> None:
        if not self._is_ended_there:
            do(*what)

    def _up(self, do: Callable[..., None], what: object) -> None:
        self._up_at = max(self._up_at, self._device.time() + self._network.delay_s())
        self._gateway.call_at(self._up_at, do, what)
