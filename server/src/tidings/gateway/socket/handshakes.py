"""Connections that are not WebSockets yet: how many there are in all, and of each address."""

from typing import Protocol, final


class OpenHandshake(Protocol):
    def drop(self) -> None:
        """End it now, with nothing said."""
        ...


@final
class HandshakeTracker[H: OpenHandshake]:
    """Room for the newest. When there is none, the oldest ends that has sent nothing, or else the oldest.

    A client sends its request as soon as it is connected, and needs a round trip or two. Connections that stay here
    longer are idle or made to be: they must not keep others from connecting. An address that has its share makes
    room at the cost of its own connections alone.
    """

    def __init__(self, in_all: int, per_address: int) -> None:
        self._in_all = in_all
        self._per_address = per_address
        self._addresses: dict[H, str | None] = {}
        self._silent: dict[H, None] = {}
        self._of_address: dict[str, dict[H, None]] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._addresses)

    def all(self) -> list[H]:
        return list(self._addresses)

    def add(self, handshake: H, address: str | None) -> None:
        """Take it in. `address` is None for a trusted proxy, which connects for many."""
        if address is not None:
            own = self._of_address.get(address, {})
            if len(own) >= self._per_address:
                self._drop(next((each for each in own if each in self._silent), None) or next(iter(own)))
        if len(self._addresses) >= self._in_all:
            self._drop(next(iter(self._silent), None) or next(iter(self._addresses)))
        self._addresses[handshake] = address
        self._silent[handshake] = None
        if address is not None:
            self._of_address.setdefault(address, {})[handshake] = None

    def spoke(self, handshake: H) -> None:
        """Note that it has sent something."""
        self._silent.pop(handshake, None)

    def discard(self, handshake: H) -> None:
        if handshake not in self._addresses:
            return
        address = self._addresses.pop(handshake)
        self._silent.pop(handshake, None)
        if address is not None:
            own = self._of_address[address]
            del own[handshake]
            if not own:
                del self._of_address[address]

    def _drop(self, handshake: H) -> None:
        self.discard(handshake)
        self.dropped += 1
        handshake.drop()
