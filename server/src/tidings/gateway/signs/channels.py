"""Channels in Redis that devices here look at: each is listened to once in a process, while somebody does."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from tidings.gateway.seat import Seat
from tidings.routing.ports import Hear, Heard, Listening, Lost, Standing


class Channel[K: Hashable]:
    """`seats`: who looks; True once he has been given the state, and is told of what is said since."""

    def __init__(self, key: K) -> None:
        self.key = key
        self.seats: dict[Seat, bool] = {}
        self.is_standing = False
        self.listening: Listening | None = None


class Heeding[C](Protocol):
    def stands(self, channel: C, /) -> None:
        """Everything is heard from now on. What was said before may have been missed."""
        ...

    def said(self, channel: C, payload: bytes, /) -> None: ...


class Channels[K: Hashable, C: Channel[Any]]:
    """Does not wait: a channel stands when Redis says so, and until then whoever looks gets what is read."""

    def __init__(
        self, make: Callable[[K], C], listen: Callable[[K, Hear], Listening], heeding: Heeding[C]
    ) -> None:
        self._make = make
        self._listen = listen
        self._heeding = heeding
        self._all: dict[K, C] = {}

    def __len__(self) -> int:
        return len(self._all)

    def get(self, key: K) -> C | None:
        return self._all.get(key)

    def enter(self, seat: Seat, key: K) -> C:
        channel = self._all.get(key)
        if channel is None:
            channel = self._all[key] = self._make(key)
            channel.listening = self._listen(key, self._ear(channel))
        channel.seats.setdefault(seat, False)
        return channel

    def leave(self, seat: Seat, key: K) -> None:
        channel = self._all.get(key)
        if channel is not None and channel.seats.pop(seat, None) is not None and not channel.seats:
            self._close(channel)

    def close(self) -> None:
        for channel in list(self._all.values()):
            self._close(channel)

    def _close(self, channel: C) -> None:
        del self._all[channel.key]
        if channel.listening is not None:
            channel.listening.close()

    def _ear(self, channel: C) -> Hear:
        def hear(heard: Heard) -> None:
            match heard:
                case Standing():
                    channel.is_standing = True
                    self._heeding.stands(channel)
                case Lost():
                    channel.is_standing = False
                case payload:
                    self._heeding.said(channel, payload)

        return hear
