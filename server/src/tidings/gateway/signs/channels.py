"""Channels in Redis that devices here look at: each is listened to once in a process, while somebody does."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from tidings.gateway.seat import ConnectedDevice
from tidings.routing.ports import BusEvent, BusHandler, Subscribed, Subscription, SubscriptionLost


class PubSubChannel[K: Hashable]:
    """`devices`: who looks; True once he has been given the state, and is told of what is said since."""

    def __init__(self, key: K) -> None:
        self.key = key
        self.devices: dict[ConnectedDevice, bool] = {}
        self.is_subscribed = False
        self.listening: Subscription | None = None


class EphemeralListener[C](Protocol):
    def on_subscribed(self, channel: C, /) -> None:
        """Everything is heard from now on. What was said before may have been missed."""
        ...

    def on_message(self, channel: C, payload: bytes, /) -> None: ...


class ChannelSet[K: Hashable, C: PubSubChannel[Any]]:
    """Does not wait: a channel stands when Redis says so, and until then whoever looks gets what is read."""

    def __init__(
        self,
        make: Callable[[K], C],
        listen: Callable[[K, BusHandler], Subscription],
        heeding: EphemeralListener[C],
    ) -> None:
        self._make = make
        self._listen = listen
        self._heeding = heeding
        self._all: dict[K, C] = {}

    def __len__(self) -> int:
        return len(self._all)

    def get(self, key: K) -> C | None:
        return self._all.get(key)

    def enter(self, device: ConnectedDevice, key: K) -> C:
        channel = self._all.get(key)
        if channel is None:
            channel = self._all[key] = self._make(key)
            channel.listening = self._listen(key, self._ear(channel))
        channel.devices.setdefault(device, False)
        return channel

    def leave(self, device: ConnectedDevice, key: K) -> None:
        channel = self._all.get(key)
        if channel is not None and channel.devices.pop(device, None) is not None and not channel.devices:
            self._close(channel)

    def close(self) -> None:
        for channel in list(self._all.values()):
            self._close(channel)

    def _close(self, channel: C) -> None:
        del self._all[channel.key]
        if channel.listening is not None:
            channel.listening.close()

    def _ear(self, channel: C) -> BusHandler:
        def hear(heard: BusEvent) -> None:
            match heard:
                case Subscribed():
                    channel.is_subscribed = True
                    self._heeding.on_subscribed(channel)
                case SubscriptionLost():
                    channel.is_subscribed = False
                case payload:
                    self._heeding.on_message(channel, payload)

        return hear
